//! What this machine gives to keep commands in, found out by running one that does nothing.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{WaitOptions, waitpid};

use crate::capture::Budget;
use crate::confine::{self, Confinement, Network, Policy, Surroundings};
use crate::limits::{Applied, Limits};
use crate::repository::Repositories;
use crate::spawn;
use crate::spec::{Spec, Stage};

/// What is missing of a whole fence, in words; nothing where there is one. `aside` is an empty
/// folder.
pub fn missing(aside: &Path) -> io::Result<Vec<String>> {
    let failed = |error: String| io::Error::other(error);
    let spec = spec();
    let surroundings = Surroundings {
        environment: &spec.environment,
        folder: &spec.folder,
        scratch: aside,
        repositories: &Repositories::default(),
        runs_git: false,
    };
    let confinement = Confinement::prepare(spec.policy.clone(), surroundings).map_err(failed)?;
    let confinement = Arc::new(confinement);
    let limits = Arc::new(Applied::prepare(&spec.limits, ""));
    let stage = Stage {
        arguments: vec!["true".into()],
        environment: Vec::new(),
        redirections: Vec::new(),
        folder: None,
        git: false,
    };
    let null = || rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let ends = [null()?, null()?, null()?];
    let id = spawn::spawn(&stage, ends, None, &spec, &limits, &confinement)
        .map_err(|failure| io::Error::other(format!("{failure:?}")))?;
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(id), WaitOptions::empty()))?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(confinement.missing()),
        _ => Err(io::Error::other("a confined command failed")),
    }
}

/// A command that may read the system and write nothing.
fn spec() -> Spec {
    let nothing = Budget { head: 0, tail: 0 };
    let path = OsString::from("/usr/bin:/bin");
    Spec {
        plan: Vec::new(),
        project: None,
        folder: "/".into(),
        environment: vec![("PATH".into(), path)],
        timeout: Duration::ZERO,
        grace: Duration::ZERO,
        budgets: [nothing, nothing],
        channel: None,
        limits: Limits::default(),
        policy: Policy {
            read: Some(Vec::new()),
            write: Some(Vec::new()),
            network: Network::None,
            sockets: Vec::new(),
            temporary: None,
            holder: None,
            temporary_bytes: 1 << 20,
            mode: confine::Mode::BestEffort,
        },
    }
}
