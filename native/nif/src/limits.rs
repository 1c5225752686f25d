//! Decisions, rates and grants.

use rustler::{Atom, Binary, Encoder, Env, NifResult, ResourceArc, Term};
use security_core::decision::{Consented, Decision, Granted, Part, Request};
use security_core::permissions::GrantError;
use security_core::rate_limiter::{Cursor, Expired, Rate, Verdict};

use crate::atoms;
use crate::core::{Core, tier_atom, tier_from};

fn rate((limit, window_ms): (u64, u64)) -> NifResult<Rate> {
    Rate::new(limit, window_ms).map_err(|_| rustler::Error::BadArg)
}

/// The decision on one call, or a part of it. `:unknown_tool` when nobody has classified the tool:
/// the caller then asks again with a tier.
#[allow(clippy::too_many_arguments)] // one call decides: what it takes crosses once
#[rustler::nif]
fn decide<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    part: Atom,
    session: Binary<'a>,
    tool: Binary<'a>,
    handler_tier: Atom,
    handler_rate: Option<(u64, u64)>,
    requires_consent: bool,
    granted: Atom,
    consented: Atom,
) -> NifResult<Term<'a>> {
    let part = match part {
        part if part == atoms::all() => Part::All,
        part if part == atoms::door() => Part::Door { sound: true },
        part if part == atoms::door_refused() => Part::Door { sound: false },
        part if part == atoms::rate() => Part::Rate,
        part if part == atoms::permission() => Part::Permission,
        part if part == atoms::consent() => Part::Consent,
        _ => return Err(rustler::Error::BadArg),
    };
    let handler_tier = if handler_tier == atoms::nil() {
        None
    } else {
        Some(tier_from(handler_tier).ok_or(rustler::Error::BadArg)?)
    };
    let known = || {
        core.decider
            .with_policy(|policy| policy.known_tier(tool.as_slice()))
    };
    if handler_tier.is_none() && known().is_none() {
        return Ok(atoms::unknown_tool().encode(env));
    }
    let request = Request {
        session: session.as_slice(),
        tool: tool.as_slice(),
        handler_tier,
        handler_rate: handler_rate.map(rate).transpose()?,
        requires_consent,
        granted: if granted == atoms::session() {
            Granted::FromSession
        } else {
            // Anything but a tier grants nothing.
            Granted::Explicit(tier_from(granted))
        },
        consented: if consented == atoms::session() {
            Consented::FromSession
        } else {
            Consented::Explicit(consented == rustler::types::atom::true_())
        },
    };
    Ok(match core.decider.decide_part(part, request) {
        Decision::Allowed { .. } => atoms::ok().encode(env),
        Decision::RateLimited {
            rate,
            retry_after_ms,
            refusals,
        } => (
            if refusals {
                atoms::refusals_limited()
            } else {
                atoms::rate_limited()
            },
            rate.limit(),
            rate.window_ms(),
            retry_after_ms,
        )
            .encode(env),
        Decision::PermissionDenied { required, granted } => (
            atoms::permission_denied(),
            tier_atom(required),
            granted.map(tier_atom),
        )
            .encode(env),
        Decision::ConsentRequired { tier } => {
            (atoms::consent_required(), tier_atom(tier)).encode(env)
        }
    })
}

#[rustler::nif]
fn rate_check<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    session: Binary<'a>,
    tool: Binary<'a>,
    limit: u64,
    window_ms: u64,
) -> NifResult<Term<'a>> {
    let rate = rate((limit, window_ms))?;
    let limiter = core.decider.limiter();
    Ok(
        match limiter.check(session.as_slice(), tool.as_slice(), rate) {
            Verdict::Admitted => atoms::ok().encode(env),
            Verdict::Denied { retry_after_ms } => retry_after_ms.encode(env),
        },
    )
}

/// Dirty: counting walks the key's stamps.
#[rustler::nif(schedule = "DirtyCpu")]
fn rate_count(core: ResourceArc<Core>, session: Binary, tool: Binary, window_ms: u64) -> u64 {
    let limiter = core.decider.limiter();
    limiter.count(session.as_slice(), tool.as_slice(), window_ms) as u64
}

