//! What a command may reach: files by Landlock, the network by seccomp and Landlock, other processes by Landlock.
//!
//! Everything here is prepared before the fork and put on in the child. What the kernel does not offer is told in
//! [`Confinement::report`] and named by [`Confinement::missing`], so that a caller may refuse to run without it.
//!
//! Network without a namespace: a namespace would need a user namespace where the BEAM is not root, and root could
//! leave it again through another process's; a seccomp filter holds for both and costs microseconds. It allows local
//! sockets (`AF_UNIX`) only, or with a list of ports TCP besides, whose ports Landlock checks.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::privileges::Privileges;
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

/// Confinement as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Where files may be read and executed; `None` is everywhere.
    pub read: Option<Vec<PathBuf>>,
    /// Where files may be written; `None` is everywhere.
    pub write: Option<Vec<PathBuf>>,
    /// The network.
    pub network: Network,
    /// Refuse to run when something asked for can't be had.
    pub required: bool,
}

/// Confinement ready to be put on.
pub struct Confinement {
    policy: Policy,
    abi: i64,
    privileges: Privileges,
    ruleset: Option<RulesetCreated>,
    filter: Option<BpfProgram>,
}

impl Confinement {
    /// Prepares the policy for this kernel.
    pub fn prepare(policy: Policy) -> Result<Self, String> {
        Self::prepare_for(policy, landlock_abi())
    }

    fn prepare_for(policy: Policy, abi: i64) -> Result<Self, String> {
        let ruleset = if abi > 0 {
            ruleset(&policy, abi).map_err(|error| error.to_string())?
        } else {
            None
        };
        let filter = filter(&policy.network)?;
        let privileges = Privileges::prepare().map_err(|error| error.to_string())?;
        Ok(Self {
            policy,
            abi,
            privileges,
            ruleset,
            filter,
        })
    }

    /// Confines the calling process and all that it will start; for the child, before it runs the command.
    pub fn enter(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        if let Some(ruleset) = &self.ruleset {
            ruleset
                .try_clone()?
                .restrict_self()
                .map_err(io::Error::other)?;
        }
        self.privileges.enter()?;
        // Last, so that the filter need not let the calls above pass.
        if let Some(filter) = &self.filter {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn confines_files(&self) -> bool {
        self.policy.read.is_some() || self.policy.write.is_some()
    }

    /// What was asked for and does not hold here.
    pub fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.confines_files() {
            match self.abi {
                ..=0 => missing.push("filesystem: this kernel has no Landlock"),
                1..=2 => {
                    missing.push("filesystem: Landlock of this kernel does not cover truncation")
                }
                _ => {}
            }
        }
        match self.policy.network {
            Network::All => {}
            _ if self.filter.is_none() => {
                missing.push("network: no seccomp filter for this architecture")
            }
            Network::Ports(_) if self.abi < 4 => {
                missing.push("network: Landlock of this kernel has no rules for ports")
            }
            _ => {}
        }
        missing
    }

    /// What is in force, for the result of the command.
    pub fn report(&self) -> Term {
        let filesystem = match (self.confines_files(), self.abi) {
            (false, _) => "unrestricted",
            (true, ..=0) => "not applied",
            (true, _) => "landlock",
        };
        let network = match &self.policy.network {
            Network::All => "unrestricted",
            _ if self.filter.is_none() => "not applied",
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
        Term::map([
            ("filesystem", Term::text(filesystem)),
            (
                "reads_restricted",
                Term::bool(self.policy.read.is_some() && self.abi > 0),
            ),
            ("landlock_abi", Term::Int(self.abi)),
            ("network", Term::text(network)),
            ("network_mode", mode),
            (
                "signals",
                Term::text(if self.abi >= 6 {
                    "landlock"
                } else {
                    "not applied"
                }),
            ),
            (
                "privileges",
                Term::text(if self.privileges.excessive() {
                    "reduced"
                } else {
                    "as found"
                }),
            ),
            (
                "missing",
                Term::List(self.missing().into_iter().map(Term::text).collect()),
            ),
        ])
    }
}

/// The version of Landlock that this kernel speaks; 0 is none.
fn landlock_abi() -> i64 {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no attributes, reads and writes no memory, and answers a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    i64::max(version, 0)
}

fn ruleset(policy: &Policy, abi: i64) -> Result<Option<RulesetCreated>, landlock::RulesetError> {
    let mut handled = landlock::BitFlags::EMPTY;
    if policy.read.is_some() {
        handled |= AccessFs::from_read(NEWEST);
    }
    if policy.write.is_some() {
        handled |= AccessFs::from_write(NEWEST);
    }
    let ports = match &policy.network {
        Network::Ports(ports) => Some(ports),
        _ => None,
    };
    if handled.is_empty() && abi < 4 {
        return Ok(None);
    }

    // Signals stay in the tree whatever else is asked: the command runs under the BEAM's own user, and could
    // otherwise stop the runner or the BEAM.
    let mut ruleset = Ruleset::default().scope(Scope::Signal)?;
    if !handled.is_empty() {
        ruleset = ruleset.handle_access(handled)?;
    }
    if ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    if policy.network == Network::None {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    let mut created = ruleset.create()?;
    for port in ports.into_iter().flatten() {
        created = created.add_rule(NetPort::new(*port, AccessNet::from_all(NEWEST)))?;
    }
    for path in policy.read.iter().flatten() {
        created = allow(created, path, AccessFs::from_read(NEWEST) & handled)?;
    }
    for path in policy.write.iter().flatten() {
        created = allow(created, path, AccessFs::from_all(NEWEST) & handled)?;
    }
    for device in HARMLESS_DEVICES {
        created = allow(
            created,
            Path::new(device),
            AccessFs::from_all(NEWEST) & handled,
        )?;
    }
    Ok(Some(created))
}

/// Allows access below a path. One that doesn't exist allows nothing, which is the strict side.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    match PathFd::new(path) {
        Ok(fd) if !access.is_empty() => ruleset.add_rule(PathBeneath::new(fd, access)),
        _ => Ok(ruleset),
    }
}

const SOCKET_TYPE_MASK: u64 = 0xF;

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(|error| error.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

/// The filter that refuses what the network policy does not allow, with "permission denied".
///
/// `Ok(None)`: nothing to refuse, or an architecture that the filter's compiler doesn't know.
fn filter(network: &Network) -> Result<Option<BpfProgram>, String> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};

