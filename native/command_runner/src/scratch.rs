//! Temporary folders: made before a command, removed after its last process is gone.
//!
//! The process that makes one locks it; the lock goes with the last of its children, however they
//! end. So a folder that nobody holds is a leftover of processes that were killed together, and the
//! next session's folder is made only after such are removed ([`remove_leftovers`]).

use std::ffi::{CStr, CString, OsStr};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// What the names of folders begin with that are locked by their users. Versions that lock
/// nothing gave other names.
pub const PREFIX: &str = "jido-run-";

/// A folder that only this command's user may enter.
#[derive(Clone)]
pub struct Scratch {
    path: PathBuf,
    /// The open folder, locked; shared by the processes that came from its maker by `fork`.
    held: Option<Arc<OwnedFd>>,
}

impl Scratch {
    /// Names a folder without making it.
    pub fn at(path: PathBuf) -> Self {
        Self { path, held: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes and locks it. A folder that exists already is refused: someone else may have laid it
    /// there.
    pub fn create(&mut self) -> io::Result<()> {
        loop {
            DirBuilder::new().mode(0o700).create(&self.path)?;
            if let Some(folder) = hold(&self.path)? {
                self.held = Some(Arc::new(folder));
                return Ok(());
            }
        }
    }

    /// Removes what is in it.
    ///
    /// A command may have nested folders deeper than any stack or descriptor table, so nothing
    /// recurses: folders found inside a folder are moved up beside it, until all are at the top and
    /// empty.
    pub fn empty(&self) -> io::Result<()> {
        let root = match open_folder(CWD, &self.path) {
            Err(Errno::NOENT) => return Ok(()),
            opened => opened?,
        };
        let mut moved = 0_u64;
        loop {
            let mut found = false;
            for (name, folder) in entries(&root)? {
                found = true;
                if folder {
                    flatten(&root, &name, &mut moved)?
                } else {
                    unlink(&root, &name)?
                }
            }
            if !found {
                return Ok(());
            }
        }
    }

    /// Removes it with all that is in it.
    pub fn remove(&self) -> io::Result<()> {
        self.empty()?;
        match rustix::fs::rmdir(&self.path) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }
}

/// Removes the folders beside which nobody lives any more; told is how many there were.
pub fn remove_leftovers(base: &Path) -> io::Result<usize> {
    let removed = |(path, _held): &(PathBuf, OwnedFd)| Scratch::at(path.clone()).remove().is_ok();
    Ok(leftovers(base, PREFIX)?.filter(removed).count())
}

/// Locks a folder that was just made, until what is returned is closed. `None` when a process that
/// removes leftovers has taken it for one before.
pub fn hold(path: &Path) -> io::Result<Option<OwnedFd>> {
    let folder = match open_folder(CWD, path) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    rustix::io::retry_on_intr(|| rustix::fs::flock(&folder, FlockOperation::LockExclusive))?;
    Ok(is_at(&folder, path)?.then_some(folder))
}

/// This user's folders with names that begin so and that nobody holds, each held while it is looked
/// at. What can't be looked at is left out.
pub fn leftovers(
    base: &Path,
    prefix: &str,
) -> io::Result<impl Iterator<Item = (PathBuf, OwnedFd)>> {
    let user = rustix::process::geteuid().as_raw();
    let named = move |name: &OsStr| name.as_encoded_bytes().starts_with(prefix.as_bytes());
    let entries = std::fs::read_dir(base)?.flatten();
    let paths = entries.filter(move |entry| named(&entry.file_name()));
    Ok(paths.map(|entry| entry.path()).filter_map(move |path| {
        let folder = open_folder(CWD, &path).ok()?;
        let own = rustix::fs::fstat(&folder).is_ok_and(|stat| stat.st_uid == user);
        let free = FlockOperation::NonBlockingLockExclusive;
        // One that another removed before the lock was had: its maker may have made it anew.
        let left = own
            && rustix::fs::flock(&folder, free).is_ok()
            && is_at(&folder, &path).unwrap_or(false);
        left.then_some((path, folder))
    }))
}

/// Whether the open folder is what a path leads to now.
fn is_at(folder: &OwnedFd, path: &Path) -> io::Result<bool> {
    let own = rustix::fs::fstat(folder)?;
    match rustix::fs::lstat(path) {
        Ok(there) => Ok((there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How much is in a folder that commands write while it is counted, against a bound of bytes.
///
/// Counted is what files take of the disk, and a page for each entry, as a file system in memory
/// counts; so that the counting itself is bounded, and endless small files count as well. Folders
/// deeper than any program makes them, and those that can't be read, count as too much.
pub fn exceeds(folder: &Path, bytes: u64) -> bool {
    const PAGE: u64 = 4096;
    const DEEPEST: usize = 200;
    let mut left = bytes;
    let Ok(root) = open_folder(CWD, folder) else {
        return false;
    };
    let Ok(root) = Dir::new(root) else {
        return false;
    };
    let mut open = vec![root];
    while let Some(here) = open.last_mut() {
        let Some(Ok(entry)) = here.read() else {
            open.pop();
            continue;
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let Ok(at) = here.fd() else { continue };
        // What is gone since counts for nothing.
        let Ok(stat) = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let taken = u64::try_from(stat.st_blocks)
            .unwrap_or(0)
            .saturating_mul(512);
        match left.checked_sub(taken.max(PAGE)) {
            Some(rest) => left = rest,
            None => return true,
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            continue;
        }
        match open_folder(at, name).and_then(Dir::new) {
            Ok(inner) if open.len() < DEEPEST => open.push(inner),
            // Gone since, or swapped for a link.
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {}
            _ => return true,
        }
    }
    false
}

fn open_folder(at: impl AsFd, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

/// The entries of a folder, a bounded number at a time, each with whether it is a folder.
fn entries(folder: &OwnedFd) -> io::Result<Vec<(CString, bool)>> {
    const AT_ONCE: usize = 4096;
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        found.push((name.to_owned(), kind == FileType::Directory));
        if found.len() == AT_ONCE {
            break;
        }
    }
    Ok(found)
}

/// Empties a folder directly below the root by moving its folders up, then removes it.
fn flatten(root: &OwnedFd, name: &CStr, moved: &mut u64) -> io::Result<()> {
    // Without these rights of the owner it could neither be listed nor emptied.
    let _ = rustix::fs::chmodat(root, name, Mode::RWXU, AtFlags::empty());
    let folder = open_folder(root, name)?;
    loop {
        let found = entries(&folder)?;
        if found.is_empty() {
            break;
        }
        for (entry, is_folder) in found {
            if is_folder {
                // Moving a folder changes its "..", for which it must be writable itself.
                let _ = rustix::fs::chmodat(&folder, &entry, Mode::RWXU, AtFlags::empty());
                move_up(&folder, &entry, root, moved)?;
            } else {
                unlink(&folder, &entry)?;
            }
        }
    }
    Ok(rustix::fs::unlinkat(root, name, AtFlags::REMOVEDIR)?)
}

fn move_up(folder: &OwnedFd, entry: &CStr, root: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        let free = format!(".moved-{moved}");
        match rustix::fs::renameat(folder, entry, root, free.as_str()) {
            // The command used that very name; an empty folder of that name is replaced, which is
            // as well.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            result => return Ok(result?),
        }
    }
}

fn unlink(folder: &OwnedFd, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn scratch(name: &str) -> Scratch {
        let mut scratch = Scratch::at(
            std::env::temp_dir().join(format!("scratch-{}-{name}", std::process::id())),
        );
        scratch.create().unwrap();
        scratch
    }

    #[test]
    fn a_folder_that_exists_is_refused_and_a_missing_one_is_gone_already() {
        let mut scratch = scratch("exists");
        assert!(scratch.create().is_err());
        assert_eq!(
            fs::metadata(scratch.path()).unwrap().permissions().mode() & 0o777,
            0o700
        );
        scratch.remove().unwrap();
        scratch.remove().unwrap();
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let outside = scratch("outside");
        fs::write(outside.path().join("kept"), "").unwrap();
        let scratch = scratch("links");
        fs::create_dir(scratch.path().join("inner")).unwrap();
        std::os::unix::fs::symlink(outside.path(), scratch.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), scratch.path().join("inner/b")).unwrap();
        scratch.remove().unwrap();
        assert!(!scratch.path().exists());
        assert!(outside.path().join("kept").exists());
        outside.remove().unwrap();
    }

    #[test]
    fn folders_nested_beyond_any_path_or_stack_are_removed() {
        let scratch = scratch("deep");
        let mut here = open_folder(CWD, scratch.path()).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = open_folder(&here, "d").unwrap();
        }
        rustix::fs::mkdirat(&here, "locked", Mode::empty()).unwrap();
        scratch.remove().unwrap();
        assert!(!scratch.path().exists());
    }

    #[test]
    fn a_leftover_is_removed_and_what_someone_holds_is_not() {
        let base = scratch("leftovers");
        let mut held = Scratch::at(base.path().join(format!("{PREFIX}held")));
        held.create().unwrap();
        let left = base.path().join(format!("{PREFIX}left"));
        fs::create_dir_all(left.join("a/b")).unwrap();
        fs::create_dir(base.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", base.path().join(format!("{PREFIX}link"))).unwrap();
        assert_eq!(remove_leftovers(base.path()).unwrap(), 1);
        assert!(held.path().exists() && !left.exists() && base.path().join("other").exists());
        let path = held.path().to_owned();
        // Closing it would not do: a test beside this one may be between its fork and its exec, with
        // a copy of the descriptor.
        rustix::fs::flock(held.held.as_deref().unwrap(), FlockOperation::Unlock).unwrap();
        assert_eq!(remove_leftovers(base.path()).unwrap(), 1);
        assert!(!path.exists());
        base.remove().unwrap();
    }

    #[test]
    fn what_a_folder_holds_is_counted_by_size_number_and_depth() {
        let scratch = scratch("count");
        assert!(!exceeds(scratch.path(), 0));
        fs::write(scratch.path().join("a"), vec![1; 100_000]).unwrap();
        assert!(!exceeds(scratch.path(), 200_000));
        assert!(exceeds(scratch.path(), 90_000));
        for number in 0..100 {
            fs::write(scratch.path().join(format!("f{number}")), "").unwrap();
        }
        assert!(exceeds(scratch.path(), 300_000));
        assert!(!exceeds(scratch.path(), 1_000_000));
        // A link counts for itself.
        std::os::unix::fs::symlink("/usr", scratch.path().join("link")).unwrap();
        assert!(!exceeds(scratch.path(), 1_000_000));
        let mut here = open_folder(CWD, scratch.path()).unwrap();
        for _ in 0..300 {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = open_folder(&here, "d").unwrap();
        }
        assert!(exceeds(scratch.path(), 1 << 30));
        scratch.remove().unwrap();
    }

    #[test]
    fn many_entries_and_taken_names_are_removed() {
        let scratch = scratch("wide");
        for number in 0..5_000 {
            fs::write(scratch.path().join(format!("f{number}")), "").unwrap();
        }
        fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        fs::create_dir_all(scratch.path().join(".moved-1/full")).unwrap();
        fs::write(scratch.path().join(".moved-2"), "").unwrap();
        scratch.remove().unwrap();
        assert!(!scratch.path().exists());
    }
}
