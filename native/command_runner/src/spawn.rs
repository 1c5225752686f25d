//! Starting one command of a pipeline: its descriptors, its limits, its confinement, and the words
//! a shell would use when it can't start.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, FdFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};

use crate::confine::Confinement;
use crate::fence::View;
use crate::limits::Applied;
use crate::spec::{CHANNEL_VARIABLE, Redirection, Spec, Stage, Target};

/// The standard descriptors of a command.
pub type Descriptors = [OwnedFd; 3];

/// Why a command did not start.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// As in a shell: the plan goes on with this exit code.
    Command {
        /// 127 not found, 126 not executable, 1 a redirection failed.
        code: i32,
        /// What is appended to the standard error.
        message: String,
    },
    /// Limits or confinement could not be put on: nothing more may run.
    Unsafe(String),
}

/// Steps of the child before it becomes the command, told apart in the one number that the standard
/// library carries from a failed child to its parent.
#[derive(Clone, Copy)]
enum Setup {
    Session = 1,
    Limits = 2,
    Confinement = 3,
    Folder = 4,
    Redirection = 5,
}

/// The number of the system's own error lies below the step, and the number of a redirection above
/// it.
const SETUP_SHIFT: u32 = 12;
const PLACE_SHIFT: u32 = 16;

fn during(setup: Setup) -> impl FnOnce(io::Error) -> io::Error {
    at_place(setup, 0)
}

fn at_place(setup: Setup, place: usize) -> impl FnOnce(io::Error) -> io::Error {
    move |error| {
        let code = error.raw_os_error().unwrap_or(libc::EPERM) & 0xFFF;
        let place = i32::try_from(place & 0x7FFF).unwrap_or(0) << PLACE_SHIFT;
        io::Error::from_raw_os_error(place | ((setup as i32) << SETUP_SHIFT) | code)
    }
}

/// Starts a command. Its process heads a session and group of its own, and dies with this process.
///
/// With a fence the child joins its namespaces and starts a sibling there, which becomes the
/// command: a process never changes its own process namespace, only that of the children to come.
pub fn spawn(
    stage: &Stage,
    descriptors: Descriptors,
    channel: Option<&OwnedFd>,
    spec: &Spec,
    limits: &Arc<Applied>,
    confinement: &Arc<Confinement>,
) -> Result<Pid, Failure> {
    let mut command = program(stage, descriptors, spec);
    // It keeps its number, which nothing in the child can be using for anything else.
    let channel = channel.map(|channel| channel.as_raw_fd());
    if let Some(number) = channel {
        command.env(CHANNEL_VARIABLE, number.to_string());
    }

    let system = |error: Errno| Failure::Unsafe(io::Error::from(error).to_string());
    let (sibling, told) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
    let folder = stage.folder.as_ref().unwrap_or(&spec.folder).clone();
    let becoming = Becoming {
        parent: rustix::process::getpid(),
        told,
        view: stage.view(),
        limits: Arc::clone(limits),
        confinement: Arc::clone(confinement),
        folder: folder.clone(),
        redirections: stage.redirections.clone(),
        read: spec.readable(),
        write: spec.policy.write.clone(),
        channel,
    };
    // SAFETY: the closure runs in the forked child only, before it becomes the command. This
    // process has a single thread, so the child has a whole heap and no lock held by a thread that
    // did not survive the fork.
    unsafe { command.pre_exec(move || becoming.prepare()) };

    let spawned = command.spawn();
    // With it the closure goes, and the writing end of the pipe.
    drop(command);
    match spawned {
        // The handle is dropped without waiting: the tree's loop reaps all children.
        Ok(child) => {
            let mut own = [0_u8; 4];
            let id = match File::from(sibling).read_exact(&mut own) {
                Ok(()) => i32::from_ne_bytes(own),
                Err(_) => i32::try_from(child.id()).unwrap_or(0),
            };
            Some(id)
                .filter(|id| *id > 0)
                .and_then(Pid::from_raw)
                .ok_or_else(|| Failure::Unsafe("the system returned no process id".to_owned()))
        }
        Err(error) => Err(explain(
            &stage.arguments[0],
            &folder,
            &stage.redirections,
            &error,
        )),
    }
}

