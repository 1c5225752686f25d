//! Makes the planned mounts, in the mount namespace of the process that will be the first of the
//! fence.
//!
//! Sources are opened below the old root and targets below the new one, by the kernel's own
//! resolution. A source that holds a link anywhere in its path was changed since it was planned,
//! and is refused: a command that runs at the same time can swap folders of the project for links,
//! but can't have something else mounted for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};

use super::mounts::{Mount, What};

const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// An error with the place that it is about.
pub type Failure = (String, io::Error);

fn at(place: impl AsRef<Path>) -> impl FnOnce(Errno) -> Failure {
    let place = place.as_ref().display().to_string();
    move |error| (place, error.into())
}

/// Both roots while the new one is made.
pub struct Roots {
    old: OwnedFd,
    new: OwnedFd,
    /// A folder inside whose contents other commands make as well.
    shared: Option<PathBuf>,
}

impl Roots {
    /// Leaves the old root below a root in memory, where the new one is made: empty, or as the old
    /// one but read-only. `aside` is a folder of the runner's own, used as a mount point.
    pub fn prepare(aside: &Path, everything: bool) -> Result<Self, Failure> {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", private).map_err(at("/"))?;
        let base = memory(16 * 1024, "0755").map_err(at("a root in memory"))?;
        let place = open(rustix::fs::CWD, aside, ResolveFlags::empty()).map_err(at(aside))?;
        attach(&base, &place).map_err(at(aside))?;
        for name in ["old", "new"] {
            rustix::fs::mkdirat(&base, name, Mode::from_raw_mode(0o755)).map_err(at(name))?;
        }
        rustix::process::fchdir(&base).map_err(at(aside))?;
        rustix::process::pivot_root(".", "old").map_err(at("the new root"))?;
        let old = open(rustix::fs::CWD, Path::new("/old"), ResolveFlags::empty());
        let old = old.map_err(at("/"))?;
        let root = if everything {
            let tree = clone_tree(&old).map_err(at("/"))?;
            set_attributes(&tree, ATTR_READ, true).map_err(at("/"))?;
            tree
        } else {
            memory(64 * 1024, "0755").map_err(at("a root in memory"))?
        };
        let new = open(rustix::fs::CWD, Path::new("/new"), ResolveFlags::empty());
        attach(&root, &new.map_err(at("/new"))?).map_err(at("/new"))?;
        Ok(Self {
            old,
            new: root,
            shared: None,
        })
    }

    /// Follows no link below this folder inside: other commands of the session write there.
    pub fn shares(&mut self, folder: PathBuf) {
        self.shared = Some(folder);
    }

    /// Whether a place is inside the shared folder.
    pub fn is_shared(&self, path: &Path) -> bool {
        let shared = self.shared.as_deref();
        shared.is_some_and(|shared| path != shared && path.starts_with(shared))
    }

    /// What lies outside at those of the places that are below the shared folder.
    pub fn exposed(&self, paths: &[&[PathBuf]]) -> Result<Vec<Exposed>, Failure> {
        let identify = |path: &PathBuf| {
            let file = self.source(path).and_then(rustix::fs::fstat);
            Ok(Exposed {
                path: path.clone(),
                file: file
                    .map(|file| (file.st_dev, file.st_ino))
                    .map_err(at(path))?,
            })
        };
        let paths = paths.iter().copied().flatten();
        paths
            .filter(|path| self.is_shared(path))
            .map(identify)
            .collect()
    }

    /// Makes one mount.
    pub fn make(&self, mount: &Mount) -> Result<(), Failure> {
        self.make_at(mount).map_err(at(&mount.at))
    }

