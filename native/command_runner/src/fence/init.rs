//! The first process of a fence: makes the mounts, gives up every privilege, and waits.
//!
//! Nothing of ours that matters is in it once it waits: it holds one end of a socket pair to the
//! worker and reads single bytes from it. A process inside may do to it what the kernel allows
//! there, and only ends itself by that.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{DumpableBehavior, Pid, Signal};
use rustix::thread::UnshareFlags;

use super::Failure::{self as Lacking, Broken, Unavailable};
use super::assemble::{Failure, Roots, copy, cover, put, verify};
use super::mounts::{Mount, What};
use super::{Design, Repository, hold};
use crate::privileges;

/// The namespace that was made last has been opened: go on.
pub const GO: u8 = b'g';
/// Ask all others to end.
pub const ASK: u8 = b'a';
/// End once no child is left.
pub const RELEASE: u8 = b'r';
/// End now.
pub const END: u8 = b'e';

/// In front of why it could not be made: this machine does not give it.
pub const UNAVAILABLE: u8 = b'u';
/// In front of why it could not be made: something that was planned has changed.
const BROKEN: u8 = b'b';

/// What kind of failure, the place, and the error.
type Failed = (u8, Failure);

const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Starts it in namespaces of its own, made within those of the session's folder if it has one.
pub fn start(
    design: &Design,
    aside: &Path,
    ours: &OwnedFd,
    theirs: OwnedFd,
) -> Result<Pid, Lacking> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let ids = (user.as_raw(), group.as_raw());
    let become_it = |flags: libc::c_int| {
        // SAFETY: without a stack of its own the child goes on with a copy of this process, as
        // after `fork`; there is one thread, so it is a whole copy that may run any code.
        let id = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        if id == 0 {
            let status = match become_init(design, aside, ours, &theirs, ids) {
                Ok(()) => 0,
                Err((kind, (place, error))) => {
                    let text = [&[kind], format!("{place}: {error}").as_bytes()].concat();
                    let _ = rustix::net::send(&theirs, &text, SendFlags::NOSIGNAL);
                    1
                }
            };
            // SAFETY: the copied parent's exit handlers must not run.
            unsafe { libc::_exit(status) }
        }
        // Minus one is not a process but a word for all of them, which a later signal would reach.
        i32::try_from(id)
            .ok()
            .filter(|id| *id > 0)
            .and_then(Pid::from_raw)
            .ok_or_else(io::Error::last_os_error)
    };
    match &design.holder {
        None => become_it(NAMESPACES | libc::SIGCHLD)
            .map_err(|error| Unavailable(format!("new namespaces: {error}"))),
        // The session's folder is there or it is not: nothing less will do.
        Some(holder) => hold::beside(holder, || {
            become_it(NAMESPACES | libc::CLONE_PARENT | libc::SIGCHLD)
        })
        .map_err(|error| Broken(format!("the session's temporary folder: {error}"))),
    }
}

/// Kills one that never came to wait.
pub fn kill(init: Pid) {
    // Never a word for several processes, whatever came before.
    if init.as_raw_nonzero().get() > 1 {
        let _ = rustix::process::kill_process(init, Signal::KILL);
    }
}

fn become_init(
    design: &Design,
    aside: &Path,
    ours: &OwnedFd,
    control: &OwnedFd,
    ids: (u32, u32),
) -> Result<(), Failed> {
    default_signals();
    close(ours);
    // Else its own files below /proc would belong to root, and the worker could not open its
    // namespaces.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .map_err(lacking("dumpable"))?;
    map_ids(ids).map_err(|error| (UNAVAILABLE, ("user namespace".to_owned(), error)))?;
    make_mounts(design, aside, control)?;

    privileges::drop_all().map_err(|error| (BROKEN, ("capabilities".to_owned(), error)))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(lacking("dumpable"))?;
    // After the privileges, whose loss takes this back.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(lacking("death signal"))?;
    keep_only(control).map_err(lacking("descriptors"))?;
    obey(&std::io::stdin());
    Ok(())
}

fn lacking(name: &str) -> impl FnOnce(rustix::io::Errno) -> Failed {
    move |error| (UNAVAILABLE, (name.to_owned(), error.into()))
}

fn broken(failure: Failure) -> Failed {
    (BROKEN, failure)
}