/// The program with its arguments, variables and ends.
fn program(stage: &Stage, [input, output, errors]: Descriptors, spec: &Spec) -> Command {
    let mut command = Command::new(&stage.arguments[0]);
    command
        .args(&stage.arguments[1..])
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors));
    for (name, value) in &stage.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// What the child needs to become the command.
struct Becoming {
    parent: Pid,
    told: OwnedFd,
    view: View,
    limits: Arc<Applied>,
    confinement: Arc<Confinement>,
    folder: PathBuf,
    redirections: Vec<Redirection>,
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
    channel: Option<RawFd>,
}

impl Becoming {
    /// Puts everything on, in the child.
    fn prepare(&self) -> io::Result<()> {
        let joined = self.confinement.join(self.view);
        if joined.map_err(during(Setup::Confinement))? {
            go_on_as_sibling(&self.told).map_err(during(Setup::Confinement))?;
            start_session(None).map_err(during(Setup::Session))?;
        } else {
            start_session(Some(self.parent)).map_err(during(Setup::Session))?;
        }
        self.limits.enter().map_err(during(Setup::Limits))?;
        rustix::process::chdir(&self.folder)
            .map_err(|error| during(Setup::Folder)(error.into()))?;
        self.confinement
            .enter()
            .map_err(during(Setup::Confinement))?;
        for (place, redirection) in self.redirections.iter().enumerate() {
            redirect(redirection, self.read.as_deref(), self.write.as_deref())
                .map_err(at_place(Setup::Redirection, place))?;
        }
        close_on_exec();
        if let Some(number) = self.channel {
            // SAFETY: the number is that of the descriptor, which this process keeps open as long
            // as the plan runs.
            let channel = unsafe { BorrowedFd::borrow_raw(number) };
            rustix::io::fcntl_setfd(channel, FdFlags::empty())?;
        }
        Ok(())
    }
}

/// Starts a process beside this one, within the namespaces that were joined, which goes on from
/// here. This one tells its id and ends.
fn go_on_as_sibling(told: &OwnedFd) -> io::Result<()> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as for `fork`: without a stack of its own the child goes on with a copy of this
    // process.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => Ok(()),
        id => {
            let failed = io::Error::last_os_error();
            match i32::try_from(id) {
                Ok(id) if id > 0 => {
                    let _ = rustix::io::write(told, &id.to_ne_bytes());
                    // SAFETY: the parent's exit handlers must not run in this copy of it.
                    unsafe { libc::_exit(0) }
                }
                _ => Err(failed),
            }
        }
    }
}

/// Nothing but the standard descriptors reaches the command, whoever left one open.
fn close_on_exec() {
    // SAFETY: it marks descriptors to be closed on exec; that of the standard library's own pipe is
    // marked already.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3_u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

fn start_session(parent: Option<Pid>) -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was asked for; then it would never come. Within a
    // fence the parent has no number, and the first process inside, which ends with it as well,
    // takes all others along.
    if parent.is_none() || rustix::process::getppid() == parent {
        Ok(())
    } else {
        Err(Errno::SRCH.into())
    }
}

fn explain(
    program: &OsStr,
    folder: &Path,
    redirections: &[Redirection],
    error: &io::Error,
) -> Failure {
    let name = program.display();
    let code = error.raw_os_error().unwrap_or(0);
    let step = (code >> SETUP_SHIFT) & 0xF;
    let own = io::Error::from_raw_os_error(code & 0xFFF);
    let unsafe_at = |step: &str| Failure::Unsafe(format!("{step}: {}", reason(&own)));
    match step {
        0 => {}
        step if step == Setup::Limits as i32 => return unsafe_at("limits"),
        step if step == Setup::Confinement as i32 => return unsafe_at("confinement"),
        step if step == Setup::Folder as i32 => {
            let message = match own.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => "not a folder".to_owned(),
                _ => reason(&own),
            };
            return Failure::Command {
                code: 126,
                message: format!("{}: {message}", folder.display()),
            };
        }
        step if step == Setup::Redirection as i32 => {
            let place = usize::try_from(code >> PLACE_SHIFT).unwrap_or(0);
            let target = redirections
                .get(place)
                .map_or("redirection".into(), Redirection::name);
            return Failure::Command {
                code: 1,
                message: format!("{target}: {}", reason(&own)),
            };
        }
        _ => return unsafe_at("session"),
    }
    match error.kind() {
        io::ErrorKind::NotFound => Failure::Command {
            code: 127,
            message: format!("{name}: command not found"),
        },
        _ => Failure::Command {
            code: 126,
            message: format!("{name}: {}", reason(error)),
        },
    }
}

