//! The process tree below this process: who is in it, and how all of it ends.
//!
//! This process is a *subreaper*: when a process anywhere below it loses its parent, the kernel
//! makes it a child of this one, whatever sessions or groups it changed to. So the tree is over
//! exactly when there is no child left, and a loop that kills and reaps children until then reaches
//! double forks and `setsid` escapees alike.
//!
//! Only children are signalled, never ids read from elsewhere: an id can't be taken over by a
//! stranger before its parent, this process, has reaped it.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

/// Makes orphans of the tree children of this process.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// Reaps what has ended, telling each; false when no child is left at all.
pub fn reap(mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Signals every child that is chosen, and each one's process group with it.
///
/// A group is signalled by the kernel in one step that no `fork` inside it can slip past, so a fork
/// bomb that stays in its group ends at once. Groups below this process never hold strangers: each
/// command starts in a session of its own, and groups don't cross sessions.
pub fn signal(signal: Signal, mut chosen: impl FnMut(Pid) -> bool) {
    let own = rustix::process::getpgrp();
    for child in children().into_iter().filter(|child| chosen(*child)) {
        match rustix::process::getpgid(Some(child)) {
            Ok(group) if group != own => {
                let _ = rustix::process::kill_process_group(group, signal);
            }
            // Not yet in a group of its own, or gone: signal it alone. A zombie takes any signal.
            _ => {
                let _ = rustix::process::kill_process(child, signal);
            }
        }
    }
}

/// The children of this process. A child that ends while the list is read can hide another, so
/// callers ask until [`reap`] says that none is left.
pub fn children() -> Vec<Pid> {
    match fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list
            .split_ascii_whitespace()
            .filter_map(parse_pid)
            .collect(),
        Err(_) => children_by_scan(),
    }
}

/// For kernels built without the list of children.
fn children_by_scan() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = rustix::process::getpid();
    entries
        .filter_map(|entry| parse_pid(entry.ok()?.file_name().to_str()?))
        .filter(|pid| parent(*pid) == Some(own))
        .collect()
}

fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name stands in parentheses and may hold any character, parentheses included.
    let (_, fields) = stat.rsplit_once(')')?;
    parse_pid(fields.split_ascii_whitespace().nth(1)?)
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    #[test]
    fn the_scan_finds_a_child_under_a_hostile_name() {
        let folder = std::env::temp_dir().join(format!("tree-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("a) S 1 (b");
        fs::copy("/bin/sleep", &program).unwrap();
        let mut child = Command::new(&program).arg("30").spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(children_by_scan().contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
