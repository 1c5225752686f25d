//! Starting one command of a pipeline: its descriptors, its limits, its confinement, and the words a shell would use
//! when it can't start.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Signal};

use crate::confine::Confinement;
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

/// Steps of the child before it becomes the command, told apart in the one number that the standard library carries
/// from a failed child to its parent.
#[derive(Clone, Copy)]
enum Setup {
    Session = 1,
    Limits = 2,
    Confinement = 3,
}

const SETUP_SHIFT: u32 = 16;

fn during(setup: Setup) -> impl FnOnce(io::Error) -> io::Error {
    move |error| {
        let code = error.raw_os_error().unwrap_or(libc::EPERM) & 0xFFFF;
        io::Error::from_raw_os_error(((setup as i32) << SETUP_SHIFT) | code)
    }
}

/// Starts a command. Its process heads a session and group of its own, and dies with this process.
pub fn spawn(
    stage: &Stage,
    mut descriptors: Descriptors,
    channel: Option<&OwnedFd>,
    spec: &Spec,
    limits: &Arc<Applied>,
    confinement: &Arc<Confinement>,
) -> Result<Pid, Failure> {
    let program = &stage.arguments[0];
    for redirection in &stage.redirections {
        redirect(redirection, &mut descriptors, spec).map_err(|(target, error)| {
            Failure::Command {
                code: 1,
                message: format!("{}: {}", target.display(), reason(&error)),
            }
        })?;
    }
    let [input, output, errors] = descriptors;

    let mut command = Command::new(program);
    command
        .args(&stage.arguments[1..])
        .env_clear()
        .envs(
            spec.environment
                .iter()
                .chain(&stage.environment)
                .map(|(name, value)| (name, value)),
        )
        .current_dir(&spec.folder)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors));

    // It keeps its number, which nothing in the child can be using for anything else.
    let channel = channel.map(|channel| channel.as_raw_fd());
    if let Some(number) = channel {
        command.env(CHANNEL_VARIABLE, number.to_string());
    }

    let parent = rustix::process::getpid();
    let (limits, confinement) = (Arc::clone(limits), Arc::clone(confinement));
    // SAFETY: the closure runs in the forked child only, before it becomes the command. This process has a single
    // thread, so the child has a whole heap and no lock held by a thread that did not survive the fork.
    unsafe {
        command.pre_exec(move || {
            start_session(parent).map_err(during(Setup::Session))?;
            if let Some(number) = channel {
                // SAFETY: the number is that of the descriptor, which this process keeps open as long as the plan runs.
                let channel = BorrowedFd::borrow_raw(number);
                rustix::io::fcntl_setfd(channel, FdFlags::empty())?;
            }
            limits.enter().map_err(during(Setup::Limits))?;
            confinement.enter().map_err(during(Setup::Confinement))
        });
    }

    match command.spawn() {
        // The handle is dropped without waiting: the tree's loop reaps all children.
        Ok(child) => i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| Failure::Unsafe("the system gave no process id".to_owned())),
        Err(error) => Err(explain(program, &spec.folder, &error)),
    }
}

fn start_session(parent: Pid) -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was asked for; then it would never come.
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        Err(Errno::SRCH.into())
    }
}

fn explain(program: &OsStr, folder: &Path, error: &io::Error) -> Failure {
    let name = program.display();
    let code = error.raw_os_error().unwrap_or(0);
    match code >> SETUP_SHIFT {
        0 => {}
        step => {
            let step = match step {
                step if step == Setup::Limits as i32 => "limits",
                step if step == Setup::Confinement as i32 => "confinement",
                _ => "session",
            };
            let error = io::Error::from_raw_os_error(code & 0xFFFF);
            return Failure::Unsafe(format!("{step}: {}", reason(&error)));
        }
    }
    if !folder.is_dir() {
        return Failure::Command {
            code: 126,
            message: format!("{}: not a folder", folder.display()),
        };
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
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error")
        .map_or(text.clone(), |(words, _)| words.to_owned())
}

fn redirect(
    redirection: &Redirection,
    descriptors: &mut Descriptors,
    spec: &Spec,
) -> Result<(), (PathBuf, io::Error)> {
    let opened = match &redirection.target {
        Target::Same(other) => descriptors[*other]
            .try_clone()
            .map_err(|error| (PathBuf::from("redirection"), error)),
        Target::Read(path) => open(path, OFlags::RDONLY, spec.policy.read.as_deref())
            .map_err(|error| (path.clone(), error)),
        Target::Write(path) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
            open(path, flags, spec.policy.write.as_deref()).map_err(|error| (path.clone(), error))
        }
        Target::Append(path) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
            open(path, flags, spec.policy.write.as_deref()).map_err(|error| (path.clone(), error))
        }
    };
    descriptors[redirection.descriptor] = opened?;
    Ok(())
}

/// Opens the file of a redirection.
///
/// This process is not confined, so the file is opened beneath the allowed folder by the kernel's own resolution,
/// which no link, dot-dot or swap in between can leave. A kernel without `openat2` refuses, as does a kernel with it.
fn open(path: &Path, flags: OFlags, roots: Option<&[PathBuf]>) -> io::Result<OwnedFd> {
    // Without O_NONBLOCK a named pipe would hold this process up until someone opens its other end.
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = Mode::from_raw_mode(0o666);
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