/// The system's words for an error, without the number that the standard library adds.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error")
        .map_or(text.clone(), |(words, _)| words.to_owned())
}

/// Puts one redirection in place; in the child, confined as the command will be.
fn redirect(
    redirection: &Redirection,
    read: Option<&[PathBuf]>,
    write: Option<&[PathBuf]>,
) -> io::Result<()> {
    let opened = match &redirection.target {
        Target::Same(other) => return duplicate(*other, redirection.descriptor),
        Target::Read(path) => open(path, OFlags::RDONLY, read),
        Target::Write(path) => open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, write),
        Target::Append(path) => open(
            path,
            OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
            write,
        ),
    };
    duplicate(opened?.as_raw_fd(), redirection.descriptor)
}

fn duplicate(from: RawFd, to: RawFd) -> io::Result<()> {
    // SAFETY: it replaces one of the three standard descriptors, which no value of this process
    // owns.
    match unsafe { libc::dup2(from, to) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Opens the file of a redirection.
///
/// The process is confined by now, where it can be. Where it can't, this still holds: the file is
/// opened beneath the allowed folder by the kernel's own resolution, which no link, dot-dot or swap
/// in between can leave. A kernel without `openat2` refuses.
pub fn open(path: &Path, flags: OFlags, roots: Option<&[PathBuf]>) -> io::Result<OwnedFd> {
    // Without O_NONBLOCK a named pipe would hold this process up until someone opens its other end.
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = if flags.contains(OFlags::CREATE) {
        Mode::from_raw_mode(0o666)
    } else {
        Mode::empty()
    };
    let null = path == Path::new("/dev/null");
    let file = match roots {
        Some(roots) if !null => {
            let (root, rest) = roots
                .iter()
                .find_map(|root| Some((root, path.strip_prefix(root).ok()?)))
                .ok_or(Errno::ACCESS)?;
            let root = rustix::fs::open(
                root,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            // O_TRUNC only once it is known to be a file, below.
            rustix::fs::openat2(&root, rest, flags - OFlags::TRUNC, mode, beneath)?
        }
        _ => rustix::fs::openat(CWD, path, flags - OFlags::TRUNC, mode)?,
    };
    let file = File::from(file);
    let kind = file.metadata()?.file_type();
    if !(kind.is_file() || null && kind.is_char_device()) {
        return Err(Errno::PERM.into());
    }
    if flags.contains(OFlags::TRUNC) && kind.is_file() {
        file.set_len(0)?;
    }
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("spawn-{}-{name}", std::process::id()));
            fs::create_dir_all(path.join("project")).unwrap();
            fs::write(path.join("secret"), "secret").unwrap();
            Self(path)
        }

        fn project(&self, name: &str) -> PathBuf {
            self.0.join("project").join(name)
        }

        fn open(&self, path: &Path) -> io::Result<OwnedFd> {
            open(
                path,
                OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
                Some(&[self.0.join("project")]),
            )
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn redirections_stay_beneath_the_allowed_folders() {
        let folder = Folder::new("beneath");
        assert!(folder.open(&folder.project("new")).is_ok());
        assert!(folder.open(Path::new("/dev/null")).is_ok());

        symlink(folder.0.join("secret"), folder.project("link")).unwrap();
        symlink("..", folder.project("up")).unwrap();
        for outside in ["../secret", "link", "up/secret", "up/project-evil"] {
            assert!(folder.open(&folder.project(outside)).is_err(), "{outside}");
        }
        assert!(folder.open(&folder.0.join("secret")).is_err());
        assert!(folder.open(&folder.0.join("project-evil")).is_err());
        assert_eq!(
            fs::read_to_string(folder.0.join("secret")).unwrap(),
            "secret"
        );
    }

    #[test]
    fn only_plain_files_are_opened_and_nothing_waits() {
        let folder = Folder::new("plain");
        let fifo = folder.project("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(folder.open(&fifo).is_err());
        assert!(open(&fifo, OFlags::RDONLY, None).is_err());
        assert!(open(Path::new("/dev/zero"), OFlags::RDONLY, None).is_err());
    }
}
