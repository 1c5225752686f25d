//! A session's temporary folder: what one command of the session leaves there the next one finds.
//!
//! A program, `jido_command_runner --hold FOLDER BYTES`, makes the folder and keeps it for as long
//! as its standard input is open:
//!
//! ```text
//! BEAM ── guard, outside: makes and removes the folder ── holder, in a user and a mount namespace
//! ```
//!
//! In the holder's mount namespace, and nowhere else, a file system in memory lies over the folder,
//! of a size that the kernel keeps. A fence of the session is made within the holder's namespaces,
//! where it can use the folder's contents as its `/tmp`; no other process has a name for it, and
//! when the holder and the last fence are gone it is gone as well, whichever process was killed.
//! Where there are no namespaces it is an ordinary folder, and the worker counts what commands put
//! there.
//!
//! A mount can't be handed over by a descriptor instead: before Linux 6.15 a detached mount is
//! attached once, and not copied.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::{assemble, init};
use crate::scratch::{self, Scratch};
use crate::signals::Signals;
use crate::wire::{FrameWriter, Term};
use crate::{guard, worker};

/// The process that keeps a session's folder, and what its namespaces are called, so that another
/// process of its number is not taken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub process: i32,
    /// The number of its user namespace.
    pub user: u64,
    /// The number of its mount namespace.
    pub mounts: u64,
}

impl Holder {
    fn of(process: Pid) -> io::Result<Self> {
        let number = |kind| open(process.as_raw_nonzero().get(), kind)?.metadata();
        Ok(Self {
            process: process.as_raw_nonzero().get(),
            user: number("user")?.ino(),
            mounts: number("mnt")?.ino(),
        })
    }

