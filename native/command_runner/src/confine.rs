//! What a command may reach: a fence of namespaces first ([`crate::fence`]), then Landlock and
//! seccomp inside it.
//!
//! Where namespaces can't be had Landlock and seccomp are the only layer. What the kernel does not
//! offer is told in [`Confinement::report`] and named by [`Confinement::missing`], so that a caller
//! may refuse to run without it. Each layer is tried by putting it on: there is no question asked
//! beforehand that the kernel could answer differently later.
//!
//! The network is taken away by seccomp, not by a namespace: a filter costs microseconds, leaves
//! local sockets to databases, and holds in places where a network namespace can't be set up. It
//! allows local sockets (`AF_UNIX`) only, or with a list of ports TCP besides, whose ports Landlock
//! checks.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};
use rustix::fs::{FileType, OFlags};
use seccompiler::BpfProgram;

use crate::fence::hold::Holder;
use crate::fence::mounts::{self, Mount, What};
use crate::fence::{Design, Failure, Fence, View};
use crate::paths;
use crate::privileges;
use crate::repository::Repositories;
use crate::seccomp;
use crate::toolchain;
use crate::wire::Term;

/// The newest Landlock interface whose rules were considered here; newer kernels keep to it.
const NEWEST: ABI = ABI::V6;

/// Devices that carry nothing anywhere; programs expect to open them for writing.
const HARMLESS_DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The network that a command sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// Local sockets only.
    None,
    /// TCP to and on these ports; no other protocol, so host names resolve by file only.
    Ports(Vec<u16>),
    /// No restriction.
    All,
}

/// How much a caller insists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What can be had, and the rest told.
    BestEffort,
    /// Refuse to run when something asked for can't be had.
    Required,
    /// As best effort, without namespaces.
    WithoutNamespaces,
    /// Nothing.
    Off,
}

/// Confinement as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What may be read and executed beside the system and the toolchain; `None` is everything.
    pub read: Option<Vec<PathBuf>>,
    /// Where files may be written; `None` is everywhere.
    pub write: Option<Vec<PathBuf>>,
    /// The network.
    pub network: Network,
    /// Sockets of services that may be reached, or their folders.
    pub sockets: Vec<PathBuf>,
    /// What is `/tmp` inside; `None` is a place in memory of the command's own.
    pub temporary: Option<PathBuf>,
    /// Who keeps that folder in memory, in namespaces of its own; `None` is a folder like others.
    pub holder: Option<Holder>,
    /// The bytes of that place.
    pub temporary_bytes: u64,
    /// How much the caller insists.
    pub mode: Mode,
}

impl Policy {
    /// Where they go without the fence.
    pub fn temporary_on_disk<'a>(&'a self, scratch: &'a Path) -> &'a Path {
        self.temporary.as_deref().unwrap_or(scratch)
    }

    /// Where temporary files go within the fence: `/tmp`, unless what lies there is to be read as
    /// well.
    pub fn temporary_inside<'a>(&self, scratch: &'a Path) -> &'a Path {
        match self.read {
            Some(_) => Path::new("/tmp"),
            None => scratch,
        }
    }
}

/// What else the confinement of a plan depends on.
pub struct Surroundings<'a> {
    /// The variables of the commands.
    pub environment: &'a [(std::ffi::OsString, std::ffi::OsString)],
    /// Where they start.
    pub folder: &'a Path,
    /// The runner's own folder.
    pub scratch: &'a Path,
    /// Git's folders.
    pub repositories: &'a Repositories,
    /// Whether the plan runs git.
    pub runs_git: bool,
}

/// Confinement ready to be put on.
pub struct Confinement {
    policy: Policy,
    abi: i64,
    fence: Result<Fence, String>,
    ruleset: Option<RulesetCreated>,
    /// Writable within the fence, for the ruleset that is made there.
    inside: Vec<PathBuf>,
    filters: Option<Vec<BpfProgram>>,
}

impl Confinement {
    /// Prepares the policy for this kernel.
    pub fn prepare(policy: Policy, surroundings: Surroundings) -> Result<Self, String> {
        Self::prepare_for(policy, surroundings, landlock_abi(), Fence::raise)
    }