    let Ok(architecture) = std::env::consts::ARCH.try_into() else {
        return Ok(None);
    };
    let constant = |value: libc::c_int| u64::from(value.unsigned_abs());
    let local = constant(libc::AF_UNIX);

    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    match network {
        Network::All => return Ok(None),
        Network::None => {
            rules.insert(
                libc::SYS_socket,
                vec![rule(vec![condition(0, Ne, local)?])?],
            );
        }
        Network::Ports(_) => {
            let (v4, v6) = (constant(libc::AF_INET), constant(libc::AF_INET6));
            let mut refused = vec![rule(vec![
                condition(0, Ne, local)?,
                condition(0, Ne, v4)?,
                condition(0, Ne, v6)?,
            ])?];
            for family in [v4, v6] {
                // Landlock knows the ports of plain TCP only: refuse datagrams, raw sockets, multipath TCP, SCTP.
                for kind in
                    (0..=SOCKET_TYPE_MASK).filter(|kind| *kind != constant(libc::SOCK_STREAM))
                {
                    let kind = condition(1, MaskedEq(SOCKET_TYPE_MASK), kind)?;
                    refused.push(rule(vec![condition(0, Eq, family)?, kind])?);
                }
                let protocols = [
                    condition(2, Ne, 0)?,
                    condition(2, Ne, constant(libc::IPPROTO_TCP))?,
                ];
                refused.push(rule(
                    [vec![condition(0, Eq, family)?], protocols.to_vec()].concat(),
                )?);
            }
            rules.insert(libc::SYS_socket, refused);
            // Fast open connects while it sends, past the check on `connect`.
            let fast_open = constant(libc::MSG_FASTOPEN);
            for (call, argument) in [
                (libc::SYS_sendto, 3),
                (libc::SYS_sendmsg, 2),
                (libc::SYS_sendmmsg, 3),
            ] {
                rules.insert(
                    call,
                    vec![rule(vec![condition(
                        argument,
                        MaskedEq(fast_open),
                        fast_open,
                    )?])?],
                );
            }
            let level = condition(1, Eq, constant(libc::IPPROTO_TCP))?;
            let option = condition(2, Eq, constant(libc::TCP_FASTOPEN_CONNECT))?;
            rules.insert(libc::SYS_setsockopt, vec![rule(vec![level, option])?]);
        }
    }
    // A ring makes sockets without the calls above; and a socket could be taken out of a process that has one.
    for call in [libc::SYS_io_uring_setup, libc::SYS_pidfd_getfd] {
        rules.insert(call, Vec::new());
    }
    // The x32 calls of x86-64 pass as the same architecture under numbers of their own: all are refused.
    #[cfg(target_arch = "x86_64")]
    {
        const X32: i64 = 0x4000_0000;
        const X32_SENDMSG: [i64; 3] = [518, 538, 541];
        let calls: Vec<i64> = rules.keys().copied().chain(X32_SENDMSG).collect();
        rules.extend(calls.into_iter().map(|call| (X32 | call, Vec::new())));
    }

    let denied = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    // A call by another architecture's table (32-bit programs) ends the process: its numbers mean other calls.
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture);
    let program = filter
        .and_then(BpfProgram::try_from)
        .map_err(|error| error.to_string())?;
    Ok(Some(program))
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
            required: false,
        }
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
    fn a_kernel_without_landlock_is_told_and_never_silent() {
        let confinement = Confinement::prepare_for(policy(Network::Ports(vec![5432])), 0).unwrap();
        assert_eq!(
            report(&confinement, "filesystem"),
            Term::text("not applied")
        );
        assert_eq!(report(&confinement, "signals"), Term::text("not applied"));
        assert_eq!(confinement.missing().len(), 2);
        assert!(confinement.ruleset.is_none());
    }

    #[test]
    fn an_old_landlock_is_told_by_what_it_misses() {
        let missing = |abi| {
            Confinement::prepare_for(policy(Network::Ports(vec![1])), abi)
                .unwrap()
                .missing()
                .len()
        };
        assert_eq!([1, 3, 4].map(missing), [2, 1, 0]);
    }

    #[test]
    fn nothing_asked_is_nothing_missing() {
        let policy = Policy {
            read: None,
            write: None,
            network: Network::All,
            required: true,
        };
        let confinement = Confinement::prepare_for(policy, 0).unwrap();
        assert_eq!(confinement.missing(), Vec::<&str>::new());
        assert!(confinement.filter.is_none());
    }
}
