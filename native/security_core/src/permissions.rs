//! Permission tiers, the tools' place in them, and what sessions have been granted.
//!
//! [`Policy`] is configuration: which tier a tool needs and how often it may be called.
//! [`SessionGrants`] is state: the tier that a session was raised to and the tools that its user
//! consented to.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;

use crate::clock::Clock;
use crate::rate_limiter::Rate;

/// What a tool can do to the world, from least to most. A session that was granted a tier may use
/// the tiers below it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Looks at files and documentation.
    ReadOnly,
    /// Changes files.
    Write,
    /// Runs commands.
    Execute,
    /// Looks into the running system, or whatever nobody has classified.
    Privileged,
}

impl Tier {
    /// All tiers, from least to most.
    pub const ALL: [Tier; 4] = [Tier::ReadOnly, Tier::Write, Tier::Execute, Tier::Privileged];

    /// The tier's name in configuration and answers.
    pub fn name(self) -> &'static str {
        match self {
            Tier::ReadOnly => "read_only",
            Tier::Write => "write",
            Tier::Execute => "execute",
            Tier::Privileged => "privileged",
        }
    }

    /// The tier of that exact name.
    pub fn parse(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }

    /// Calls per minute that a tool of this tier gets when nothing else is said.
    pub fn default_rate(self) -> Rate {
        match self {
            Tier::ReadOnly => const { Rate::constant(100, 60_000) },
            Tier::Write => const { Rate::constant(30, 60_000) },
            Tier::Execute => const { Rate::constant(10, 60_000) },
            Tier::Privileged => const { Rate::constant(5, 60_000) },
        }
    }

    /// The same at a door where one person's own agent calls.
    pub fn door_rate(self) -> Rate {
        match self {
            Tier::ReadOnly => const { Rate::constant(600, 60_000) },
            Tier::Write => const { Rate::constant(300, 60_000) },
            Tier::Execute | Tier::Privileged => const { Rate::constant(120, 60_000) },
        }
    }
}

/// The tiers of a host's other tools, known without configuration. Those of the library's own stand
/// in their definitions.
pub const TOOL_TIERS: &[(Tier, &[&str])] = &[
    (
        Tier::ReadOnly,
        &[
            "file_info",
            "find_files",
            "find_references",
            "get_diagnostics",
            "get_hover_info",
            "glob_search",
            "go_to_definition",
            "grep",
            "knowledge_context",
            "knowledge_graph_query",
            "knowledge_recall",
            "list_dir",
            "list_directory",
            "project_conventions",
            "project_decisions",
            "project_risks",
            "read_file",
            "recall",
            "todo_read",
            "web_fetch",
            "web_search",
        ],
    ),
    (
        Tier::Write,
        &[
            "create_directory",
            "delete_file",
            "edit_file",
            "forget",
            "knowledge_remember",
            "knowledge_supersede",
            "knowledge_update",
            "livebook_edit",
            "multi_edit_file",
            "remember",
            "todo_write",
            "write_file",
        ],
    ),
    (
        Tier::Execute,
        &["git_command", "lsp_request", "run_command"],
    ),
    (Tier::Privileged, &["spawn_task"]),
];

/// Which tier a tool needs and how often it may be called.
///
/// For a tool's tier and for its rate alike, the most specific source wins: a setting for the tool
/// by name, then what its handler declares, then the default (the table of known tools and the tier
/// for unknown ones; the rate of the tier).
#[derive(Debug, Clone)]
pub struct Policy {
    tools: HashMap<Box<[u8]>, ToolRule>,
    tier_rates: [Rate; 4],
    door_rates: [Rate; 4],
    unknown_tier: Tier,
}

#[derive(Debug, Clone, Copy, Default)]
struct ToolRule {
    known: Option<Tier>,
    configured: Option<Tier>,
    rate: Option<Rate>,
}

/// What a [`Policy`] asks of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The tier that the session must have been granted.
    pub tier: Tier,
    /// How often the tool may be called.
    pub rate: Rate,
}