    fn prepare_for(
        policy: Policy,
        surroundings: Surroundings,
        abi: i64,
        raise: impl FnOnce(&Design, &Path) -> Result<Fence, Failure>,
    ) -> Result<Self, String> {
        let write = writable(&policy, &surroundings);
        let design = match policy.mode {
            Mode::Off => Design::default(),
            _ => design(&policy, &surroundings),
        };
        let fence = match policy.mode {
            Mode::Off | Mode::WithoutNamespaces => Err("not asked for".to_owned()),
            _ if policy.write.is_none() => Err("not asked for".to_owned()),
            _ => match raise(&design, surroundings.scratch) {
                Ok(fence) => Ok(fence),
                Err(Failure::Unavailable(reason)) => Err(reason),
                // A command of the same project may have moved what was to be protected: no reason
                // to run with less.
                Err(Failure::Broken(reason)) => return Err(reason),
            },
        };
        let mut inside: Vec<PathBuf> = write.clone().unwrap_or_default();
        inside.extend(toolchain::homes(surroundings.environment));
        inside.push(policy.temporary_inside(surroundings.scratch).to_owned());
        inside.push("/dev/shm".into());
        let ruleset = match (&fence, policy.mode) {
            (Ok(_), _) | (_, Mode::Off) => None,
            _ => {
                let scratch = surroundings.scratch;
                let own = [policy.temporary_on_disk(scratch), scratch];
                outside_rules(&policy, &design.mounts, write, own).create(abi)?
            }
        };
        let filters = match policy.mode {
            Mode::Off => None,
            _ => seccomp::filters(&policy.network, fence.is_err())?,
        };
        Ok(Self {
            policy,
            abi,
            fence,
            ruleset,
            inside,
            filters,
        })
    }

    /// The namespaces, where there are some.
    pub fn fence(&self) -> Option<&Fence> {
        self.fence.as_ref().ok()
    }

    /// Joins the namespaces, if there are some: then its caller, a child, must start a child of its
    /// own, which is inside. True when it must.
    pub fn join(&self, view: View) -> io::Result<bool> {
        match &self.fence {
            Ok(fence) => fence.join(view).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Confines the calling process and all that it will start; for the child, before it runs the
    /// command.
    pub fn enter(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        if self.policy.mode == Mode::Off {
            return Ok(());
        }
        // Rules name what they allow by open files: within the fence they are opened in its own
        // mounts.
        let ruleset = match (&self.fence, &self.ruleset) {
            (Ok(_), _) => self
                .inside_rules()
                .create(self.abi)
                .map_err(io::Error::other)?,
            (Err(_), Some(ruleset)) => Some(ruleset.try_clone()?),
            (Err(_), None) => None,
        };
        if let Some(ruleset) = ruleset {
            ruleset.restrict_self().map_err(io::Error::other)?;
        }
        privileges::drop_all()?;
        // Last, so that the filters need not let the calls above pass.
        for filter in self.filters.iter().flatten() {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn inside_rules(&self) -> Rules<'_> {
        Rules {
            network: &self.policy.network,
            read: None,
            write: Some(paths::without_links(&self.inside)),
        }
    }

    fn confines_files(&self) -> bool {
        self.policy.mode != Mode::Off && (self.policy.read.is_some() || self.policy.write.is_some())
    }

    /// What was asked for and does not hold here.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.policy.mode == Mode::Off {
            return missing;
        }
        if self.confines_files() {
            match &self.fence {
                Err(reason) if self.policy.write.is_some() => {
                    missing.push(format!("namespaces: {reason}"));
                }
                _ => {}
            }
            match self.abi {
                ..=0 => missing.push("filesystem: this kernel has no Landlock".to_owned()),
                1..=2 => missing.push(
                    "filesystem: Landlock of this kernel does not cover truncation".to_owned(),
                ),
                _ => {}
            }
        }
        if self.filters.is_none() {
            missing.push("system calls: no seccomp filter for this architecture".to_owned());
        }
        if matches!(self.policy.network, Network::Ports(_)) && self.abi < 4 {
            missing.push("network: Landlock of this kernel has no rules for ports".to_owned());
        }
        missing
    }

    /// What is in force, for the result of the command.
    pub fn report(&self) -> Term {
        let filesystem = match (self.confines_files(), &self.fence, self.abi) {
            (false, _, _) => "unrestricted",
            (true, Ok(_), ..=0) => "namespaces",
            (true, Ok(_), _) => "namespaces and landlock",
            (true, Err(_), ..=0) => "not applied",
            (true, Err(_), _) => "landlock",
        };
        let network = match &self.policy.network {
            Network::All => "unrestricted",
            _ if self.filters.is_none() => "not applied",
            Network::None => "seccomp",
            Network::Ports(_) if self.abi < 4 => "seccomp",
            Network::Ports(_) => "seccomp and landlock",
        };
        let mode = match &self.policy.network {
            Network::All => Term::text("all"),
            Network::None => Term::text("none"),
            Network::Ports(ports) => Term::List(
                ports
                    .iter()
                    .map(|port| Term::Int(i64::from(*port)))
                    .collect(),
            ),
        };
        let off = self.policy.mode == Mode::Off;
        let processes = match (&self.fence, self.abi) {
            _ if off => "not applied",
            (Ok(_), _) => "namespaces",
            (Err(_), 6..) => "landlock",
            (Err(_), _) => "not applied",
        };
        let privileges = if off { "as found" } else { "none" };
        let restricted = self.policy.read.is_some() && (self.fence.is_ok() || self.abi > 0) && !off;
        let missing = self.missing().into_iter().map(Term::text).collect();
        Term::map([
            ("fence", Term::text(self.summary())),
            ("filesystem", Term::text(filesystem)),
            ("reads_restricted", Term::bool(restricted)),
            ("landlock_abi", Term::Int(self.abi)),
            ("network", Term::text(network)),
            ("network_mode", mode),
            ("signals", Term::text(processes)),
            ("privileges", Term::text(privileges)),
            ("missing", Term::List(missing)),
        ])
    }

    fn summary(&self) -> &'static str {
        match (&self.fence, self.policy.mode) {
            (_, Mode::Off) => "off",
            (Ok(_), _) if self.missing().is_empty() => "whole",
            (Ok(_), _) => "partial",
            (Err(_), _) if self.abi > 0 => "landlock",
            (Err(_), _) => "none",
        }
    }
}

