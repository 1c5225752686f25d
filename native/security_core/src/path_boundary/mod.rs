//! Whether a path lies inside the project, and opening it so that the answer stays true.
//!
//! A [`Boundary`] holds the project's root as an open folder. [`Boundary::resolve`] follows a path
//! part by part, symbolic links included, and refuses it the moment it would leave the root.
//! [`Boundary::open_file`] and [`Boundary::open_dir`] resolve, then open the *resolved* path below
//! the held folder with links forbidden. A link that another process swaps in between makes the
//! open fail; it can't make it go elsewhere.
//!
//! What counts as inside:
//! - a link may point anywhere inside the root, relative or absolute, through any number of other
//!   links up to a limit;
//! - `..`, in the path or in a link, may go up as far as the root. One step above is refused, even
//!   when the next parts lead back in;
//! - an absolute path is taken when it starts with the root as it was given to [`Boundary::open`]
//!   or as it is after links are followed;
//! - parts that don't exist are allowed at the end of a path, for files to be made.
//!
//! What it can't see: hard links and bind mounts look like any other entry.

pub mod lexical;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use thiserror::Error;

/// The most links followed in one path, as Linux does.
const MAX_LINKS: usize = 40;
/// How far along a path a folder of the project is looked for when the path begins outside.
const MAX_FOREIGN_PARTS: usize = 64;
/// How often an open is tried again when the path changed meanwhile.
const MAX_TRIES: usize = 8;

/// A project's root folder, held open.
#[derive(Debug)]
pub struct Boundary {
    root: OwnedFd,
    /// The root after links are followed: what resolved paths start with.
    real: PathBuf,
    /// The root as it was given, if that differs. Absolute paths may use either name.
    given: Option<PathBuf>,
    /// False when the kernel has no `openat2`, or a test says so.
    openat2: AtomicBool,
}

/// A path that lies inside the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The path from the root of the file system, without links.
    pub absolute: PathBuf,
    /// The path from the project's root, without links; empty for the root itself.
    pub relative: PathBuf,
    /// Whether something was there.
    pub exists: bool,
    /// Whether it was a folder.
    pub is_dir: bool,
}

