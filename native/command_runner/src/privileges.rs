//! What root keeps: a command run by root works on files as root does, and has no other power over the system.
//!
//! With all its privileges, root reads the environment of the BEAM under `/proc`, secrets included, loads modules and
//! traces any process, whatever else confines it. What is kept is what containers commonly leave to root.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::AUDIT_WRITE);

/// The privileges of this process, seen before the fork.
pub struct Privileges {
    own: CapabilitySets,
}

impl Privileges {
    /// Looks at what this process has.
    pub fn prepare() -> io::Result<Self> {
        Ok(Self {
            own: rustix::thread::capabilities(None)?,
        })
    }

    /// True when there is something to drop.
    pub fn excessive(&self) -> bool {
        !self.excess().is_empty()
    }

    fn excess(&self) -> CapabilitySet {
        self.own
            .permitted
            .union(self.own.inheritable)
            .difference(KEPT)
    }

    /// Drops the rest for good; for the child. Needs `no_new_privs`, or a set-user-id program could bring it back.
    pub fn enter(&self) -> io::Result<()> {
        if !self.excessive() {
            return Ok(());
        }
        // A program that root executes gets all of the bounding set again: that is what must shrink.
        for capability in self.excess().iter() {
            rustix::thread::remove_capability_from_bounding_set(capability)?;
        }
        let kept = CapabilitySets {
            effective: self.own.effective.intersection(KEPT),
            permitted: self.own.permitted.intersection(KEPT),
            inheritable: self.own.inheritable.intersection(KEPT),
        };
        Ok(rustix::thread::set_capabilities(None, kept)?)
    }
}
