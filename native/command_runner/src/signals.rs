//! Signals as readable descriptors, so that one `poll` waits for everything.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::PipeFlags;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// The two things that signals tell here: a child ended, and this process shall end.
pub struct Signals {
    child: OwnedFd,
    stop: OwnedFd,
}

impl Signals {
    /// Takes over the signals. Once for a process.
    pub fn listen() -> io::Result<Self> {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (child, on_child) = rustix::pipe::pipe_with(flags)?;
        let (stop, on_stop) = rustix::pipe::pipe_with(flags)?;
        pipe::register(SIGCHLD, on_child)?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            pipe::register(signal, on_stop.try_clone()?)?;
        }
        Ok(Self { child, stop })
    }

    /// What to wait on.
    pub fn poll_fds(&self) -> [PollFd<'_>; 2] {
        [
            PollFd::new(&self.child, PollFlags::IN),
            PollFd::new(&self.stop, PollFlags::IN),
        ]
    }

    /// Forgets that children ended; to be called before they are reaped, or one that ends in
    /// between goes unseen.
    pub fn drain(&self) {
        while rustix::io::read(&self.child, &mut [0_u8; 64]).is_ok_and(|count| count > 0) {}
    }

    /// True once for each time this process was asked to end.
    pub fn asked_to_stop(&self) -> bool {
        let mut asked = false;
        while rustix::io::read(&self.stop, &mut [0_u8; 64]).is_ok_and(|count| count > 0) {
            asked = true;
        }
        asked
    }
}