/// Why a path is refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BoundaryError {
    /// The root itself can't be used.
    #[error("{}: {}", path.display(), self.reason())]
    Root {
        /// The root as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A NUL byte.
    #[error("{}", self.reason())]
    NulByte,
    /// The path or one of its parts is too long.
    #[error("{}", self.reason())]
    TooLong,
    /// The path leaves the root.
    #[error("{}: {}", path.display(), self.reason())]
    Outside {
        /// The path as given.
        path: PathBuf,
        /// The last link that was followed, from the root; none when the path's own text leads out.
        link: Option<PathBuf>,
    },
    /// More than 40 links, or a loop.
    #[error("{}: {}", path.display(), self.reason())]
    TooManyLinks {
        /// The path as given.
        path: PathBuf,
    },
    /// Nothing is there.
    #[error("{}: {}", path.display(), self.reason())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// A part that should be a folder is none.
    #[error("{}: {}", path.display(), self.reason())]
    NotADirectory {
        /// The path as given.
        path: PathBuf,
    },
    /// Neither a plain file nor, where a folder is asked for, a folder: a device, a socket, a pipe.
    #[error("{}: {}", path.display(), self.reason())]
    WrongType {
        /// The path as given.
        path: PathBuf,
    },
    /// The path changed again and again while it was opened.
    #[error("{}: {}", path.display(), self.reason())]
    Changing {
        /// The path as given.
        path: PathBuf,
    },
    /// Another error of the file system.
    #[error("{}: {}", path.display(), self.reason())]
    Io {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl BoundaryError {
    /// The name that crosses to other languages.
    pub fn kind(&self) -> &'static str {
        match self {
            BoundaryError::Root { .. } => "invalid_root",
            BoundaryError::NulByte => "nul_byte",
            BoundaryError::TooLong => "too_long",
            BoundaryError::Outside { .. } => "outside",
            BoundaryError::TooManyLinks { .. } => "too_many_links",
            BoundaryError::NotFound { .. } => "not_found",
            BoundaryError::NotADirectory { .. } => "not_a_directory",
            BoundaryError::WrongType { .. } => "wrong_type",
            BoundaryError::Changing { .. } => "changing",
            BoundaryError::Io { .. } => "io",
        }
    }

    /// What is wrong with the path, for people, without the path itself.
    pub fn reason(&self) -> String {
        match self {
            BoundaryError::Root { source, .. } | BoundaryError::Io { source, .. } => {
                source.to_string()
            }
            BoundaryError::Outside {
                link: Some(link), ..
            } => format!("the link {} leads out of the project", link.display()),
            BoundaryError::Outside { link: None, .. } => "it leads out of the project".into(),
            BoundaryError::NulByte => "a path can't have a NUL byte".into(),
            BoundaryError::TooLong => "the path or a part of it is too long".into(),
            BoundaryError::TooManyLinks { .. } => {
                format!("more than {MAX_LINKS} links, or links in a circle")
            }
            BoundaryError::NotFound { .. } => "not found".into(),
            BoundaryError::NotADirectory { .. } => "not a folder".into(),
            BoundaryError::WrongType { .. } => "neither a file nor a folder".into(),
            BoundaryError::Changing { .. } => "it changed again and again meanwhile".into(),
        }
    }
}

type Result<T> = std::result::Result<T, Box<BoundaryError>>;

impl Boundary {
    /// Opens a project's root. The folder is held, so it may be renamed afterwards; what is inside
    /// stays what was inside.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        let given = root.as_ref();
        let failed = |source: io::Error| BoundaryError::Root {
            path: given.to_owned(),
            source,
        };
        if given.as_os_str().as_bytes().contains(&0) {
            return Err(BoundaryError::NulByte.into());
        }
        let real = std::fs::canonicalize(given).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let root =
            rustix::fs::openat(CWD, &real, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let given = std::path::absolute(given).map_err(failed)?;
        Ok(Boundary {
            root,
            given: (given != real).then_some(given),
            real,
            openat2: AtomicBool::new(true),
        })
    }

    /// The root, without links.
    pub fn root(&self) -> &Path {
        &self.real
    }

    /// The held root folder, for callers that open things below it themselves.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Opens part by part from now on, as on a kernel without `openat2`.
    pub fn without_openat2(self) -> Self {
        self.openat2.store(false, Ordering::Relaxed);
        self
    }

    /// Follows a path and answers where it leads inside the project. The answer holds at this
    /// moment only: to use what is there, open it with this type.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<Resolved> {
        let path = path.as_ref();
        let bytes = path.as_os_str().as_bytes();
        if bytes.contains(&0) {
            return Err(BoundaryError::NulByte.into());
        }
        if bytes.len() > lexical::MAX_PATH_BYTES {
            return Err(BoundaryError::TooLong.into());
        }
        Walk::new(self, path).run()
    }

    /// Like [`resolve`](Self::resolve), but an absolute path may also come to the project by links
    /// that lie outside it, as `/link/lib/a.ex` does where `/link` leads to the root.
    ///
    /// What comes before the project is followed once, for the place below the root that it names.
    /// Use the answer, not the path: a link outside may lead elsewhere the next time.
    pub fn resolve_by_any_name(&self, path: impl AsRef<Path>) -> Result<Resolved> {
        let path = path.as_ref();
        match self.resolve(path) {
            Err(refused) if matches!(*refused, BoundaryError::Outside { link: None, .. }) => {
                let named = self.own_name(path);
                named.map_or(Err(refused), |named| self.resolve(named))
            }
            answer => answer,
        }
    }

    /// An absolute path by the root's own name, where a folder on its way lies in the project.
    fn own_name(&self, path: &Path) -> Option<PathBuf> {
        let below = path.as_os_str().as_bytes().strip_prefix(b"/")?;
        let parts: Vec<&[u8]> = below.split(|&b| b == b'/').collect();
        let mut way = PathBuf::from("/");
        for (index, part) in parts.iter().take(MAX_FOREIGN_PARTS).enumerate() {
            match *part {
                b"" | b"." => continue,
                b".." => return None,
                name => way.push(OsStr::from_bytes(name)),
            }
            let real = way.canonicalize().ok()?;
            if strip_root(real.as_os_str().as_bytes(), &self.real).is_some() {
                let mut named = real.into_os_string();
                for part in &parts[index + 1..] {
                    named.push("/");
                    named.push(OsStr::from_bytes(part));
                }
                return Some(named.into());
            }
        }
        None
    }

    /// Opens a plain file for reading.
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        // Opening a pipe would wait for a writer without NONBLOCK; on a plain file the flag means
        // nothing.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.open_resolved(path, flags)?);
        let is_file = file
            .metadata()
            .map_err(|source| io_error(path, source))?
            .is_file();
        if is_file {
            Ok(file)
        } else {
            Err(BoundaryError::WrongType {
                path: path.to_owned(),
            }
            .into())
        }
    }

    /// Opens a folder.
    pub fn open_dir(&self, path: impl AsRef<Path>) -> Result<OwnedFd> {
        self.open_resolved(path.as_ref(), OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The race, and why it is harmless:
    /// 1. `resolve` answers a path without links.
    /// 2. Someone replaces a part of that path by a link that leads out.
    /// 3. The open below follows no link at all, so it fails with `ELOOP` or `ENOTDIR` (`EXDEV` or
    ///    `EAGAIN` when a folder is moved during it), and the path is resolved again, where the new
    ///    link is seen.
    fn open_resolved(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        for _ in 0..MAX_TRIES {
            let resolved = self.resolve(path)?;
            if !resolved.exists {
                return Err(BoundaryError::NotFound {
                    path: path.to_owned(),
                }
                .into());
            }
            if flags.contains(OFlags::DIRECTORY) && !resolved.is_dir {
                return Err(BoundaryError::NotADirectory {
                    path: path.to_owned(),
                }
                .into());
            }
            match self.open_plain(
                &resolved.relative,
                flags | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            ) {
                Ok(fd) => return Ok(fd),
                Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::AGAIN | Errno::NOENT) => {}
                // A socket, or a device without a driver.
                Err(Errno::NXIO | Errno::NODEV) => {
                    return Err(BoundaryError::WrongType {
                        path: path.to_owned(),
                    }
                    .into());
                }
                Err(errno) => return Err(io_error(path, errno.into())),
            }
        }
        Err(BoundaryError::Changing {
            path: path.to_owned(),
        }
        .into())
    }

    fn open_plain(&self, relative: &Path, flags: OFlags) -> std::result::Result<OwnedFd, Errno> {
        let relative = if relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            relative
        };
        if self.openat2.load(Ordering::Relaxed) {
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.root, relative, flags, Mode::empty(), resolve) {
                // An old kernel says ENOSYS; a sandbox that filters system calls may say EPERM,
                // which openat2 itself does not answer to an open without O_NOATIME.
                Err(Errno::NOSYS | Errno::PERM) => self.openat2.store(false, Ordering::Relaxed),
                other => return other,
            }
        }
        open_part_by_part(self.root.as_fd(), relative, flags)
    }
}

