//! Repositories that a command left in the project. A person's git runs what their configuration
//! names, in their folder and, once they are added, from the folders around: so they are told.
//!
//! Told by the time of their making, which no process can set: one look, after the command. It is
//! bounded, and goes from the top down.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, StatxFlags};

use crate::paths;

/// Folders to look into, and the time for it.
const MOST_FOLDERS: usize = 8192;
const PATIENCE: Duration = Duration::from_millis(50);

/// Repositories told of.
const MOST_TOLD: usize = 5;

/// What compilers and package managers fill, repositories included: code that the project trusts
/// already.
const SKIPPED: [&str; 4] = ["_build", "deps", "node_modules", "target"];

/// File systems keep times in steps of a clock tick.
const TICK: Duration = Duration::from_millis(10);

/// A sentence for each repository below a folder that was made since.
pub fn since(folder: &Path, start: SystemTime) -> Vec<String> {
    let start = (start - TICK)
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut told = Vec::new();
    for path in new_below(folder, start) {
        let path = path.strip_prefix(folder).unwrap_or(&path).display();
        told.push(format!(
            "{path} is a new git repository. Its configuration and hooks can run programs: read \
             them before using git there or around it"
        ));
    }
    told
}

fn new_below(folder: &Path, start: Duration) -> Vec<PathBuf> {
    let until = Instant::now() + PATIENCE;
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([folder.to_owned()]);
    for _ in 0..MOST_FOLDERS {
        let Some(path) = waiting.pop_front() else {
            break;
        };
        if found.len() >= MOST_TOLD || Instant::now() >= until {
            break;
        }
        if let Ok(folder) = paths::open(&path, OFlags::RDONLY | OFlags::DIRECTORY) {
            look_into(&folder, &path, start, &mut found, &mut waiting);
        }
    }
    found
}

fn look_into(
    folder: &OwnedFd,
    path: &Path,
    start: Duration,
    found: &mut Vec<PathBuf>,
    waiting: &mut VecDeque<PathBuf>,
) {
    let made = |name: &str| made_since(folder, name, start);
    if made(".git") == Some(true) {
        found.push(path.join(".git"));
    }
    let bare = ["HEAD", "objects", "refs"].map(made);
    if bare.iter().all(Option::is_some) && bare.contains(&Some(true)) {
        found.push(path.to_owned());
        return;
    }
    for entry in Dir::read_from(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        let usual = [".", "..", ".git"].contains(&name) || SKIPPED.contains(&name);
        if entry.file_type() == FileType::Directory && !usual && waiting.len() < MOST_FOLDERS {
            waiting.push_back(path.join(name));
        }
    }
}

/// Whether an entry was made since; `None` where there is none, or no telling.
fn made_since(folder: impl AsFd, name: &str, start: Duration) -> Option<bool> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let entry = rustix::fs::statx(folder, name, flags, StatxFlags::BTIME).ok()?;
    if entry.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return None;
    }
    let seconds = u64::try_from(entry.stx_btime.tv_sec).ok()?;
    Some(Duration::new(seconds, entry.stx_btime.tv_nsec) >= start)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn new_folders_files_and_bare_ones_are_told_and_old_ones_are_not() {
        let base = std::env::temp_dir().join(format!("appeared-{}", std::process::id()));
        fs::create_dir_all(base.join("old/.git")).unwrap();
        let base = base.canonicalize().unwrap();
        if made_since(
            paths::open(&base, OFlags::RDONLY).unwrap(),
            "old",
            Duration::ZERO,
        )
        .is_none()
        {
            // This file system keeps no such times.
            return;
        }
        std::thread::sleep(TICK * 3);
        let start = SystemTime::now();
        fs::write(base.join("old/.git/config"), "").unwrap();
        assert_eq!(since(&base, start), Vec::<String>::new());

        fs::create_dir_all(base.join("a/b/.git")).unwrap();
        fs::create_dir_all(base.join("_build/x/.git")).unwrap();
        fs::create_dir(base.join("file")).unwrap();
        fs::write(base.join("file/.git"), "gitdir: elsewhere").unwrap();
        for folder in ["bare/objects", "bare/refs"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("bare/HEAD"), "").unwrap();
        let mut told = since(&base, start);
        told.sort();
        let names: Vec<&str> = told
            .iter()
            .filter_map(|text| text.split(' ').next())
            .collect();
        assert_eq!(names, ["a/b/.git", "bare", "file/.git"]);
        fs::remove_dir_all(&base).unwrap();
    }
}
