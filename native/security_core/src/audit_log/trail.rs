//! The file that a log is written to as well: an entry a line, in the order of their ids.
//!
//! A line is written before the call that it tells of is answered. What a killed process leaves is
//! whole lines, and perhaps the beginning of one more: that call was not answered, and the
//! beginning goes when the file is opened the next time. A line that can't be written is kept, and
//! written before the next one, so that the file has no gap once there is room again.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use super::chain::{Anchor, Chain};
use super::line::{self, MAX_LINE};

/// Lines that wait for room; beyond it none is taken any more, and the file stays a beginning of
/// the whole.
const MAX_PENDING: usize = 1024 * 1024;

/// Why an entry is not in the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TrailError {
    /// Another process writes to it.
    #[error("another process writes to it")]
    Taken,
    /// It is a folder, a link, a pipe or a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// It ends in something else than an entry.
    #[error(
        "it is not an audit trail, since it ends in something else than an entry; \
         name another file, or move this one away"
    )]
    NotATrail,
    /// Its path has a NUL character.
    #[error("no path may contain a NUL character")]
    Nul,
    /// It was moved or removed, or its folder was.
    #[error("it was moved or removed")]
    Moved,
    /// Another program truncated it, or wrote to it.
    #[error("another program changed it: it has {found} bytes, and {written} were written")]
    Changed {
        /// Its length.
        found: u64,
        /// The length of what was written to it.
        written: u64,
    },
    /// So many entries could not be written that some are lost.
    #[error("entries that could not be written are lost")]
    Lost,
    /// The system's own words.
    #[error("{0}")]
    System(String),
}

impl From<io::Error> for TrailError {
    fn from(error: io::Error) -> Self {
        let text = error.to_string();
        let words = text.split_once(" (os error").map(|(words, _)| words);
        TrailError::System(words.unwrap_or(&text).to_owned())
    }
}

impl From<Errno> for TrailError {
    fn from(error: Errno) -> Self {
        match error {
            // Of a file that is a link.
            Errno::LOOP => TrailError::NotRegular,
            error => io::Error::from(error).into(),
        }
    }
}

/// The file, held by a lock.
#[derive(Debug)]
pub(super) struct Trail {
    file: File,
    path: PathBuf,
    place: (u64, u64),
    /// Length of the whole lines.
    length: u64,
    /// Whole lines that are not in the file.
    pending: Vec<u8>,
    /// Some of them may be, behind `length`: writing them failed, and taking them back as well.
    torn: bool,
    lost: bool,
    each: bool,
    unsynced: bool,
}

impl Trail {
    /// Opens or makes the file; returns it with its last entry, or with what a first entry is
    /// chained to.
    pub(super) fn open(
        path: &Path,
        chain: &Chain,
        each: bool,
    ) -> Result<(Self, Anchor), TrailError> {
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(TrailError::Nul);
        }
        // Appending, so that a file that is truncated just before a line is written gets no hole.
        let flags = OFlags::RDWR
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TrailError::NotRegular);
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(TrailError::Taken),
            result => result?,
        }
        let file = File::from(file);
        let size = stat.st_size as u64;
        let (length, last) = last_entry(&file, size)?;
        if length != size {
            file.set_len(length)?;
        }
        let trail = Trail {
            place: place(&stat),
            file,
            path: path.to_owned(),
            length,
            pending: Vec::new(),
            torn: false,
            lost: false,
            each,
            unsynced: false,
        };
        Ok((trail, last.unwrap_or_else(|| chain.first())))
    }

    /// Writes a line, after those that could not be written before.
    pub(super) fn write(&mut self, line: &[u8]) -> Result<(), TrailError> {
        if self.lost || self.pending.len() + line.len() > MAX_PENDING {
            self.lost = true;
            return Err(TrailError::Lost);
        }
        self.pending.extend_from_slice(line);
        self.flush()?;
        if self.each { self.sync() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), TrailError> {
        self.in_place()?;
        self.take_back()?;
        if let Err(error) = (&self.file).write_all(&self.pending) {
            // Half a line would be in the way of whoever reads meanwhile. If not even that works,
            // it is tried again before the next line.
            self.torn = true;
            let _ = self.take_back();
            return Err(error.into());
        }
        self.length += self.pending.len() as u64;
        self.pending.clear();
        self.unsynced = true;
        Ok(())
    }

    fn take_back(&mut self) -> Result<(), TrailError> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        Ok(())
    }

    /// A file that was removed takes lines as ever, for nobody to read; one that was truncated has
    /// lost entries, which must not pass unnoticed.
    fn in_place(&self) -> Result<(), TrailError> {
        let stat = match rustix::fs::lstat(&self.path) {
            Ok(stat) if place(&stat) == self.place => stat,
            _ => return Err(TrailError::Moved),
        };
        let torn = if self.torn { self.pending.len() } else { 0 };
        let (found, written) = (stat.st_size as u64, self.length);
        if (written..=written + torn as u64).contains(&found) {
            Ok(())
        } else {
            Err(TrailError::Changed { found, written })
        }
    }

    /// Makes sure that what was written is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), TrailError> {
        if self.unsynced {
            self.file.sync_data()?;
            self.unsynced = false;
        }
        Ok(())
    }
}

#[allow(clippy::unnecessary_cast)]
fn place(stat: &rustix::fs::Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// The length of the file up to its last line break, and the entry before that.
fn last_entry(file: &File, size: u64) -> Result<(u64, Option<Anchor>), TrailError> {
    let window = size.min(2 * MAX_LINE as u64);
    let mut end = vec![0; window as usize];
    file.read_exact_at(&mut end, size - window)?;
    let Some(last_break) = end.iter().rposition(|&byte| byte == b'\n') else {
        return if size == window && line::begins_first(&end) {
            Ok((0, None))
        } else {
            Err(TrailError::NotATrail)
        };
    };
    let before = &end[..last_break];
    let start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |place| place + 1);
    let entry = line::decode(&before[start..]).ok_or(TrailError::NotATrail)?;
    let length = size - window + last_break as u64 + 1;
    let anchor = Anchor {
        id: entry.id,
        digest: entry.digest,
    };
    Ok((length, Some(anchor)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_line_is_on_the_disk_when_it_was_asked_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let chain = Chain::new(&[7; 32]);
        let open = |name: &str, each| Trail::open(&folder.path().join(name), &chain, each);
        let (mut each, _) = open("each.jsonl", true).unwrap();
        each.write(b"{}\n").unwrap();
        assert!(!each.unsynced);
        let (mut later, _) = open("later.jsonl", false).unwrap();
        later.write(b"{}\n").unwrap();
        assert!(later.unsynced);
        later.sync().unwrap();
        assert!(!later.unsynced);
    }
}