impl Default for Policy {
    /// The known tools in their tiers, unknown tools privileged, each tier at its default rate.
    fn default() -> Self {
        let known = |tier| ToolRule {
            known: Some(tier),
            ..ToolRule::default()
        };
        let tools = TOOL_TIERS
            .iter()
            .flat_map(|&(tier, names)| names.iter().map(move |&name| (name, tier)))
            .map(|(name, tier)| (name.as_bytes().into(), known(tier)))
            .collect();
        Policy {
            tools,
            tier_rates: Tier::ALL.map(Tier::default_rate),
            door_rates: Tier::ALL.map(Tier::door_rate),
            unknown_tier: Tier::Privileged,
        }
    }
}

impl Policy {
    /// Adds a tool to the table of known ones.
    pub fn set_known_tier(&mut self, tool: &[u8], tier: Tier) {
        self.rule(tool).known = Some(tier);
    }

    /// Puts a tool into a tier, whatever its handler says.
    pub fn set_tool_tier(&mut self, tool: &[u8], tier: Tier) {
        self.rule(tool).configured = Some(tier);
    }

    /// Sets how often a tool may be called, whatever its handler says.
    pub fn set_tool_rate(&mut self, tool: &[u8], rate: Rate) {
        self.rule(tool).rate = Some(rate);
    }

    /// Sets how often a tool of this tier may be called, at any door, when neither a setting for
    /// the tool nor its handler says otherwise.
    pub fn set_tier_rate(&mut self, tier: Tier, rate: Rate) {
        self.tier_rates[tier as usize] = rate;
        self.door_rates[tier as usize] = rate;
    }

    /// Sets the tier of tools that nobody has classified.
    pub fn set_unknown_tier(&mut self, tier: Tier) {
        self.unknown_tier = tier;
    }

    /// The tier of a tool by configuration or by the table of known tools; `None` when nobody has
    /// classified it.
    pub fn known_tier(&self, tool: &[u8]) -> Option<Tier> {
        let rule = self.tools.get(tool)?;
        rule.configured.or(rule.known)
    }

    /// Every classified tool with its tier, in no order.
    pub fn known_tools(&self) -> impl Iterator<Item = (&[u8], Tier)> {
        let tier = |rule: &ToolRule| rule.configured.or(rule.known);
        self.tools
            .iter()
            .filter_map(move |(tool, rule)| Some((&**tool, tier(rule)?)))
    }

    /// How often a tool of this tier may be called when nothing more specific is said.
    pub fn tier_rate(&self, tier: Tier) -> Rate {
        self.tier_rates[tier as usize]
    }

    /// What a call of this tool needs, given what its handler declares.
    pub fn requirement(
        &self,
        tool: &[u8],
        handler_tier: Option<Tier>,
        handler_rate: Option<Rate>,
    ) -> Requirement {
        self.need(tool, handler_tier, handler_rate, &self.tier_rates)
    }

    /// The same for a call at a door where one person's own agent calls.
    pub fn requirement_at_door(
        &self,
        tool: &[u8],
        handler_tier: Option<Tier>,
        handler_rate: Option<Rate>,
    ) -> Requirement {
        self.need(tool, handler_tier, handler_rate, &self.door_rates)
    }

    fn need(
        &self,
        tool: &[u8],
        handler_tier: Option<Tier>,
        handler_rate: Option<Rate>,
        tier_rates: &[Rate; 4],
    ) -> Requirement {
        let rule = self.tools.get(tool).copied().unwrap_or_default();
        let tier = rule
            .configured
            .or(handler_tier)
            .or(rule.known)
            .unwrap_or(self.unknown_tier);
        let rate = rule
            .rate
            .or(handler_rate)
            .unwrap_or(tier_rates[tier as usize]);
        Requirement { tier, rate }
    }

    fn rule(&mut self, tool: &[u8]) -> &mut ToolRule {
        self.tools.entry(tool.into()).or_default()
    }
}

/// Bounds on a grant store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantLimits {
    /// Sessions that hold a grant at the same time.
    pub sessions: usize,
    /// Tools that one session can have consent for.
    pub consents_per_session: usize,
    /// Length of a session id or a tool name in bytes.
    pub name_bytes: usize,
    /// A session that nobody asked about for this long loses what it was granted.
    pub idle: Duration,
}

