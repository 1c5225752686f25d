//! Which ignore rules are taken in.

use rustix::fs::{AtFlags, CWD, FileType, statat};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const NAMES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// Bytes of rules in one file, and in all of a search. A rule costs up to 500 times its length in
/// memory once it is compiled; real files have a few hundred bytes.
const MAX_FILE: u64 = 64 << 10;
const MAX_TOTAL: u64 = 512 << 10;

/// The rules of one search. They are read by path, as part of the walk, by code that takes whatever
/// is there: it would wait for ever on a named pipe, and read a link to `/dev/zero` until memory is
/// gone. So a directory is entered only when its rule files are known to be harmless.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    taken: AtomicU64,
}

impl Rules {
    /// Whether the directory's rule files, if it has any, are regular, small, and within what is
    /// left.
    pub(crate) fn admit(&self, directory: &Path) -> bool {
        NAMES.iter().all(
            |name| match statat(CWD, directory.join(name), AtFlags::empty()) {
                Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile => {
                        self.take(u64::try_from(stat.st_size).unwrap_or(u64::MAX))
                    }
                    FileType::Directory => true,
                    _ => false,
                },
                Err(_) => true,
            },
        )
    }

    fn take(&self, size: u64) -> bool {
        size <= MAX_FILE && self.taken.fetch_add(size, Ordering::Relaxed) + size <= MAX_TOTAL
    }
}
