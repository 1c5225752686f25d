//! The one resource: everything that outlives a call.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustler::{Atom, Binary, Encoder, Env, NifMap, NifResult, Resource, ResourceArc, Term};
use security_core::audit_log::{ArgsHasher, AuditLog, TrailError};
use security_core::clock::{Clock, ManualClock, SystemClock};
use security_core::decision::Decider;
use security_core::permissions::{GrantLimits, Policy, Tier};
use security_core::rate_limiter::{Capacity, Rate};
use security_core::sanitizer::terms::Names;
use security_core::sanitizer::{Config, KnownSecrets, Memories, MemoryLimits, Sanitizer, UserRule};

use crate::atoms;

/// Limiter, grants, policy, audit log and redactor of one application (or one test).
pub struct Core {
    pub decider: Decider,
    pub audit: AuditLog,
    pub args_hasher: ArgsHasher,
    pub sanitizer: Sanitizer,
    pub known: RwLock<Arc<Known>>,
    pub memories: Memories,
    sources: Mutex<Sources>,
    manual: Option<Arc<ManualClock>>,
}

/// The known values, and what was found out about names since these are known.
pub struct Known {
    pub secrets: KnownSecrets,
    pub names: Names,
}

impl Known {
    fn new(secrets: KnownSecrets) -> Arc<Known> {
        let names = Names::new();
        Arc::new(Known { secrets, names })
    }
}

/// The values behind [`Core::known`], kept because each change builds the matcher anew.
#[derive(Default)]
struct Sources {
    collected: Vec<Vec<u8>>,
    /// Collected too, and taken whatever they look like: the cookies of this node's connections.
    cookies: Vec<Vec<u8>>,
    registered: Vec<Vec<u8>>,
}

#[rustler::resource_impl]
impl Resource for Core {}

#[derive(NifMap)]
struct Settings<'a> {
    unknown_tier: Atom,
    known_tiers: Vec<(String, Atom)>,
    tool_tiers: Vec<(String, Atom)>,
    tier_rates: Vec<(Atom, (u64, u64))>,
    tool_rates: Vec<(String, (u64, u64))>,
    audit_capacity: u64,
    audit_args_key: Binary<'a>,
    audit_chain_key: Binary<'a>,
    audit_file: Option<Binary<'a>>,
    audit_sync_each: bool,
    rules: Vec<(String, String, String)>,
    fields: Vec<String>,
    session_idle_ms: u64,
    manual_clock: bool,
}

pub fn tier_from(atom: Atom) -> Option<Tier> {
    [
        (atoms::read_only(), Tier::ReadOnly),
        (atoms::write(), Tier::Write),
        (atoms::execute(), Tier::Execute),
        (atoms::privileged(), Tier::Privileged),
    ]
    .into_iter()
    .find_map(|(known, tier)| (known == atom).then_some(tier))
}

pub fn tier_atom(tier: Tier) -> Atom {
    match tier {
        Tier::ReadOnly => atoms::read_only(),
        Tier::Write => atoms::write(),
        Tier::Execute => atoms::execute(),
        Tier::Privileged => atoms::privileged(),
    }
}

fn policy(settings: &Settings) -> Result<Policy, String> {
    let tier = |atom| tier_from(atom).ok_or_else(|| "a tier is unknown".to_owned());
    let rate = |(limit, window)| Rate::new(limit, window).map_err(|error| error.to_string());
    let mut policy = Policy::default();
    policy.set_unknown_tier(tier(settings.unknown_tier)?);
    for (tool, name) in &settings.known_tiers {
        policy.set_known_tier(tool.as_bytes(), tier(*name)?);
    }
    for (tool, name) in &settings.tool_tiers {
        policy.set_tool_tier(tool.as_bytes(), tier(*name)?);
    }
    for (name, pair) in &settings.tier_rates {
        policy.set_tier_rate(tier(*name)?, rate(*pair)?);
    }
    for (tool, pair) in &settings.tool_rates {
        policy.set_tool_rate(tool.as_bytes(), rate(*pair)?);
    }
    Ok(policy)
}