    /// Joins its namespaces; for a child.
    fn join(&self) -> io::Result<()> {
        let (user, mounts) = (open(self.process, "user")?, open(self.process, "mnt")?);
        if (user.metadata()?.ino(), mounts.metadata()?.ino()) != (self.user, self.mounts) {
            return Err(io::Error::other("the process that kept it is gone"));
        }
        let join = rustix::thread::move_into_link_name_space;
        join(user.as_fd(), Some(LinkNameSpaceType::User))?;
        Ok(join(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?)
    }
}

fn open(process: i32, kind: &str) -> io::Result<File> {
    File::open(format!("/proc/{process}/ns/{kind}"))
}

/// Starts a process within the holder's namespaces, which becomes a child of this one: `start`
/// makes it, by a clone that names the caller's own parent, and is called in a child that has
/// joined.
pub fn beside(holder: &Holder, start: impl Fn() -> io::Result<Pid>) -> io::Result<Pid> {
    let (told, tell) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: this process has a single thread, so the child is a whole copy that may run any code.
    match unsafe { libc::fork() } {
        0 => {
            let answer = holder.join().and_then(|()| start()).map_or_else(
                |error| -error.raw_os_error().unwrap_or(libc::ESRCH),
                |id| id.as_raw_nonzero().get(),
            );
            let _ = rustix::io::write(&tell, &answer.to_ne_bytes());
            // SAFETY: the copied parent's exit handlers must not run.
            unsafe { libc::_exit(0) }
        }
        id => {
            drop(tell);
            let child = Pid::from_raw(id).filter(|_| id > 0);
            let child = child.ok_or_else(io::Error::last_os_error)?;
            let mut answer = [0_u8; 4];
            let read = File::from(told).read_exact(&mut answer);
            rustix::io::retry_on_intr(|| {
                rustix::process::waitpid(Some(child), WaitOptions::empty())
            })?;
            read?;
            match i32::from_ne_bytes(answer) {
                id if id > 0 => Pid::from_raw(id).ok_or_else(|| io::ErrorKind::NotFound.into()),
                error => Err(io::Error::from_raw_os_error(error.saturating_neg())),
            }
        }
    }
}

/// Makes and keeps a session's folder; answers one frame, `holder` and `why`, one of which is nil.
/// `None` for the bytes keeps a folder that is for no command.
pub fn run(folder: PathBuf, bytes: Option<u64>) -> io::Result<u8> {
    guard::close_inherited();
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Of others first: they may be what fills the disk.
    if let Some(base) = folder.parent() {
        let _ = scratch::remove_leftovers(base);
    }
    let mut scratch = Scratch::at(folder);
    if let Err(error) = scratch.create() {
        let why = guard::cannot_make(&scratch, &error);
        answer("failed", None, Some(why))?;
        return Ok(worker::FAILED);
    }
    let kept = keep(&scratch, bytes);
    let _ = scratch.remove();
    kept.map(|()| 0)
}

fn keep(scratch: &Scratch, bytes: Option<u64>) -> io::Result<()> {
    let signals = Signals::listen()?;
    let holder = bytes.map(|bytes| start(scratch.path(), bytes));
    let (holder, why) = match holder {
        Some(Ok(holder)) => (Some(holder), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    answer("held", holder.as_ref(), why)?;
    wait(&signals);
    if let Some(process) = holder.and_then(|holder| Pid::from_raw(holder.process)) {
        let _ = rustix::process::kill_process(process, Signal::KILL);
        let _ = rustix::process::waitpid(Some(process), WaitOptions::empty());
    }
    Ok(())
}

fn answer(event: &str, holder: Option<&Holder>, why: Option<String>) -> io::Result<()> {
    let names = holder.map(|holder| {
        Term::Tuple(vec![
            Term::Int(i64::from(holder.process)),
            Term::count(holder.user),
            Term::count(holder.mounts),
        ])
    });
    let mut frames = FrameWriter::default();
    frames.push(&Term::map([
        ("event", Term::text(event)),
        ("holder", names.unwrap_or_else(Term::nil)),
        ("why", why.map_or_else(Term::nil, Term::text)),
    ]));
    frames.flush(std::io::stdout())
}

/// Until the standard input is closed, or this process is asked to end.
fn wait(signals: &Signals) {
    let input = std::io::stdin();
    loop {
        let [_, stop] = signals.poll_fds();
        let mut watched = [stop, PollFd::new(&input, PollFlags::IN)];
        let _ = rustix::event::poll(&mut watched, None);
        let told = !watched[1].revents().is_empty();
        let closed =
            told && !rustix::io::read(&input, &mut [0_u8; 64]).is_ok_and(|count| count > 0);
        if closed || signals.asked_to_stop() {
            return;
        }
    }
}

/// Starts the holder; an error says why there is none.
fn start(folder: &Path, bytes: u64) -> io::Result<Holder> {
    let (told, tell) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let parent = rustix::process::getpid();
    // SAFETY: this process has a single thread, so the child is a whole copy that may run any code.
    match unsafe { libc::fork() } {
        0 => {
            let text =
                become_holder(folder, bytes, parent).map_or_else(|error| error, |()| "".into());
            let _ = rustix::io::write(&tell, text.as_bytes());
            drop(tell);
            if !text.is_empty() {
                // SAFETY: the copied parent's exit handlers must not run.
                unsafe { libc::_exit(1) }
            }
            loop {
                std::thread::park();
            }
        }
        id => {
            drop(tell);
            let child = Pid::from_raw(id).filter(|_| id > 0);
            let child = child.ok_or_else(io::Error::last_os_error)?;
            let mut text = String::new();
            File::from(told).read_to_string(&mut text)?;
            let holder = match text.as_str() {
                "" => Holder::of(child),
                why => Err(io::Error::other(why.to_owned())),
            };
            holder.inspect_err(|_| {
                let _ = rustix::process::kill_process(child, Signal::KILL);
                let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
            })
        }
    }
}

fn become_holder(folder: &Path, bytes: u64, parent: Pid) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let ids = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    // Else its own files below /proc would belong to root, and no runner could open its namespaces.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .map_err(|error| failed("dumpable")(error.into()))?;
    // SAFETY: it takes away nothing that another thread would miss: there is none.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }
        .map_err(|error| failed("new namespaces")(error.into()))?;
    init::map_ids(ids).map_err(failed("user namespace"))?;
    assemble::remember(folder, bytes).map_err(|(place, error)| format!("{place}: {error}"))?;
    crate::privileges::drop_all().map_err(failed("capabilities"))?;
    // The loss of privileges takes it back.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .map_err(|error| failed("dumpable")(error.into()))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("death signal")(error.into()))?;
    if rustix::process::getppid() != Some(parent) {
        return Err("the process that started it is gone".to_owned());
    }
    // The guard's ends of the port would stay open with it.
    for descriptor in 0..3 {
        // SAFETY: nothing in this process uses the standard descriptors any more.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}