/// Where files may be written, without links: as asked, and for git its folders, which may lie
/// elsewhere.
fn writable(policy: &Policy, surroundings: &Surroundings) -> Option<Vec<PathBuf>> {
    let mut write = paths::without_links(policy.write.as_ref()?);
    if surroundings.runs_git {
        write.extend(surroundings.repositories.folders.iter().cloned());
    }
    Some(write)
}

fn design(policy: &Policy, surroundings: &Surroundings) -> Design {
    let homes = toolchain::homes(surroundings.environment);
    let repositories = surroundings.repositories;
    let write = policy.write.clone().unwrap_or_default();
    let writable = paths::without_links(&write);
    let read = policy.read.as_ref().map(|read| {
        let mut read = read.clone();
        read.extend(toolchain::find(surroundings.environment, &homes, &writable));
        // A command that starts where it can't see would not start. A home, or what holds one, is
        // there without its contents all the same, as is the root.
        let folder = surroundings.folder;
        if folder.parent().is_some() && !homes.iter().any(|home| home.starts_with(folder)) {
            read.push(folder.to_owned());
        }
        read
    });
    let sockets = match policy.network {
        Network::None => Vec::new(),
        _ => mounts::DATABASE_SOCKETS
            .iter()
            .map(PathBuf::from)
            .chain(policy.sockets.iter().cloned())
            .collect(),
    };
    let temporary_at = policy.temporary_inside(surroundings.scratch).to_owned();
    Design {
        holder: policy.holder.clone(),
        shared: policy.temporary.as_ref().map(|_| temporary_at.clone()),
        mounts: mounts::plan(&mounts::Places {
            read,
            write,
            repositories: repositories.folders.clone(),
            runs_git: surroundings.runs_git,
            homes,
            temporary_at,
            temporary: policy.temporary.clone(),
            temporary_bytes: policy.temporary_bytes,
            sockets,
        }),
        locked: repositories.named.clone(),
        protected: repositories.folders.clone(),
        repository: surroundings.runs_git.then(|| repositories.view()),
    }
}

/// What Landlock alone allows: reading what the fence would show, and writing as asked.
fn outside_rules<'a>(
    policy: &'a Policy,
    mounts: &[Mount],
    write: Option<Vec<PathBuf>>,
    own: [&Path; 2],
) -> Rules<'a> {
    let read = policy.read.as_ref().map(|_| {
        mounts
            .iter()
            .filter_map(|mount| match &mount.what {
                What::Bind { from, .. } => Some(from.clone()),
                What::Processes => Some("/proc".into()),
                _ => None,
            })
            .collect()
    });
    Rules {
        network: &policy.network,
        read,
        write: write.map(|write| {
            let own = paths::without_links(&own.map(Path::to_owned));
            write.into_iter().chain(own).collect()
        }),
    }
}

/// The version of Landlock that this kernel speaks; 0 is none.
fn landlock_abi() -> i64 {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no attributes, reads and writes no memory, and answers
    // a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    i64::max(version, 0)
}

/// What Landlock is to allow.
struct Rules<'a> {
    network: &'a Network,
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
}

