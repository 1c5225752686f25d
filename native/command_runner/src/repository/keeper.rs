//! Compares what controls git before and after, and puts back what was changed.
//!
//! A bind mount falls off a file that somebody renames over from outside, and without namespaces
//! there is none: so no promise rests on mounts alone. What a command left instead is kept beside
//! it under another name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::paths;

/// Larger files than any configuration or hook; one that grows past it counts as changed.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Hooks and what they use lie less deep, and are fewer.
const DEEPEST: usize = 6;
const MOST: usize = 4096;

/// What lies at a path.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Nothing,
    /// Its permissions and bytes.
    File(u32, Vec<u8>),
    /// What it leads to. Git follows it, so one that was not there is a change like any other.
    Link(PathBuf),
    /// Its device and number.
    Folder(u64, u64),
    /// None of these, or behind a link.
    Other,
}

/// What was there before.
pub struct Keeper {
    files: Vec<(PathBuf, Content)>,
    folders: Vec<(PathBuf, Vec<OsString>)>,
}

impl Keeper {
    /// Remembers these files, and all that lies in those that are folders; and what the `entries`
    /// are, without what lies in them.
    pub fn of(control: &[PathBuf], entries: &[PathBuf]) -> Self {
        let mut keeper = Self {
            files: Vec::new(),
            folders: Vec::new(),
        };
        for path in control {
            keeper.remember(path, DEEPEST);
        }
        for path in entries {
            keeper.files.push((path.clone(), content(path)));
        }
        keeper
    }

    fn remember(&mut self, path: &Path, depth: usize) {
        if depth > 0 && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
            let names = names(path);
            for name in &names {
                self.remember(&path.join(name), depth - 1);
            }
            self.folders.push((path.to_owned(), names));
        } else if self.files.len() < MOST {
            self.files.push((path.to_owned(), content(path)));
        }
    }

    /// Puts back what differs; a sentence for each.
    pub fn restore(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (folder, before) in &self.folders {
            for name in names(folder).iter().filter(|name| !before.contains(name)) {
                tell(
                    &mut told,
                    &folder.join(name),
                    put_back(&folder.join(name), &Content::Nothing),
                );
            }
        }
        for (file, before) in &self.files {
            if content(file) != *before {
                tell(&mut told, file, put_back(file, before));
            }
        }
        told
    }
}

fn tell(told: &mut Vec<String>, path: &Path, done: io::Result<()>) {
    let path = path.display();
    told.push(match done {
        Ok(()) => format!("{path} controls git and was changed; it was restored"),
        Err(error) => format!("{path} controls git and was changed; it can't be restored: {error}"),
    });
}

fn names(folder: &Path) -> Vec<OsString> {
    // Behind a link the right bytes would be no comfort.
    let Ok(folder) = paths::open(folder, OFlags::DIRECTORY) else {
        return Vec::new();
    };
    let entries = rustix::fs::Dir::read_from(&folder)
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<OsString> = entries
        .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name != "." && name != "..")
        .collect();
    names.sort();
    names
}

/// What is there itself, without waiting for a file that isn't plain.
fn content(path: &Path) -> Content {
    match paths::open(path, OFlags::RDONLY) {
        Ok(file) => plain(File::from(file)).unwrap_or(Content::Other),
        Err(Errno::NOENT | Errno::NOTDIR) => Content::Nothing,
        Err(_) => link(path).unwrap_or(Content::Other),
    }
}

fn plain(file: File) -> Option<Content> {
    let metadata = file.metadata().ok()?;
    if metadata.is_dir() {
        return Some(Content::Folder(metadata.dev(), metadata.ino()));
    }
    if !metadata.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(Content::File(metadata.permissions().mode(), bytes))
}

