//! System calls that no command needs and an attacker would, and those that leave the network
//! policy.
//!
//! Two filters, since one has one answer: what is refused says "permission denied" or "not
//! permitted", and `clone3`, whose flags lie in memory that a filter can't read, is not there, so
//! that libraries fall back to `clone`.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::confine::Network;

const SOCKET_TYPE_MASK: u64 = 0xF;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever their arguments.
const REFUSED: [i64; 45] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

const NEW_NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP;

/// The filters of a policy, to be put on in this order; `None` on an architecture that their
/// compiler doesn't know.
///
/// `names_others`: the processes outside have numbers that the command can use, so that what
/// Landlock does not stop must be stopped here.
pub fn filters(network: &Network, names_others: bool) -> Result<Option<Vec<BpfProgram>>, String> {
    let Ok(architecture) = std::env::consts::ARCH.try_into() else {
        return Ok(None);
    };
    let compile = |mut rules: Rules, answer: i32| {
        refuse_x32(&mut rules);
        // A call by another architecture's table (32-bit programs) ends the process: its numbers
        // mean other calls.
        let denied = SeccompAction::Errno(answer.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture)
            .and_then(BpfProgram::try_from)
            .map_err(|error| error.to_string())
    };
    let missing = Rules::from([(libc::SYS_clone3, vec![])]);
    let mut filters = vec![
        compile(missing, libc::ENOSYS)?,
        compile(powers(names_others)?, libc::EPERM)?,
    ];
    let reach = reach(network, names_others)?;
    if !reach.is_empty() {
        filters.push(compile(reach, libc::EACCES)?);
    }
    Ok(Some(filters))
}

/// The x32 calls of x86-64 pass as the same architecture under numbers of their own: all that are
/// named are refused.
fn refuse_x32(rules: &mut Rules) {
    #[cfg(target_arch = "x86_64")]
    {
        const X32: i64 = 0x4000_0000;
        // ptrace, process_vm_readv, process_vm_writev, sendmsg, sendmmsg, setsockopt and kexec_load
        // have others there.
        const X32_OWN: [i64; 7] = [521, 539, 540, 518, 538, 541, 528];
        let calls: Vec<i64> = rules.keys().copied().chain(X32_OWN).collect();
        rules.extend(calls.into_iter().map(|call| (X32 | call, Vec::new())));
    }
}

fn powers(names_others: bool) -> Result<Rules, String> {
    use SeccompCmpOp::{MaskedEq, Ne};
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut namespaces = Vec::new();
    for bit in (0..32).map(|bit| 1_u64 << bit) {
        if constant(NEW_NAMESPACES) & bit != 0 {
            namespaces.push(rule(vec![condition(0, MaskedEq(bit), bit)?])?);
        }
    }
    rules.insert(libc::SYS_clone, namespaces);
    let mut devices = Vec::new();
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        devices.push((MaskedEq(u64::from(libc::S_IFMT)), u64::from(kind)));
    }
    let made = |argument: u8| {
        devices
            .iter()
            .map(|(mask, kind)| rule(vec![condition(argument, mask.clone(), *kind)?]))
            .collect::<Result<Vec<_>, String>>()
    };
    rules.insert(libc::SYS_mknodat, made(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, made(1)?);
    if names_others {
        // The argument that names a process; 0 is the caller.
        for (call, argument) in [
            (libc::SYS_prlimit64, 0),
            (libc::SYS_sched_setaffinity, 0),
            (libc::SYS_sched_setattr, 0),
            (libc::SYS_sched_setparam, 0),
            (libc::SYS_sched_setscheduler, 0),
            (libc::SYS_setpriority, 1),
            (libc::SYS_ioprio_set, 1),
        ] {
            rules.insert(call, vec![rule(vec![condition(argument, Ne, 0)?])?]);
        }
        // These two take a user as well, 0 being the caller's: all of that user's processes.
        const OF_USER: [(i64, u64); 2] = [
            (libc::SYS_setpriority, libc::PRIO_USER as u64),
            (libc::SYS_ioprio_set, 3),
        ];
        for (call, of_user) in OF_USER {
            let whole_user = rule(vec![condition(0, SeccompCmpOp::Eq, of_user)?])?;
            rules.entry(call).or_default().push(whole_user);
        }
    }
    Ok(rules)
}

/// What the network policy refuses. Where the sockets of services outside can be named, `None` is
/// no socket at all.
fn reach(network: &Network, names_others: bool) -> Result<Rules, String> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};

    let local = constant(libc::AF_UNIX);
    let mut rules = Rules::new();
    match network {
        Network::All => {}
        Network::None if names_others => {
            rules.insert(libc::SYS_socket, vec![]);
        }
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
                // Landlock knows the ports of plain TCP only: refuse datagrams, raw sockets,
                // multipath TCP, SCTP.
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
                let condition = condition(argument, MaskedEq(fast_open), fast_open)?;
                rules.insert(call, vec![rule(vec![condition])?]);
            }
            let level = condition(1, Eq, constant(libc::IPPROTO_TCP))?;
            let option = condition(2, Eq, constant(libc::TCP_FASTOPEN_CONNECT))?;
            rules.insert(libc::SYS_setsockopt, vec![rule(vec![level, option])?]);
        }
    }
    Ok(rules)
}

fn constant(value: libc::c_int) -> u64 {
    u64::from(value.unsigned_abs())
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(|error| error.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}