fn build(settings: &Settings) -> Result<Core, (Atom, String)> {
    let failed = |message: String| (atoms::error(), message);
    let policy = policy(settings).map_err(|message| (atoms::rate(), message))?;
    let key = |bytes: &Binary| -> Result<[u8; 32], (Atom, String)> {
        let key = bytes.as_slice().try_into();
        key.map_err(|_| failed("an audit key is not 32 bytes long".to_owned()))
    };
    let rules = settings
        .rules
        .iter()
        .map(|(name, pattern, replacement)| UserRule {
            name: name.clone(),
            pattern: pattern.clone(),
            replacement: replacement.clone(),
        })
        .collect();
    let config = Config {
        rules,
        fields: settings.fields.clone(),
    };
    let sanitizer = Sanitizer::new(config).map_err(|error| (atoms::config(), error.to_string()))?;
    let manual = settings
        .manual_clock
        .then(|| Arc::new(ManualClock::new(Duration::from_secs(1_000_000))));
    let clock: Arc<dyn Clock> = match &manual {
        Some(clock) => Arc::clone(clock) as Arc<dyn Clock>,
        None => Arc::new(SystemClock::new()),
    };
    let idle = Duration::from_millis(settings.session_idle_ms);
    let grants = GrantLimits {
        idle,
        ..GrantLimits::default()
    };
    let remembered = MemoryLimits {
        idle,
        ..MemoryLimits::default()
    };
    let capacity = settings.audit_capacity as usize;
    let chain_key = key(&settings.audit_chain_key)?;
    let audit = match &settings.audit_file {
        None => AuditLog::new(capacity, &chain_key, Arc::clone(&clock))
            .map_err(|error| failed(error.to_string()))?,
        Some(path) => {
            let path = Path::new(OsStr::from_bytes(path.as_slice()));
            let clock = Arc::clone(&clock);
            AuditLog::with_trail(capacity, &chain_key, clock, path, settings.audit_sync_each)
                .map_err(|error| match error {
                    TrailError::Taken => (atoms::taken(), error.to_string()),
                    error => (atoms::trail(), error.to_string()),
                })?
        }
    };
    Ok(Core {
        memories: Memories::new(remembered, Arc::clone(&clock)),
        decider: Decider::new(policy, Capacity::default(), grants, clock),
        audit,
        args_hasher: ArgsHasher::new(&key(&settings.audit_args_key)?),
        sanitizer,
        known: RwLock::new(Known::new(KnownSecrets::empty())),
        sources: Mutex::new(Sources::default()),
        manual,
    })
}

/// Dirty: building the redactor's tables takes milliseconds, and the trail's file is opened.
#[rustler::nif(schedule = "DirtyIo")]
fn core_new<'a>(env: Env<'a>, settings: Settings<'a>) -> Term<'a> {
    match build(&settings) {
        Ok(core) => (atoms::ok(), ResourceArc::new(core)).encode(env),
        Err((kind, message)) => (atoms::error(), (kind, message)).encode(env),
    }
}

#[rustler::nif]
fn core_put_policy<'a>(env: Env<'a>, core: ResourceArc<Core>, settings: Settings<'a>) -> Term<'a> {
    match policy(&settings) {
        Ok(policy) => {
            core.decider.set_policy(policy);
            atoms::ok().encode(env)
        }
        Err(message) => (atoms::error(), message).encode(env),
    }
}

/// `collected`, values and cookies, replaces what was collected before, or is `:keep`; `registered`
/// is added to what was registered.
#[rustler::nif(schedule = "DirtyCpu")]
fn core_put_known(
    core: ResourceArc<Core>,
    collected: Term,
    registered: Vec<Binary>,
) -> NifResult<Atom> {
    let mut sources = core.sources.lock();
    if !collected.is_atom() {
        let (collected, cookies): (Vec<Binary>, Vec<Binary>) = collected.decode()?;
        let owned = |values: Vec<Binary>| values.iter().map(|value| value.to_vec()).collect();
        let (collected, cookies): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (owned(collected), owned(cookies));
        let same = sources.collected == collected && sources.cookies == cookies;
        if same && registered.is_empty() {
            return Ok(atoms::ok());
        }
        (sources.collected, sources.cookies) = (collected, cookies);
    } else if collected.decode::<Atom>()? != atoms::keep() {
        return Err(rustler::Error::BadArg);
    }
    sources
        .registered
        .extend(registered.iter().map(|value| value.to_vec()));
    sources.registered.sort_unstable();
    sources.registered.dedup();
    let known = KnownSecrets::build_with(
        sources.collected.iter().cloned(),
        sources.registered.iter().chain(&sources.cookies).cloned(),
    );
    *core.known.write() = Known::new(known);
    Ok(atoms::ok())
}

#[rustler::nif]
fn clock_advance(core: ResourceArc<Core>, ms: u64) -> NifResult<Atom> {
    let clock = core.manual.as_ref().ok_or(rustler::Error::BadArg)?;
    clock.advance(Duration::from_millis(ms));
    Ok(atoms::ok())
}
