//! Files that somebody else may have made: read only when they are regular, without waiting, up to
//! a size, and with an identity that can't be forged.
//!
//! Opening a named pipe waits for its other end, opening a device may do anything, and a link may
//! lead to either. So a file is looked at first, opened without blocking, and looked at again
//! through its descriptor.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// What tells one state of a file from every other one.
///
/// The time of the last change of the inode (`ctime`) is the kernel's own: no program can set it,
/// so a file whose identity is the same has the same content, and one whose `changed_ns` lies
/// before a moment has not changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When its content changed last, in nanoseconds since the Unix epoch; any program can set
    /// this.
    pub modified_ns: i64,
    /// When anything about it changed last.
    pub changed_ns: i64,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// Nothing has that name.
    NotFound,
    /// It is a folder, a pipe, a socket or a device.
    NotRegular,
    /// It is larger than the limit.
    TooLarge,
    /// It changed while it was read, more than once.
    Changing,
    /// The system's own reason.
    System(Errno),
}

impl Refused {
    /// The reason's name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Refused::NotFound => "not_found",
            Refused::NotRegular => "not_regular",
            Refused::TooLarge => "too_large",
            Refused::Changing => "changing",
            Refused::System(_) => "io",
        }
    }
}

impl From<Errno> for Refused {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR => Refused::NotFound,
            error => Refused::System(error),
        }
    }
}

/// How often a file that changes under the reader is read again.
const ATTEMPTS: usize = 3;

/// The identity of the regular file at `path`.
pub fn identity(path: &Path) -> Result<Identity, Refused> {
    regular(&rustix::fs::statat(
        CWD,
        path,
        rustix::fs::AtFlags::empty(),
    )?)
}

/// The regular file at `path`, opened to be read.
pub fn open(path: &Path) -> Result<File, Refused> {
    // Not even opened when it is something else: opening a device can have effects.
    identity(path)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    regular(&rustix::fs::fstat(&file)?)?;
    Ok(File::from(file))
}

/// The content of the regular file at `path`, of at most `limit` bytes, and its identity.
pub fn read(path: &Path, limit: u64) -> Result<(Vec<u8>, Identity), Refused> {
    for _ in 0..ATTEMPTS {
        let mut file = open(path)?;
        let before = regular(&rustix::fs::fstat(&file)?)?;
        if before.size > limit {
            return Err(Refused::TooLarge);
        }
        let mut content = Vec::with_capacity(before.size as usize);
        let taken = (&mut file).take(limit + 1).read_to_end(&mut content);
        taken
            .map_err(|error| Refused::System(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        let after = regular(&rustix::fs::fstat(file.as_fd())?)?;
        if before == after && content.len() as u64 == after.size {
            return Ok((content, after));
        }
    }
    Err(Refused::Changing)
}

/// The first of the folders that holds a regular file of this name, and that file's identity.
pub fn find<'a>(
    folders: impl IntoIterator<Item = &'a Path>,
    name: &Path,
) -> Option<(PathBuf, Identity)> {
    folders.into_iter().find_map(|folder| {
        let path = folder.join(name);
        let identity = identity(&path).ok()?;
        Some((path, identity))
    })
}

fn regular(stat: &Stat) -> Result<Identity, Refused> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Refused::NotRegular);
    }
    // The kernels' own types differ in width and sign.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok(Identity {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    })
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn fifo(path: &Path) {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    #[test]
    fn a_regular_file_is_read_also_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a"), folder.path().join("l"));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        let (content, read_identity) = read(&link, 4).unwrap();
        assert_eq!(content, b"text");
        assert_eq!(read_identity, identity(&file).unwrap());
        assert_eq!(read(&file, 3), Err(Refused::TooLarge));
    }

    #[test]
    fn nothing_else_is_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("p"), folder.path().join("l"));
        fifo(&pipe);
        symlink(&pipe, &link).unwrap();
        for path in [&pipe, &link, Path::new("/dev/zero"), folder.path()] {
            assert_eq!(read(path, 10), Err(Refused::NotRegular), "{path:?}");
        }
        assert_eq!(
            read(&folder.path().join("none"), 10),
            Err(Refused::NotFound)
        );
    }

    #[test]
    fn what_is_no_file_is_passed_over_on_a_search_path() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("1"), folder.path().join("2"));
        fs::create_dir_all(&first).unwrap();
        fs::create_dir_all(&second).unwrap();
        fifo(&first.join("m.beam"));
        fs::write(second.join("m.beam"), "x").unwrap();
        let folders = [first.as_path(), second.as_path()];
        let found = find(folders, Path::new("m.beam")).unwrap();
        assert_eq!(found.0, second.join("m.beam"));
        assert_eq!(find(folders, Path::new("n.beam")), None);
    }

    #[test]
    fn no_program_can_give_a_changed_file_its_old_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let date = |path: &Path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(long_ago).unwrap();
        };
        fs::write(&path, "one").unwrap();
        date(&path);
        let before = identity(&path).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "two").unwrap();
        date(&path);
        let after = identity(&path).unwrap();
        assert_eq!(
            (before.size, before.modified_ns),
            (after.size, after.modified_ns)
        );
        assert!(after.changed_ns > before.changed_ns);
    }
}