/// Opens each folder on the way below the one before, following no link.
fn open_part_by_part(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> std::result::Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = relative.components().peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let name: &OsStr = match part {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            // A resolved path has none of these.
            _ => return Err(Errno::XDEV),
        };
        let here = at.as_ref().map_or(root, OwnedFd::as_fd);
        let flags = if parts.peek().is_some() { step } else { flags };
        at = Some(rustix::fs::openat(here, name, flags, Mode::empty())?);
    }
    at.ok_or(Errno::NOENT)
}

/// One walk along a path. Parts still to do are on a stack, so links within links need no
/// recursion.
struct Walk<'a> {
    boundary: &'a Boundary,
    original: &'a Path,
    /// Where we are, from the root; no links in it.
    at: PathBuf,
    /// What is there.
    found: Found,
    /// The parts to do, the next one last.
    todo: Vec<OsString>,
    links: usize,
    last_link: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Directory,
    Other,
    /// Nothing, so nothing can be below it either.
    Missing,
}

impl<'a> Walk<'a> {
    fn new(boundary: &'a Boundary, original: &'a Path) -> Self {
        Walk {
            boundary,
            original,
            at: PathBuf::new(),
            found: Found::Directory,
            todo: Vec::new(),
            links: 0,
            last_link: None,
        }
    }