/// Dirty, as are the other clearing functions: they walk shards.
#[rustler::nif(schedule = "DirtyCpu")]
fn rate_clear_session(core: ResourceArc<Core>, session: Binary) -> Atom {
    core.decider.limiter().clear_session(session.as_slice());
    atoms::ok()
}

#[rustler::nif(schedule = "DirtyCpu")]
fn rate_clear_all(core: ResourceArc<Core>) -> Atom {
    core.decider.limiter().clear_all();
    atoms::ok()
}

#[rustler::nif(schedule = "DirtyCpu")]
fn rate_cleanup(core: ResourceArc<Core>, max_age_ms: u64) -> u64 {
    core.decider.limiter().cleanup(max_age_ms) as u64
}

/// Drops the keys that no window counts any more; changes no answer. Locks are held for one step at
/// a time.
#[rustler::nif(schedule = "DirtyCpu")]
fn rate_sweep(core: ResourceArc<Core>) -> u64 {
    let limiter = core.decider.limiter();
    let mut removed = 0;
    let mut cursor = Some(Cursor::default());
    while let Some(at) = cursor {
        let step = limiter.cleanup_step(at, 256, Expired::OutsideWindow);
        removed += step.removed as u64;
        cursor = step.next;
    }
    removed
}

#[rustler::nif]
fn tier_of(core: ResourceArc<Core>, tool: Binary) -> Option<Atom> {
    core.decider
        .with_policy(|policy| policy.known_tier(tool.as_slice()))
        .map(tier_atom)
}

#[rustler::nif]
fn tier_rate(core: ResourceArc<Core>, tier: Atom) -> NifResult<(u32, u64)> {
    let tier = tier_from(tier).ok_or(rustler::Error::BadArg)?;
    let rate = core.decider.with_policy(|policy| policy.tier_rate(tier));
    Ok((rate.limit(), rate.window_ms()))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn tier_table(core: ResourceArc<Core>) -> Vec<(String, Atom)> {
    core.decider.with_policy(|policy| {
        policy
            .known_tools()
            .map(|(tool, tier)| (String::from_utf8_lossy(tool).into_owned(), tier_atom(tier)))
            .collect()
    })
}

fn grant_answer(result: Result<(), GrantError>) -> Atom {
    match result {
        Ok(()) => atoms::ok(),
        Err(GrantError::TierDowngrade { .. }) => atoms::tier_downgrade(),
        Err(GrantError::AlreadyConsented) => atoms::already_consented(),
        Err(GrantError::NotConsented) => atoms::not_consented(),
        Err(GrantError::TooManySessions) => atoms::too_many_sessions(),
        Err(GrantError::TooManyConsents) => atoms::too_many_consents(),
        Err(GrantError::NameTooLong) => atoms::name_too_long(),
        Err(_) => atoms::error(),
    }
}

#[rustler::nif]
fn grant_tier(core: ResourceArc<Core>, session: Binary, tier: Atom) -> NifResult<Atom> {
    let tier = tier_from(tier).ok_or(rustler::Error::BadArg)?;
    let grants = core.decider.grants();
    Ok(grant_answer(grants.grant_tier(session.as_slice(), tier)))
}

#[rustler::nif]
fn grant_get(core: ResourceArc<Core>, session: Binary) -> (Atom, Vec<String>) {
    let grants = core.decider.grants().get(session.as_slice());
    let consents = grants
        .consents
        .iter()
        .map(|tool| String::from_utf8_lossy(tool).into_owned())
        .collect();
    (tier_atom(grants.tier), consents)
}

#[rustler::nif]
fn grant_clear(core: ResourceArc<Core>, session: Binary) -> Atom {
    core.decider.grants().clear(session.as_slice());
    atoms::ok()
}

#[rustler::nif(schedule = "DirtyCpu")]
fn grant_expire(core: ResourceArc<Core>) -> u64 {
    core.decider.grants().expire() as u64
}

#[rustler::nif]
fn consent_record(core: ResourceArc<Core>, session: Binary, tool: Binary) -> Atom {
    let grants = core.decider.grants();
    grant_answer(grants.record_consent(session.as_slice(), tool.as_slice()))
}

#[rustler::nif]
fn consent_revoke(core: ResourceArc<Core>, session: Binary, tool: Binary) -> Atom {
    let grants = core.decider.grants();
    grant_answer(grants.revoke_consent(session.as_slice(), tool.as_slice()))
}