impl Rules<'_> {
    fn create(&self, abi: i64) -> Result<Option<RulesetCreated>, String> {
        if abi <= 0 {
            return Ok(None);
        }
        self.ruleset(abi).map_err(|error| error.to_string())
    }

    fn ruleset(&self, abi: i64) -> Result<Option<RulesetCreated>, landlock::RulesetError> {
        let mut handled = landlock::BitFlags::EMPTY;
        if self.read.is_some() {
            handled |= AccessFs::from_read(NEWEST);
        }
        if self.write.is_some() {
            handled |= AccessFs::from_write(NEWEST);
        }
        let ports = match self.network {
            Network::Ports(ports) => Some(ports),
            _ => None,
        };
        if handled.is_empty() && abi < 4 {
            return Ok(None);
        }

        // Signals stay in the tree whatever else is asked: without a namespace the command runs
        // beside the BEAM, and could stop the runner or the BEAM. Abstract sockets have no place
        // that could be hidden.
        let mut ruleset = Ruleset::default()
            .scope(Scope::Signal)?
            .scope(Scope::AbstractUnixSocket)?;
        if !handled.is_empty() {
            ruleset = ruleset.handle_access(handled)?;
        }
        if ports.is_some() {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let mut created = ruleset.create()?;
        for port in ports.into_iter().flatten() {
            created = created.add_rule(NetPort::new(*port, AccessNet::from_all(NEWEST)))?;
        }
        for path in self.read.iter().flatten() {
            created = allow(created, path, AccessFs::from_read(NEWEST) & handled)?;
        }
        for path in self.write.iter().flatten() {
            created = allow(created, path, AccessFs::from_all(NEWEST) & handled)?;
        }
        for device in HARMLESS_DEVICES {
            let access = AccessFs::from_all(NEWEST) & handled;
            created = allow(created, Path::new(device), access)?;
        }
        Ok(Some(created))
    }
}

/// Allows access below a path without links. One that doesn't exist, or is a link by now, allows
/// nothing, which is the strict side.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(place) = paths::open(path, OFlags::PATH) else {
        return Ok(ruleset);
    };
    let folder = rustix::fs::fstat(&place)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = if folder {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    if access.is_empty() {
        return Ok(ruleset);
    }
    ruleset.add_rule(PathBeneath::new(place, access))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn policy(network: Network) -> Policy {
        Policy {
            read: None,
            write: Some(vec!["/nonexistent".into()]),
            network,
            sockets: vec![],
            temporary: None,
            holder: None,
            temporary_bytes: 1 << 20,
            mode: Mode::BestEffort,
        }
    }

    fn prepare(policy: Policy, abi: i64) -> Confinement {
        let surroundings = Surroundings {
            environment: &[],
            folder: Path::new("/"),
            scratch: Path::new("/nonexistent"),
            repositories: &Repositories::default(),
            runs_git: false,
        };
        let raise =
            |_: &Design, _: &Path| Err(Failure::Unavailable("no user namespaces".to_owned()));
        Confinement::prepare_for(policy, surroundings, abi, raise).unwrap()
    }

    fn report(confinement: &Confinement, field: &str) -> Term {
        let Term::Map(pairs) = confinement.report() else {
            panic!()
        };
        pairs
            .into_iter()
            .find(|(key, _)| *key == Term::text(field))
            .unwrap()
            .1
    }

    #[test]
    fn a_kernel_without_any_layer_is_told_and_never_silent() {
        let confinement = prepare(policy(Network::Ports(vec![5432])), 0);
        assert_eq!(
            report(&confinement, "filesystem"),
            Term::text("not applied")
        );
        assert_eq!(report(&confinement, "fence"), Term::text("none"));
        assert_eq!(report(&confinement, "signals"), Term::text("not applied"));
        assert_eq!(confinement.missing().len(), 3);
        assert!(confinement.ruleset.is_none());
    }

    #[test]
    fn an_old_landlock_is_told_by_what_it_misses() {
        let missing = |abi| {
            prepare(policy(Network::Ports(vec![1])), abi)
                .missing()
                .len()
        };
        assert_eq!([1, 3, 4].map(missing), [3, 2, 1]);
    }

    #[test]
    fn nothing_asked_is_nothing_missing() {
        let policy = Policy {
            write: None,
            network: Network::All,
            ..policy(Network::All)
        };
        let confinement = prepare(policy, 0);
        assert_eq!(confinement.missing(), Vec::<String>::new());
    }

    #[test]
    fn off_is_off_and_said_so() {
        let policy = Policy {
            mode: Mode::Off,
            ..policy(Network::None)
        };
        let confinement = prepare(policy, 6);
        assert_eq!(report(&confinement, "fence"), Term::text("off"));
        assert!(confinement.filters.is_none());
    }
}