    fn run(mut self) -> Result<Resolved> {
        self.push(self.original)?;
        while let Some(part) = self.todo.pop() {
            match (part.as_bytes(), self.found) {
                (_, Found::Other) => {
                    return Err(BoundaryError::NotADirectory {
                        path: self.original.to_owned(),
                    }
                    .into());
                }
                // Where a missing part would lead is anyone's guess.
                (b"..", Found::Missing) => {
                    return Err(BoundaryError::NotFound {
                        path: self.original.to_owned(),
                    }
                    .into());
                }
                (b"" | b".", _) => {}
                (b"..", Found::Directory) => {
                    if !self.at.pop() {
                        return Err(self.outside());
                    }
                }
                (_, Found::Missing) => self.at.push(&part),
                (_, Found::Directory) => self.enter(&part)?,
            }
        }
        Ok(Resolved {
            // Joining an empty path would add a slash.
            absolute: self
                .boundary
                .real
                .components()
                .chain(self.at.components())
                .collect(),
            relative: self.at,
            exists: self.found != Found::Missing,
            is_dir: self.found == Found::Directory,
        })
    }

    /// Puts the parts of the path, or of a link's target, before those still to do.
    fn push(&mut self, path: &Path) -> Result<()> {
        let bytes = path.as_os_str().as_bytes();
        let rest = if bytes.starts_with(b"/") {
            let names = [Some(&self.boundary.real), self.boundary.given.as_ref()];
            let below = names
                .into_iter()
                .flatten()
                .find_map(|root| strip_root(bytes, root));
            let below = below.ok_or_else(|| self.outside())?;
            self.at = PathBuf::new();
            below
        } else {
            bytes
        };
        // Not Path::components: it drops a last `.` or slash, and `file/.` must fail where `file`
        // does not.
        let parts = rest.split(|&b| b == b'/').rev();
        self.todo
            .extend(parts.map(|part| OsStr::from_bytes(part).to_owned()));
        Ok(())
    }

    fn enter(&mut self, part: &OsStr) -> Result<()> {
        let next = self.at.join(part);
        match rustix::fs::statat(&self.boundary.root, &next, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => return self.follow(next),
                FileType::Directory => {}
                _ => self.found = Found::Other,
            },
            Err(Errno::NOENT) => self.found = Found::Missing,
            Err(Errno::NAMETOOLONG) => return Err(BoundaryError::TooLong.into()),
            Err(errno) => return Err(io_error(self.original, errno.into())),
        }
        self.at = next;
        Ok(())
    }

    fn follow(&mut self, link: PathBuf) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(BoundaryError::TooManyLinks {
                path: self.original.to_owned(),
            }
            .into());
        }
        let target = rustix::fs::readlinkat(&self.boundary.root, &link, Vec::new())
            .map_err(|errno| io_error(self.original, errno.into()))?;
        self.last_link = Some(link);
        self.push(Path::new(OsStr::from_bytes(target.as_bytes())))
    }

    fn outside(&self) -> Box<BoundaryError> {
        Box::new(BoundaryError::Outside {
            path: self.original.to_owned(),
            link: self.last_link.clone(),
        })
    }
}

/// The rest of an absolute path below `root`, compared part by part: `/project-evil` is not below
/// `/project`.
fn strip_root<'a>(path: &'a [u8], root: &Path) -> Option<&'a [u8]> {
    let root = root.as_os_str().as_bytes();
    let rest = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(root))?;
    (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
}

fn io_error(path: &Path, source: io::Error) -> Box<BoundaryError> {
    Box::new(BoundaryError::Io {
        path: path.to_owned(),
        source,
    })
}