    fn make_at(&self, mount: &Mount) -> rustix::io::Result<()> {
        match &mount.what {
            What::Bind { from, writable } => {
                let source = match self.source(from) {
                    // It went away since; then there is nothing to show.
                    Err(Errno::NOENT) => return Ok(()),
                    source => source?,
                };
                let tree = clone_tree(&source)?;
                let lock = if *writable { ATTR_WRITABLE } else { ATTR_READ };
                set_attributes(&tree, lock, true)?;
                attach(&tree, &self.target(&mount.at, is_folder(&source)?)?)
            }
            What::Memory(bytes) => {
                let mode = if mount.at == Path::new("/tmp") || mount.at == Path::new("/dev/shm") {
                    "1777"
                } else {
                    "0700"
                };
                attach(&memory(*bytes, mode)?, &self.target(&mount.at, true)?)
            }
            What::Processes => {
                let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
                    | MountAttrFlags::MOUNT_ATTR_NOSUID
                    | MountAttrFlags::MOUNT_ATTR_NODEV
                    | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                attach(
                    &file_system("proc", &[], attributes)?,
                    &self.target(&mount.at, true)?,
                )
            }
            What::Devices => self.devices(&mount.at),
            What::Link(to) => {
                let (folder, name) = self.beside(&mount.at)?;
                match rustix::fs::symlinkat(to, &folder, name) {
                    // The folder around it is as it is outside.
                    Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS) => Ok(()),
                    made => made,
                }
            }
            What::Folder => self.target(&mount.at, true).map(drop),
        }
    }

    /// A place outside, read-only, to be put somewhere later.
    pub fn read_only(&self, path: &Path) -> Result<OwnedFd, Failure> {
        let tree = || {
            let tree = clone_tree(&self.source(path)?)?;
            set_attributes(&tree, ATTR_READ, true)?;
            Ok(tree)
        };
        tree().map_err(at(path))
    }

    fn source(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        open(
            &self.old,
            path,
            ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS,
        )
    }

    fn devices(&self, place: &Path) -> rustix::io::Result<()> {
        let folder = memory(64 * 1024, "0755")?;
        let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::mkdirat(&folder, "shm", Mode::from_raw_mode(0o1777))?;
        for (name, target) in DEVICE_LINKS {
            rustix::fs::symlinkat(target, &folder, name)?;
        }
        for name in DEVICES {
            rustix::fs::openat(&folder, name, create, Mode::from_raw_mode(0o644))?;
        }
        attach(&folder, &self.target(place, true)?)?;
        for name in DEVICES {
            let tree = clone_tree(&self.source(&Path::new("/dev").join(name))?)?;
            set_attributes(&tree, ATTR_DEVICE, false)?;
            let target = open(&self.new, &place.join(name), ResolveFlags::IN_ROOT)?;
            attach(&tree, &target)?;
        }
        Ok(())
    }

    /// The place of a mount, made where it is missing.
    fn target(&self, path: &Path, folder: bool) -> rustix::io::Result<OwnedFd> {
        let resolve = if self.is_shared(path) {
            ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS
        } else {
            ResolveFlags::IN_ROOT
        };
        match open(&self.new, path, resolve) {
            Err(Errno::NOENT) => {}
            opened => return opened,
        }
        if path.parent().is_some() {
            let (parent, name) = self.beside(path)?;
            if folder {
                rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
            } else {
                let create = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(&parent, name, create, Mode::from_raw_mode(0o644))?;
            }
        }
        open(&self.new, path, resolve)
    }

    fn beside<'a>(&self, path: &'a Path) -> rustix::io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        Ok((self.target(parent, true)?, name))
    }

    /// Makes the new root the only one.
    pub fn enter(self) -> Result<(), Failure> {
        // Nothing more is made in the root itself, /dev and what was made for mount points.
        for place in ["/", "/dev"] {
            let place = open(&self.new, Path::new(place), ResolveFlags::IN_ROOT);
            let place = place.map_err(at("/"))?;
            set_attributes(&place, ATTR_READ, false).map_err(at("/"))?;
        }
        rustix::process::fchdir(&self.new).map_err(at("/"))?;
        drop(self);
        rustix::process::pivot_root(".", ".").map_err(at("the new root"))?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(at("the old root"))?;
        rustix::process::chdir("/").map_err(at("/"))
    }
}