fn make_mounts(design: &Design, aside: &Path, channel: &OwnedFd) -> Result<(), Failed> {
    let unavailable = |failure| (UNAVAILABLE, failure);
    let root = |mount: &&Mount| mount.at.parent().is_none();
    let everything = design.mounts.iter().any(|mount| root(&mount));
    let mut roots = Roots::prepare(aside, everything).map_err(unavailable)?;
    if let Some(shared) = &design.shared {
        roots.shares(shared.clone());
    }
    for mount in design.mounts.iter().filter(|mount| !root(mount)) {
        // Nor is it the machine's lack where another command of the session may have done it.
        let planned = matches!(mount.what, What::Bind { .. } | What::Link(_) | What::Folder)
            || roots.is_shared(&mount.at);
        let kind = if planned { BROKEN } else { UNAVAILABLE };
        roots.make(mount).map_err(|failure| (kind, failure))?;
    }
    let repository = design.repository.as_ref();
    let around = match repository.and_then(|repository| repository.around.as_ref()) {
        Some(tree) => Some((tree.clone(), roots.read_only(tree).map_err(broken)?)),
        None => None,
    };
    let control = repository.map_or(&[][..], |repository| &repository.control);
    let plain = roots.exposed(&[&design.locked, &design.protected]);
    let plain = plain.map_err(broken)?;
    let git = roots.exposed(&[&design.locked, control]).map_err(broken)?;
    roots.enter().map_err(unavailable)?;
    for path in &design.locked {
        cover(path, false).map_err(broken)?;
    }
    let open = match repository {
        Some(repository) => repository_trees(design, repository).map_err(broken)?,
        None => Vec::new(),
    };
    for path in &design.protected {
        cover(path, false).map_err(broken)?;
    }
    verify(&plain).map_err(broken)?;
    hand_over(channel).map_err(lacking("views"))?;
    if let Some(repository) = repository {
        // SAFETY: it takes away nothing that another thread would miss: there is none.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.map_err(lacking("views"))?;
        for (path, tree) in around.iter().chain(&open) {
            put(path, tree).map_err(broken)?;
        }
        for path in &repository.control {
            cover(path, false).map_err(broken)?;
        }
        verify(&git).map_err(broken)?;
        hand_over(channel).map_err(lacking("views"))?;
    }
    Ok(())
}

/// What is laid over the plain view to make git's: its folders as they were before they were
/// covered, and, where the tree around the project is laid over it, the project again.
fn repository_trees(
    design: &Design,
    repository: &Repository,
) -> Result<Vec<(PathBuf, OwnedFd)>, Failure> {
    let within = |path: &&PathBuf| {
        let around = repository.around.as_ref();
        around.is_some_and(|tree| path.starts_with(tree))
    };
    let project = design.mounts.iter().map(|mount| &mount.at).filter(within);
    project
        .chain(&repository.folders)
        .filter(|path| path.exists())
        .map(|path| Ok((path.clone(), copy(path)?)))
        .collect()
}

/// A handler would let processes inside end or disturb it; and children reap themselves.
fn default_signals() {
    for signal in 1..=64 {
        let action = if signal == libc::SIGCHLD {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        };
        // SAFETY: no handler is installed; a signal that takes no action is refused, which is as
        // well.
        unsafe { libc::signal(signal, action) };
    }
}

fn close(descriptor: &OwnedFd) {
    // SAFETY: the value belongs to the parent's code, which never runs in this process.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// Everyone is who they are outside, and no one else is anyone.
pub fn map_ids((user, group): (u32, u32)) -> io::Result<()> {
    // Without this an ordinary user may not map a group.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn hand_over(control: &OwnedFd) -> rustix::io::Result<()> {
    rustix::net::send(control, b"1", SendFlags::NOSIGNAL)?;
    match receive(control) {
        Some(GO) => Ok(()),
        _ => Err(rustix::io::Errno::CONNRESET),
    }
}

fn receive(control: impl AsFd) -> Option<u8> {
    let mut byte = [0_u8];
    let received = rustix::io::retry_on_intr(|| {
        rustix::net::recv(control.as_fd(), &mut byte[..], RecvFlags::empty())
    });
    matches!(received, Ok((1, _))).then_some(byte[0])
}

fn keep_only(control: &OwnedFd) -> rustix::io::Result<()> {
    rustix::stdio::dup2_stdin(control)?;
    // SAFETY: nothing of what is closed is used again in this process; `control` goes on as the
    // standard input.
    unsafe { libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0) };
    Ok(())
}

/// Ends when told, or when nobody is left who could tell.
fn obey(control: &std::io::Stdin) {
    while let Some(message) = receive(control) {
        match message {
            // Anywhere else than in a process namespace of its own, this would reach every process
            // of the machine.
            ASK if std::process::id() == 1 => {
                for signal in [libc::SIGTERM, libc::SIGCONT] {
                    // SAFETY: it signals processes; from the first one of a namespace, all others
                    // in it.
                    unsafe { libc::kill(-1, signal) };
                }
            }
            RELEASE => {
                // Children reap themselves: this waits for all, and answers that there is none.
                while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
                return;
            }
            _ => return,
        }
    }
}
