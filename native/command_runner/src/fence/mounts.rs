//! What a fenced command sees of the file system, as a list of mounts: planned here, made in
//! [`super::assemble`].
//!
//! The new root is empty. The system, the toolchain and what the caller names come in read-only,
//! the project and its caches writable, `/tmp`, `/dev`, `/proc` and the home folders anew. What is
//! not listed is not there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::paths;

/// Of the system, what programs read. Links among them are made again as links.
const SYSTEM: [&str; 9] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix",
];

/// Of `/sys`, what runtimes read to count processors.
const SYS: [&str; 1] = ["/sys/devices/system"];

/// Of `/etc`, what programs of all users read. A closed list: root also reads what stands there for
/// root alone.
const ETC: [&str; 52] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "ethertypes",
    "fonts",
    "gai.conf",
    "gnutls",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "mysql/my.cnf",
    "netconfig",
    "networks",
    "npmrc",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pip.conf",
    "pki/ca-trust",
    "pki/tls/certs",
    "postgresql-common",
    "protocols",
    "python3",
    "resolv.conf",
    "rpc",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xattr.conf",
    "xdg",
];

/// Folders that stay empty; programs expect some of them to exist.
const EMPTY: [&str; 8] = [
    "/home", "/root", "/srv", "/mnt", "/media", "/run", "/etc", "/var",
];

/// Where database servers keep their sockets; a folder that is not there is left out.
pub const DATABASE_SOCKETS: [&str; 5] = [
    "/run/postgresql",
    "/run/mysqld",
    "/run/redis",
    "/tmp/.s.PGSQL.5432",
    "/tmp/mysql.sock",
];

/// What is mounted, or made, at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A part of the system outside, with all that is mounted in it.
    Bind {
        /// The place outside, without links.
        from: PathBuf,
        /// Whether it can be written.
        writable: bool,
    },
    /// A file system in memory, of this many bytes at most.
    Memory(u64),
    /// The processes of the new namespace, read-only.
    Processes,
    /// Devices that carry nothing anywhere.
    Devices,
    /// A link with this text.
    Link(PathBuf),
    /// An empty folder.
    Folder,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its place inside.
    pub at: PathBuf,
    /// What is there.
    pub what: What,
}

/// What a command may reach, in the caller's words.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Beside the system: what may be read; `None` is everything.
    pub read: Option<Vec<PathBuf>>,
    /// What may be written.
    pub write: Vec<PathBuf>,
    /// Git's folders as they were found, without links.
    pub repositories: Vec<PathBuf>,
    /// Whether git writes them.
    pub runs_git: bool,
    /// Home folders, empty inside.
    pub homes: Vec<PathBuf>,
    /// Where temporary files go inside.
    pub temporary_at: PathBuf,
    /// What is there: a folder outside, or else memory.
    pub temporary: Option<PathBuf>,
    /// The bytes of `/tmp`, and of each other place in memory.
    pub temporary_bytes: u64,
    /// Sockets, or folders of sockets.
    pub sockets: Vec<PathBuf>,
}

/// Of each place in memory that isn't `/tmp`.
const MEMORY: u64 = 64 * 1024 * 1024;

/// The mounts, each after what it lies in.
pub fn plan(places: &Places) -> Vec<Mount> {
    let mut plan = Plan {
        writable: paths::without_links(&places.write),
        mounts: Vec::new(),
    };
    match &places.read {
        None => plan.bind(Path::new("/"), false),
        Some(read) => {
            plan.system();
            for path in read {
                plan.bind(path, false);
            }
        }
    }
    // Who may read everything may read homes.
    for home in places.homes.iter().filter(|_| places.read.is_some()) {
        // A home that holds the project or the system would hide it.
        if home.parent().is_some() && !SYSTEM.iter().any(|system| home.starts_with(system)) {
            plan.add(home.clone(), What::Memory(MEMORY));
        }
    }
    let temporary = match &places.temporary {
        Some(folder) => What::Bind {
            from: folder.clone(),
            writable: true,
        },
        None => What::Memory(places.temporary_bytes),
    };
    plan.add(places.temporary_at.clone(), temporary);
    plan.add("/dev".into(), What::Devices);
    plan.add("/dev/shm".into(), What::Memory(MEMORY));
    plan.add("/proc".into(), What::Processes);
    for socket in &places.sockets {
        plan.bind(socket, false);
    }
    for path in &places.write {
        plan.bind(path, true);
    }
    for path in &places.repositories {
        let what = What::Bind {
            from: path.clone(),
            writable: places.runs_git,
        };
        plan.add(path.clone(), what);
    }
    let everything = places.read.is_none();
    plan.usual_links(everything);
    plan.in_order(everything)
}

struct Plan {
    mounts: Vec<Mount>,
    /// Places that commands write.
    writable: Vec<PathBuf>,
}

impl Plan {
    fn add(&mut self, at: PathBuf, what: What) {
        self.mounts.push(Mount { at, what });
    }

    fn system(&mut self) {
        for path in EMPTY {
            self.add(path.into(), What::Folder);
        }
        for path in SYSTEM.into_iter().chain(SYS) {
            self.bind(Path::new(path), false);
        }
        for file in ETC.map(|name| Path::new("/etc").join(name)) {
            // Some systems keep what only root may read under one of these names.
            if std::fs::metadata(&file).is_ok_and(|file| file.permissions().mode() & 0o004 != 0) {
                self.bind(&file, false);
            }
        }
    }

