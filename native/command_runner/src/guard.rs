//! The outer of the two processes: it does nothing but outlive the worker and clean up after it.
//!
//! ```text
//! BEAM ── guard (subreaper) ── worker (subreaper) ── commands
//! ```
//!
//! Who dies, and who then ends the commands:
//!
//! - the BEAM, or the port is closed: the worker, which reads end of input;
//! - the worker, even by SIGKILL: its direct children die with it by the kernel's parent death
//!   signal, all others become children of the guard, which kills and reaps them;
//! - the guard, even by SIGKILL: the worker gets SIGTERM by the same means and ends as on a closed
//!   port;
//! - both by SIGKILL in one moment: only the direct children. Nothing is left that could end the
//!   rest.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitStatus};

use crate::limits;
use crate::scratch::Scratch;
use crate::signals::Signals;
use crate::wire::{FrameWriter, Term};
use crate::{tree, worker};

/// Longer than any grace time that a spec may ask for: a worker that lives on then is stuck or was
/// stopped.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to look for processes to kill that gave no sign of becoming ours.
const TICK: Duration = Duration::from_millis(5);

/// Runs guard and worker; returns the exit status of this process, which is either of them.
pub fn run(scratch: PathBuf) -> io::Result<u8> {
    close_inherited();
    // No other process of the user may read this one's memory or stop it with a debugger.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    tree::adopt_orphans()?;

    let mut scratch = Scratch::at(scratch);
    if let Err(error) = scratch.create() {
        return refuse(&cannot_make(&scratch, &error));
    }
    let guard = rustix::process::getpid();
    // SAFETY: this process has a single thread, so the child is a whole copy that may run any code.
    match unsafe { libc::fork() } {
        0 => Ok(worker::run(guard, scratch)),
        id => {
            let watched = match Pid::from_raw(id) {
                Some(worker) if id > 0 => watch(worker),
                _ => Err(io::Error::last_os_error()),
            };
            sweep();
            clean_up(&scratch);
            watched
        }
    }
}

/// Why there is no temporary folder, and what helps.
pub fn cannot_make(scratch: &Scratch, error: &io::Error) -> String {
    format!(
        "the temporary folder {} can't be made: {error}. Free space there, or name another place in \
         config :jido_code_tools, command_temp_dir:",
        scratch.path().display()
    )
}

/// Answers why nothing can be run.
fn refuse(message: &str) -> io::Result<u8> {
    let mut frames = FrameWriter::default();
    frames.push(&Term::map([
        ("event", Term::text("refused")),
        ("kind", Term::text("system")),
        ("message", Term::text(message)),
    ]));
    frames.flush(std::io::stdout())?;
    Ok(worker::FAILED)
}

/// Removes what a command's processes leave behind, once they are gone.
pub fn clean_up(scratch: &Scratch) {
    let _ = scratch.remove();
    if let Some(name) = scratch.path().file_name().and_then(|name| name.to_str()) {
        limits::remove_group(name);
    }
}

/// Waits for the worker, and ends it when it does not end in time though no one is left to speak
/// to.
fn watch(worker: Pid) -> io::Result<u8> {
    let signals = Signals::listen()?;
    // The output belongs to the worker: its end, not the guard's, is what the BEAM sees.
    let null = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR,
        rustix::fs::Mode::empty(),
    )?;
    rustix::stdio::dup2_stdout(&null)?;
    drop(null);

    let input = std::io::stdin();
    let mut connected = true;
    let mut deadline: Option<Instant> = None;
    loop {
        let mut ended = None;
        tree::reap(|pid, status| {
            if pid == worker {
                ended = Some(status);
            }
        });
        if let Some(status) = ended {
            return Ok(exit_code(status));
        }
        if signals.asked_to_stop() {
            let _ = rustix::process::kill_process(worker, Signal::TERM);
            deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let _ = rustix::process::kill_process(worker, Signal::KILL);
        }

        let mut watched = signals.poll_fds().to_vec();
        if connected {
            // No events asked for: only the hang-up is told, and no byte of the worker's is taken.
            watched.push(PollFd::new(&input, PollFlags::empty()));
        }
        let timeout =
            deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).max(TICK));
        let _ = rustix::event::poll(
            &mut watched,
            timeout.and_then(|timeout| timeout.try_into().ok()).as_ref(),
        );
        if watched
            .get(2)
            .is_some_and(|input| !input.revents().is_empty())
        {
            connected = false;
            deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
        }
        signals.drain();
    }
}

/// Kills and reaps until no process of the tree is left. Nearly always there is none: the worker
/// has done it.
fn sweep() {
    while tree::reap(|_, _| {}) {
        tree::signal(Signal::KILL, |_| true);
        std::thread::sleep(TICK);
    }
}

fn exit_code(status: WaitStatus) -> u8 {
    status
        .exit_status()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(worker::FAILED)
}

/// Descriptors that the BEAM's starter left open would be held by every command.
pub fn close_inherited() {
    // SAFETY: it marks descriptors to be closed on exec, and this program has opened none yet.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3_u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}
