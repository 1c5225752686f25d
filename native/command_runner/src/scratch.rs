//! The private temporary folder of a command: made before it, removed after its last process is
//! gone.

use std::ffi::{CStr, CString};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A folder that only this command's user may enter.
#[derive(Clone)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Names a folder without making it.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it. A folder that exists already is refused: someone else may have laid it there.
    pub fn create(&self) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(&self.path)
    }

    /// Removes it with all that is in it.
    ///
    /// A command may have nested folders deeper than any stack or descriptor table, so nothing
    /// recurses: folders found inside a folder are moved up beside it, until all are at the top and
    /// empty.
    pub fn remove(&self) -> io::Result<()> {
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
                break;
            }
        }
        Ok(rustix::fs::rmdir(&self.path)?)
    }
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
        let scratch = Scratch::at(
            std::env::temp_dir().join(format!("scratch-{}-{name}", std::process::id())),
        );
        scratch.create().unwrap();
        scratch
    }

    #[test]
    fn a_folder_that_exists_is_refused_and_a_missing_one_is_gone_already() {
        let scratch = scratch("exists");
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