fn link(path: &Path) -> Option<Content> {
    let link = paths::open(path, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
    let target = rustix::fs::readlinkat(&link, "", Vec::new()).ok()?;
    Some(Content::Link(OsStr::from_bytes(target.to_bytes()).into()))
}

fn open(at: impl std::os::fd::AsFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

fn put_back(path: &Path, before: &Content) -> io::Result<()> {
    let (parent, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
    let parent = match folder(parent) {
        Err(Errno::NOENT) if *before == Content::Nothing => return Ok(()),
        opened => opened?,
    };
    set_aside(&parent, name)?;
    match before {
        Content::Nothing => Ok(()),
        Content::File(mode, bytes) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(mode & 0o777);
            let mut file = File::from(rustix::fs::openat(&parent, name, flags, mode)?);
            file.write_all(bytes)?;
            Ok(rustix::fs::fchmod(&file, mode)?)
        }
        Content::Link(target) => Ok(rustix::fs::symlinkat(target, &parent, name)?),
        Content::Folder(..) => Err(io::Error::other("the folder that was there has been moved")),
        Content::Other => Err(io::Error::other("it was neither a file nor a link")),
    }
}

/// Opens a folder without following a link at any place; one that stands in the way is set aside
/// for a new folder.
fn folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let mut here = open(CWD, Path::new("/"), OFlags::DIRECTORY)?;
    for name in path.components().skip(1) {
        let name = name.as_os_str();
        here = match open(&here, Path::new(name), OFlags::DIRECTORY) {
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => {
                set_aside(&here, name)?;
                rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o755))?;
                open(&here, Path::new(name), OFlags::DIRECTORY)?
            }
            opened => opened?,
        };
    }
    Ok(here)
}

fn set_aside(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    for number in 1..1000 {
        let mut other = name.to_owned();
        other.push(format!(".set-aside-{number}"));
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(folder, name, folder, &other, flags) {
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(()),
            // Its permissions stay: it may be a link, and what that leads to is nobody's business
            // here.
            renamed => return renamed,
        }
    }
    Err(Errno::EXIST)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn changed_added_removed_and_linked_are_put_back() {
        let git = std::env::temp_dir().join(format!("keeper-{}", std::process::id()));
        let _ = fs::remove_dir_all(&git);
        fs::create_dir_all(git.join("hooks")).unwrap();
        let git = git.canonicalize().unwrap();
        fs::write(git.join("config"), "good").unwrap();
        fs::write(git.join("hooks/pre-commit"), "good").unwrap();
        symlink("config", git.join("config.worktree")).unwrap();
        let names = [
            "config",
            "hooks",
            "commondir",
            "info/attributes",
            "config.worktree",
        ];
        let control = names.map(|name| git.join(name));
        let keeper = Keeper::of(&control, &[]);
        assert_eq!(keeper.restore(), Vec::<String>::new());

        let victim = git.join("victim");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        fs::write(&victim, "kept").unwrap();
        fs::remove_file(git.join("config")).unwrap();
        symlink(&victim, git.join("config")).unwrap();
        symlink(&victim, git.join("commondir")).unwrap();
        symlink(git.join("hooks"), git.join("info")).unwrap();
        fs::remove_file(git.join("config.worktree")).unwrap();
        fs::write(git.join("config.worktree"), "bad").unwrap();
        fs::rename(git.join("hooks"), git.join("moved")).unwrap();
        symlink(git.join("moved"), git.join("hooks")).unwrap();
        fs::write(git.join("moved/post-checkout"), "bad").unwrap();
        let before = [mode(&victim), mode(&git.join("moved"))];
        assert!(keeper.restore().len() >= 3);
        assert_eq!([mode(&victim), mode(&git.join("moved"))], before);

        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "good");
        for name in ["commondir", "info/attributes"] {
            assert!(fs::symlink_metadata(git.join(name)).is_err(), "{name}");
        }
        assert_eq!(
            fs::read_link(git.join("config.worktree")).unwrap(),
            Path::new("config")
        );
        assert_eq!(
            fs::read_to_string(git.join("hooks/pre-commit")).unwrap(),
            "good"
        );
        assert!(!git.join("hooks").is_symlink());
        assert!(!git.join("hooks/post-checkout").exists());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        assert_eq!(keeper.restore(), Vec::<String>::new());
        fs::remove_dir_all(&git).unwrap();
    }
}