/// A place that must be read-only, in a folder where commands that run at the same time may move
/// what it lies in.
pub struct Exposed {
    path: PathBuf,
    /// Device and number of what must be there.
    file: (u64, u64),
}

/// Looks whether each is still what it was, and read-only. What has been moved before it was
/// covered is not at its place now, or is there uncovered; moved later its cover goes with it.
pub fn verify(exposed: &[Exposed]) -> Result<(), Failure> {
    for Exposed { path, file } in exposed {
        let look = || {
            let place = open(rustix::fs::CWD, path, ResolveFlags::NO_SYMLINKS)?;
            let stat = rustix::fs::fstat(&place)?;
            let read_only = rustix::fs::fstatvfs(&place)?
                .f_flag
                .contains(rustix::fs::StatVfsMountFlags::RDONLY);
            if read_only && (stat.st_dev, stat.st_ino) == *file {
                Ok(())
            } else {
                Err(Errno::STALE)
            }
        };
        look().map_err(at(path))?;
    }
    Ok(())
}

/// Lays a file system in memory over a folder of the running namespace, of this many bytes at most,
/// which anyone inside may write.
pub fn remember(folder: &Path, bytes: u64) -> Result<(), Failure> {
    memory(bytes, "1777")
        .and_then(|tree| {
            attach(
                &tree,
                &open(rustix::fs::CWD, folder, ResolveFlags::empty())?,
            )
        })
        .map_err(at(folder))
}

/// Covers a place of the running namespace with itself, read-only if not writable.
pub fn cover(path: &Path, writable: bool) -> Result<(), Failure> {
    let tree = copy(path)?;
    let lock = if writable { ATTR_WRITABLE } else { ATTR_READ };
    set_attributes(&tree, lock, true).map_err(at(path))?;
    put(path, &tree)
}

/// What is mounted at a place of the running namespace now, to be put somewhere later.
pub fn copy(path: &Path) -> Result<OwnedFd, Failure> {
    open(rustix::fs::CWD, path, ResolveFlags::NO_SYMLINKS)
        .and_then(|place| clone_tree(&place))
        .map_err(at(path))
}

/// Lays such a copy over a place of the running namespace.
pub fn put(path: &Path, tree: &OwnedFd) -> Result<(), Failure> {
    open(rustix::fs::CWD, path, ResolveFlags::NO_SYMLINKS)
        .and_then(|place| attach(tree, &place))
        .map_err(at(path))
}

fn open(at: impl AsFd, path: &Path, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(at, path, flags, Mode::empty(), resolve)
}

fn is_folder(file: &OwnedFd) -> rustix::io::Result<bool> {
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode);
    Ok(kind == rustix::fs::FileType::Directory)
}

fn memory(bytes: u64, mode: &str) -> rustix::io::Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    // Small files take a page each; folders and links count as files.
    let files = (bytes / 4096).max(512).to_string();
    let options = [
        ("size", bytes.to_string().as_str()),
        ("mode", mode),
        ("nr_inodes", &files),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    file_system("tmpfs", &options, attributes)
}

fn file_system(
    kind: &str,
    options: &[(String, String)],
    attributes: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(context.as_fd(), name.as_str(), value.as_str())?;
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn clone_tree(source: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(source, "", flags)
}

fn attach(mount: &OwnedFd, target: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", target, "", flags)
}

const ATTR_WRITABLE: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const ATTR_READ: MountAttrFlags = ATTR_WRITABLE.union(MountAttrFlags::MOUNT_ATTR_RDONLY);
const ATTR_DEVICE: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

fn set_attributes(mount: &OwnedFd, set: MountAttrFlags, recursive: bool) -> rustix::io::Result<()> {
    /// The kernel's `struct mount_attr`.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = Attributes {
        set: u64::from(set.bits()),
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    const AT_RECURSIVE: libc::c_int = 0x8000;
    let flags = libc::AT_EMPTY_PATH | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty string, and the structure lives through the call with its own
    // size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}