impl Default for GrantLimits {
    /// 10,000 sessions, 256 consents in each, names of 1 KiB, one hour.
    fn default() -> Self {
        GrantLimits {
            sessions: 10_000,
            consents_per_session: 256,
            name_bytes: 1_024,
            idle: Duration::from_secs(60 * 60),
        }
    }
}

/// Why a grant was not recorded or revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GrantError {
    /// A session's tier can only be raised.
    #[error("the session already holds tier {}", granted.name())]
    TierDowngrade {
        /// The tier that the session keeps.
        granted: Tier,
    },
    /// The session already has consent for the tool.
    #[error("consent is already recorded")]
    AlreadyConsented,
    /// The session has no consent for the tool.
    #[error("no consent is recorded")]
    NotConsented,
    /// As many sessions as [`GrantLimits::sessions`] hold grants.
    #[error("too many sessions hold grants")]
    TooManySessions,
    /// The session has as many consents as [`GrantLimits::consents_per_session`].
    #[error("too many consents in this session")]
    TooManyConsents,
    /// A name is longer than [`GrantLimits::name_bytes`].
    #[error("the name is too long")]
    NameTooLong,
}

/// What a session has been granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The highest tier it may use without consent.
    pub tier: Tier,
    /// Tools that its user consented to, newest first.
    pub consents: Vec<Box<[u8]>>,
}

impl Default for Grants {
    /// What a session has that was granted nothing.
    fn default() -> Self {
        Grants {
            tier: Tier::ReadOnly,
            consents: Vec::new(),
        }
    }
}

const SHARDS: usize = 32;

/// What sessions have been granted. Shared between threads by reference.
#[derive(Debug)]
pub struct SessionGrants {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    limits: GrantLimits,
    idle_ns: u64,
    shards: Box<[Padded]>,
    sessions: AtomicUsize,
}

#[repr(align(128))]
#[derive(Debug, Default)]
struct Padded(Mutex<Shard>);

type Shard = HashMap<Box<[u8]>, Held>;

#[derive(Debug)]
struct Held {
    grants: Grants,
    used_ns: u64,
}

impl SessionGrants {
    /// A store where no session holds anything.
    pub fn new(limits: GrantLimits, clock: Arc<dyn Clock>) -> Self {
        SessionGrants {
            clock,
            hasher: RandomState::new(),
            limits,
            idle_ns: u64::try_from(limits.idle.as_nanos()).unwrap_or(u64::MAX),
            shards: (0..SHARDS).map(|_| Padded::default()).collect(),
            sessions: AtomicUsize::new(0),
        }
    }

    /// Raises a session's tier; granting the tier it holds already is fine.
    pub fn grant_tier(&self, session: &[u8], tier: Tier) -> Result<(), GrantError> {
        self.update(session, |grants| {
            if tier < grants.tier {
                return Err(GrantError::TierDowngrade {
                    granted: grants.tier,
                });
            }
            grants.tier = tier;
            Ok(())
        })
    }

    /// Records that a session's user consents to a tool.
    pub fn record_consent(&self, session: &[u8], tool: &[u8]) -> Result<(), GrantError> {
        self.fits(tool)?;
        self.update(session, |grants| {
            if grants.consents_to(tool) {
                return Err(GrantError::AlreadyConsented);
            }
            if grants.consents.len() >= self.limits.consents_per_session {
                return Err(GrantError::TooManyConsents);
            }
            grants.consents.insert(0, tool.into());
            Ok(())
        })
    }

    /// Takes a consent back.
    pub fn revoke_consent(&self, session: &[u8], tool: &[u8]) -> Result<(), GrantError> {
        let mut shard = self.shard_of(session).lock();
        let now = self.clock.monotonic_ns();
        let held = self
            .live(&mut shard, session, now)
            .ok_or(GrantError::NotConsented)?;
        let consents = &mut held.grants.consents;
        let place = consents
            .iter()
            .position(|consented| **consented == *tool)
            .ok_or(GrantError::NotConsented)?;
        consents.remove(place);
        Ok(())
    }

