//! Where a search may read: the project's root, and the part of it that is searched.

use crate::error::Error;
#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The root, held open, and the place under it where a search starts, links resolved.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) base: PathBuf,
    pub(crate) is_file: bool,
    root_fd: OwnedFd,
    openat2: bool,
}

#[cfg(target_os = "linux")]
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

impl Place {
    pub(crate) fn resolve(root: &Path, path: &Path) -> Result<Place, Error> {
        let root = root.canonicalize().map_err(|_| Error::Root)?;
        let root_fd = rustix::fs::open(
            &root,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|_| Error::Root)?;
        let base = resolve_base(&root, path)?;
        let kind = base
            .symlink_metadata()
            .map_err(|error| refused(&error))?
            .file_type();
        if !kind.is_dir() && !kind.is_file() {
            return Err(Error::NotSearchable);
        }
        // Old kernels lack the call and some sandboxes forbid it; either shows at the first use.
        let openat2 = openat2(&root_fd, Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY).is_ok();
        Ok(Place {
            root,
            base,
            is_file: kind.is_file(),
            root_fd,
            openat2,
        })
    }

    /// The path relative to the root; `None` for what is not beneath it.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let root = self.root.as_os_str().as_bytes();
        let rest = path.as_os_str().as_bytes().strip_prefix(root)?;
        let rest = if root.ends_with(b"/") {
            rest
        } else {
            rest.strip_prefix(b"/")?
        };
        Some(Path::new(OsStr::from_bytes(rest)))
    }

    /// Opens the regular file at `relative`, following no link on the way, and tells its size. A
    /// pipe or a device that took the file's place since it was listed is refused and never waited
    /// for.
    pub(crate) fn open(&self, relative: &Path) -> io::Result<(File, u64)> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = if self.openat2 {
            openat2(&self.root_fd, relative, flags)?
        } else {
            self.open_by_steps(relative, flags)?
        };
        let file = File::from(fd);
        let metadata = file.metadata()?;
        if metadata.is_file() {
            Ok((file, metadata.len()))
        } else {
            Err(io::Error::other("not a regular file"))
        }
    }

    fn open_by_steps(&self, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let mut names = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push(name),
                _ => return Err(Errno::XDEV.into()),
            }
        }
        let (file, directories) = names.split_last().ok_or(Errno::ISDIR)?;
        let step = OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut parent: Option<OwnedFd> = None;
        for name in directories {
            let at = parent.as_ref().unwrap_or(&self.root_fd);
            parent = Some(rustix::fs::openat(
                at,
                *name,
                step | OFlags::DIRECTORY,
                Mode::empty(),
            )?);
        }
        let at = parent.as_ref().unwrap_or(&self.root_fd);
        Ok(rustix::fs::openat(at, *file, step | flags, Mode::empty())?)
    }
}

#[cfg(target_os = "linux")]
fn openat2(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    // The kernel answers EAGAIN when a rename somewhere raced with the resolution of `..`; without
    // any `..` in the path a few attempts are plenty.
    for _ in 0..8 {
        match rustix::fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), RESOLVE) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
    Err(Errno::AGAIN.into())
}

#[cfg(not(target_os = "linux"))]
fn openat2(_root: &OwnedFd, _path: &Path, _flags: OFlags) -> io::Result<OwnedFd> {
    Err(Errno::NOSYS.into())
}

fn resolve_base(root: &Path, path: &Path) -> Result<PathBuf, Error> {
    if path.as_os_str().as_bytes().contains(&0) {
        return Err(Error::NotFound);
    }
    let typed = root.join(path);
    let lexical = lexically_normal(&typed).ok_or(Error::Outside)?;
    // An absolute path is often typed by the root's name before its links were resolved; only the
    // resolved path decides about those.
    if path.is_relative() && !lexical.starts_with(root) {
        return Err(Error::Outside);
    }
    match typed.canonicalize() {
        Ok(resolved) if resolved.starts_with(root) => Ok(resolved),
        Ok(_) => Err(Error::Outside),
        // What exists outside is not told apart from what doesn't.
        Err(_)
            if !deepest_existing(&lexical).is_some_and(|existing| existing.starts_with(root)) =>
        {
            Err(Error::Outside)
        }
        Err(error) => Err(refused(&error)),
    }
}

fn deepest_existing(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .skip(1)
        .find_map(|ancestor| ancestor.canonicalize().ok())
}

/// The path with `.` and `..` worked out on its text; `None` when `..` would leave the file
/// system's root.
fn lexically_normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if normal.parent().is_none() => return None,
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    Some(normal)
}

fn refused(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::NotFound,
        _ => Error::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    /// A project with a file, a directory link and a file link that lead out, and a pipe.
    fn project(name: &str) -> PathBuf {
        let parent = std::env::temp_dir().join(format!("place-{}-{name}", std::process::id()));
        let root = parent.join("project");
        fs::create_dir_all(root.join("lib/deep")).unwrap();
        fs::create_dir_all(parent.join("outside")).unwrap();
        fs::write(root.join("lib/deep/a"), "inside").unwrap();
        fs::write(parent.join("outside/a"), "outside").unwrap();
        symlink("../outside", root.join("swapped")).unwrap();
        symlink("deep", root.join("lib/same")).unwrap();
        symlink("../../outside/a", root.join("lib/a")).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        root
    }

    /// What was listed as a directory or a file may be a link by the time it is opened.
    fn check_opening(openat2: bool, root: &Path) {
        let mut place = Place::resolve(root, Path::new(".")).unwrap();
        place.openat2 &= openat2;
        let (mut file, size) = place.open(Path::new("lib/deep/a")).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("inside", 6));
        let refused = [
            "swapped/a",
            "lib/a",
            "lib/same/a",
            "../outside/a",
            "/etc/passwd",
            "pipe",
            "lib",
            "lib/nothing",
            "",
            ".",
        ];
        for path in refused {
            assert!(
                place.open(Path::new(path)).is_err(),
                "{path}, openat2: {}",
                place.openat2
            );
        }
        fs::remove_dir_all(root.parent().unwrap()).unwrap();
    }

    #[test]
    fn nothing_is_opened_through_a_link() {
        check_opening(true, &project("openat2"));
    }

    #[test]
    fn nor_where_the_kernel_cannot_resolve_beneath() {
        check_opening(false, &project("steps"));
    }

    #[test]
    fn relative_paths_are_taken_by_whole_names() {
        let root = project("relative");
        let place = Place::resolve(&root, Path::new("lib")).unwrap();
        let inside = place.root.join("lib/deep/a");
        assert_eq!(place.relative(&inside), Some(Path::new("lib/deep/a")));
        let evil = PathBuf::from(format!("{}-evil/a", place.root.display()));
        assert_eq!(place.relative(&evil), None);
        assert_eq!(place.relative(&place.root), None);
        fs::remove_dir_all(root.parent().unwrap()).unwrap();
    }
}
