//! The fence: mount, process, IPC, host name and user namespaces of a plan's own.
//!
//! ```text
//! guard ── worker ──┬── init, the first process inside: waits, and is killed last
//!                   └── stages of the plan, which join init's namespaces before they become
//!                       their program
//! ```
//!
//! Guard and worker stay outside of all namespaces: nothing inside has a name for them, so no
//! signal, resource limit or priority reaches them. Init can't be killed from inside, and when it
//! is killed from outside, or loses the worker, the kernel kills all that is inside in the same
//! moment, also what forked twice, changed its session or was stopped.
//!
//! Made here and not by `bwrap`: that took 26 to 40 ms with few mounts, where namespaces alone took
//! 8 to 15 (starts of processes on a busy machine, not the same mounts on both sides), takes paths
//! by name, which another command of the same project could exchange meanwhile, and can't give git
//! another view than its neighbours in a pipe.

pub mod assemble;
pub mod hold;
mod init;
pub mod mounts;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::Pid;
use rustix::thread::LinkNameSpaceType;

use mounts::Mount;

/// What a fence is made from.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// The mounts, in order.
    pub mounts: Vec<Mount>,
    /// Who keeps the session's temporary folder, in whose namespaces the fence is then made.
    pub holder: Option<hold::Holder>,
    /// Where that folder is inside: other commands write there at the same time.
    pub shared: Option<PathBuf>,
    /// Read-only in every view: what git's configuration runs.
    pub locked: Vec<PathBuf>,
    /// Read-only in the plain view: git's folders.
    pub protected: Vec<PathBuf>,
    /// The view of git itself, when the plan runs it.
    pub repository: Option<Repository>,
}

/// What git may change of its folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repository {
    /// Writable, and covered so that it can't be moved away.
    pub folders: Vec<PathBuf>,
    /// Read-only within them: what makes git run something, or look elsewhere.
    pub control: Vec<PathBuf>,
    /// The working tree that the project is only a part of: git sees all of it, read-only.
    pub around: Option<PathBuf>,
}

/// Which of the fence's views of the file system a stage gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Git's folders are read-only.
    Plain,
    /// They are writable but for what controls git.
    Repository,
}

/// Why there is no fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// This machine does not give one.
    Unavailable(String),
    /// It gives one, but this one could not be made as it was designed.
    Broken(String),
}

/// A standing fence. It falls, with all that is inside, when this is dropped.
pub struct Fence {
    init: Pid,
    control: OwnedFd,
    user: File,
    others: Vec<(File, LinkNameSpaceType)>,
    plain: File,
    repository: Option<File>,
}

impl Fence {
    /// Makes the namespaces. `aside` is an empty folder of the runner's own. The error says what
    /// could not be had.
    pub fn raise(design: &Design, aside: &Path) -> Result<Self, Failure> {
        let flags = SocketFlags::CLOEXEC;
        let family = AddressFamily::UNIX;
        let (control, theirs) = rustix::net::socketpair(family, SocketType::SEQPACKET, flags, None)
            .map_err(|error| Failure::Broken(error.to_string()))?;
        let init = init::start(design, aside, &control, theirs)?;
        let fence = Self::of(init, control, design.repository.is_some());
        // It must not be left waiting for an answer.
        fence.inspect_err(|_| init::kill(init))
    }

    fn of(init: Pid, control: OwnedFd, repository: bool) -> Result<Self, Failure> {
        let open = |kind: &str| {
            let path = format!("/proc/{}/ns/{kind}", init.as_raw_nonzero());
            let unavailable = |error| Failure::Unavailable(format!("{path}: {error}"));
            File::open(&path).map_err(unavailable)
        };
        let go_on = || {
            let told = tell(&control, init::GO);
            told.map_err(|error| Failure::Broken(error.to_string()))
        };
        await_ready(&control)?;
        let plain = open("mnt")?;
        let repository = if repository {
            go_on()?;
            await_ready(&control)?;
            Some(open("mnt")?)
        } else {
            None
        };
        let fence = Self {
            init,
            user: open("user")?,
            others: vec![
                (open("ipc")?, LinkNameSpaceType::InterProcessCommunication),
                (open("uts")?, LinkNameSpaceType::HostNameAndNISDomainName),
                (open("pid")?, LinkNameSpaceType::ProcessID),
            ],
            plain,
            repository,
            control,
        };
        let told = tell(&fence.control, init::GO);
        told.map_err(|error| Failure::Broken(error.to_string()))?;
        Ok(fence)
    }

    /// The first process inside, a child of this one.
    pub fn init(&self) -> Pid {
        self.init
    }

    /// Joins the namespaces; for a child that is to become a stage. Its own children will be
    /// inside, and so is what it opens from here on; it has every capability there, to be dropped
    /// at once.
    pub fn join(&self, view: View) -> io::Result<()> {
        let join = |space: &File, kind| {
            rustix::thread::move_into_link_name_space(space.as_fd(), Some(kind))
        };
        join(&self.user, LinkNameSpaceType::User)?;
        let mounts = match (view, &self.repository) {
            (View::Repository, Some(mounts)) => mounts,
            _ => &self.plain,
        };
        join(mounts, LinkNameSpaceType::Mount)?;
        for (space, kind) in &self.others {
            join(space, *kind)?;
        }
        Ok(())
    }

    /// Asks all that is inside to end.
    pub fn ask(&self) {
        // Where this fails init is gone, and with it all that could be asked.
        let _ = tell(&self.control, init::ASK);
    }

    /// Lets init end as soon as nothing is left below it. For when no stage lives, since those are
    /// not below it.
    pub fn release(&self) {
        let _ = tell(&self.control, init::RELEASE);
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // Its zombie, if it isn't reaped yet, keeps the id from being another's: the worker reaps
        // only after this, or has seen it end and released the fence.
        let _ = tell(&self.control, init::END);
    }
}

fn tell(control: &OwnedFd, message: u8) -> rustix::io::Result<usize> {
    rustix::net::send(
        control,
        &[message],
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    )
}

/// Waits until init has come one step further; what it says instead is why it could not.
fn await_ready(control: &OwnedFd) -> Result<(), Failure> {
    let mut text = [0_u8; 512];
    let received = rustix::io::retry_on_intr(|| {
        rustix::net::recv(control, &mut text[..], RecvFlags::empty()).map(|(count, _)| count)
    });
    match received.map(|count| &text[..count]) {
        Ok([]) => Err(Failure::Broken("its first process ended".to_owned())),
        Ok([_]) => Ok(()),
        Ok([init::UNAVAILABLE, text @ ..]) => Err(Failure::Unavailable(
            String::from_utf8_lossy(text).into_owned(),
        )),
        Ok([_, text @ ..]) => Err(Failure::Broken(String::from_utf8_lossy(text).into_owned())),
        Err(error) => Err(Failure::Broken(error.to_string())),
    }
}
