//! What a command keeps of its starter's power over the system: nothing beyond being its user.
//!
//! Root without capabilities owns root's files and no more. With them it would read the environment
//! of the BEAM, make device nodes, load modules and trace any process, whatever else confines it.

use std::io;

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Drops every capability for good; for the child. Needs `no_new_privs` besides, or a set-user-id
/// program could bring some back.
pub fn drop_all() -> io::Result<()> {
    let own = rustix::thread::capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        // A program that root executes gets all of the bounding set again: that is what must
        // shrink.
        for number in 0..64 {
            let capability = CapabilitySet::from_bits_retain(1 << number);
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                // The kernel knows no more of them.
                Err(Errno::INVAL) => break,
                removed => removed?,
            }
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, none)?)
}

/// True when this process has something to drop.
pub fn excessive() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|own| !own.permitted.union(own.inheritable).is_empty())
}