    /// Other names of usual places; where something of its own lies below one it is a place itself,
    /// or a project there would come to lie elsewhere.
    fn usual_links(&mut self, everything: bool) {
        for (name, place) in [("/var/tmp", "/tmp"), ("/var/run", "/run")] {
            let name = Path::new(name);
            let holds = |mount: &Mount| {
                let link = matches!(mount.what, What::Link(_));
                mount.at != name && mount.at.starts_with(name) && !link
            };
            let itself = self.mounts.iter().any(|mount| mount.at == name);
            let what = if self.mounts.iter().any(holds) && !itself && !everything {
                What::Memory(MEMORY)
            } else {
                What::Link(place.into())
            };
            self.add(name.to_owned(), what);
        }
    }

    /// Brings in what is at a path. One that isn't there brings nothing, which is the strict side.
    /// Where a link leads elsewhere, that place comes in and the link is made again, so that both
    /// of its names are good; a link that a command may have made brings nothing.
    fn bind(&mut self, path: &Path, writable: bool) {
        let Some(from) = paths::settled(path, &self.writable) else {
            return;
        };
        if from != path {
            if path.starts_with("/etc") && !from.starts_with("/usr") {
                // The file of a service that writes it, such as /run/systemd/resolve: the file
                // alone.
                let what = What::Bind {
                    from,
                    writable: false,
                };
                return self.add(path.to_owned(), what);
            }
            self.add(path.to_owned(), What::Link(from.clone()));
        }
        self.add(from.clone(), What::Bind { from, writable });
    }

    /// Orders by place and drops what the mount around it already shows as it should be.
    fn in_order(mut self, everything: bool) -> Vec<Mount> {
        // Stable: of two at one place the later one wins, below.
        self.mounts.sort_by(|a, b| a.at.cmp(&b.at));
        let mut kept: Vec<Mount> = Vec::new();
        for mount in self.mounts {
            if let Some(same) = kept.iter_mut().find(|kept| kept.at == mount.at) {
                if same.what.yields_to(&mount.what) {
                    same.what = mount.what;
                }
                continue;
            }
            let around = kept.iter().rfind(|kept| mount.at.starts_with(&kept.at));
            if !around.is_some_and(|around| around.shows(&mount, everything)) {
                kept.push(mount);
            }
        }
        kept
    }
}

impl What {
    fn yields_to(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bind { writable: true, .. }, _) => false,
            (_, Self::Bind { .. } | Self::Memory(_)) => true,
            (Self::Folder, _) => true,
            _ => false,
        }
    }
}

impl Mount {
    fn shows(&self, inner: &Mount, everything: bool) -> bool {
        match (&self.what, &inner.what) {
            (
                What::Bind { from, writable },
                What::Bind {
                    from: other,
                    writable: wanted,
                },
            ) => {
                let identical = *from == self.at && *other == inner.at;
                identical && (*writable || !wanted)
            }
            (What::Bind { .. }, What::Link(_) | What::Folder) => {
                everything || self.at.parent().is_some()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(plan: &'a [Mount], path: &str) -> Option<&'a What> {
        plan.iter()
            .find(|mount| mount.at == Path::new(path))
            .map(|mount| &mount.what)
    }

    fn places() -> Places {
        Places {
            read: Some(vec![]),
            homes: vec!["/root".into()],
            temporary_at: "/tmp".into(),
            temporary_bytes: 1,
            ..Places::default()
        }
    }

    #[test]
    fn homes_are_empty_and_private_parts_of_etc_are_not_there() {
        let plan = plan(&places());
        assert_eq!(at(&plan, "/root"), Some(&What::Memory(MEMORY)));
        assert_eq!(at(&plan, "/home"), Some(&What::Folder));
        for private in [
            "/etc/shadow",
            "/etc/ssh",
            "/etc/ssl/private",
            "/etc/sudoers",
        ] {
            assert_eq!(at(&plan, private), None, "{private}");
        }
        assert!(matches!(
            at(&plan, "/etc/passwd"),
            Some(What::Bind {
                writable: false,
                ..
            })
        ));
    }

    #[test]
    fn what_is_written_wins_over_what_is_read_and_comes_after_what_holds_it() {
        let mut places = places();
        places.read = Some(vec!["/tmp".into()]);
        places.write = vec!["/var".into(), "/usr/lib".into()];
        let plan = plan(&places);
        let place = |path: &str| plan.iter().position(|mount| mount.at == Path::new(path));
        assert!(place("/usr") < place("/usr/lib"));
        assert!(matches!(
            at(&plan, "/var"),
            Some(What::Bind { writable: true, .. })
        ));
    }

    #[test]
    fn a_project_below_another_name_of_a_place_lies_where_it_says() {
        assert_eq!(
            at(&plan(&places()), "/var/tmp"),
            Some(&What::Link("/tmp".into()))
        );
        let mut places = places();
        // Repositories are bound by their own names, whatever lies there.
        places.repositories = vec!["/var/tmp/project/.git".into()];
        assert_eq!(at(&plan(&places), "/var/tmp"), Some(&What::Memory(MEMORY)));
    }

    #[test]
    fn a_place_is_mounted_once() {
        let mut places = places();
        places.read = Some(vec!["/usr/share".into(), "/usr".into()]);
        let plan = plan(&places);
        assert_eq!(at(&plan, "/usr/share"), None);
        assert_eq!(
            plan.iter()
                .filter(|mount| mount.at == Path::new("/usr"))
                .count(),
            1
        );
    }
}