    /// What a session holds, and keeps it from being idle.
    pub fn get(&self, session: &[u8]) -> Grants {
        let mut shard = self.shard_of(session).lock();
        let now = self.clock.monotonic_ns();
        self.live(&mut shard, session, now)
            .map(|held| held.grants.clone())
            .unwrap_or_default()
    }

    /// The tier that a session holds and whether it consents to `tool`, and keeps it from being
    /// idle. `now_ns` is a recent reading of this store's clock.
    pub(crate) fn lookup(&self, session: &[u8], tool: &[u8], now_ns: u64) -> (Tier, bool) {
        // Most sessions are never granted anything.
        if self.is_empty() {
            return (Tier::ReadOnly, false);
        }
        let mut shard = self.shard_of(session).lock();
        self.live(&mut shard, session, now_ns)
            .map_or((Tier::ReadOnly, false), |held| {
                (held.grants.tier, held.grants.consents_to(tool))
            })
    }

    /// Takes away everything a session holds.
    pub fn clear(&self, session: &[u8]) {
        let removed = self.shard_of(session).lock().remove(session);
        if removed.is_some() {
            self.sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Takes away everything that any session holds.
    pub fn clear_all(&self) {
        for shard in &self.shards {
            let old = std::mem::take(&mut *shard.0.lock());
            self.sessions.fetch_sub(old.len(), Ordering::Relaxed);
        }
    }

    /// Drops the grants of idle sessions, and returns how many that were. They are void from the
    /// moment they expire; this gives their memory back.
    pub fn expire(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| {
                let mut shard = shard.0.lock();
                let now = self.clock.monotonic_ns();
                let before = shard.len();
                shard.retain(|_, held| !self.is_idle(held, now));
                let removed = before - shard.len();
                self.sessions.fetch_sub(removed, Ordering::Relaxed);
                removed
            })
            .sum()
    }

    /// Sessions that hold something, idle ones not yet dropped included.
    pub fn len(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Whether no session holds anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Applies a change to what a session holds; a session that holds nothing yet is stored only if
    /// the change succeeds.
    fn update(
        &self,
        session: &[u8],
        change: impl Fn(&mut Grants) -> Result<(), GrantError>,
    ) -> Result<(), GrantError> {
        self.fits(session)?;
        if self.is_full() {
            self.expire();
        }
        let mut shard = self.shard_of(session).lock();
        let now = self.clock.monotonic_ns();
        if let Some(held) = self.live(&mut shard, session, now) {
            return change(&mut held.grants);
        }
        let mut grants = Grants::default();
        change(&mut grants)?;
        if self.sessions.fetch_add(1, Ordering::Relaxed) >= self.limits.sessions {
            self.sessions.fetch_sub(1, Ordering::Relaxed);
            return Err(GrantError::TooManySessions);
        }
        shard.insert(
            session.into(),
            Held {
                grants,
                used_ns: now,
            },
        );
        Ok(())
    }

    /// What a session holds, unless it has been idle for too long, in which case it holds nothing
    /// any more.
    fn live<'a>(&self, shard: &'a mut Shard, session: &[u8], now: u64) -> Option<&'a mut Held> {
        if self.is_idle(shard.get(session)?, now) {
            shard.remove(session);
            self.sessions.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let held = shard.get_mut(session)?;
        held.used_ns = held.used_ns.max(now);
        Some(held)
    }

    fn is_idle(&self, held: &Held, now: u64) -> bool {
        now.saturating_sub(held.used_ns) >= self.idle_ns
    }

    fn is_full(&self) -> bool {
        self.len() >= self.limits.sessions
    }

    fn fits(&self, name: &[u8]) -> Result<(), GrantError> {
        if name.len() > self.limits.name_bytes {
            return Err(GrantError::NameTooLong);
        }
        Ok(())
    }

    fn shard_of(&self, session: &[u8]) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(session) as usize % SHARDS].0
    }
}

impl Grants {
    fn consents_to(&self, tool: &[u8]) -> bool {
        self.consents.iter().any(|consented| **consented == *tool)
    }
}
