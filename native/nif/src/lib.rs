//! Glue between Erlang terms and the pure crates: decode, call, encode, and which scheduler does
//! it.
//!
//! No decision is made here. What a term can't express is refused with `badarg`; a panic is caught
//! by rustler and becomes an Erlang error, which every caller turns into a denial or a redaction.

mod audit;
mod code_search;
mod commands;
mod core;
mod json;
mod limits;
mod plain_file;
mod policy;
mod runner;
mod sanitize;
mod terms;
mod text_match;

use rustler::{Env, Term};

mod atoms {
    rustler::atoms! {
        ok,
        error,
        nil,
        dirty,
        clean,
        // tiers
        read_only,
        write,
        execute,
        privileged,
        // which part of a decision
        all,
        door,
        door_refused,
        rate,
        permission,
        consent,
        // where grants come from
        session,
        none,
        // decisions
        rate_limited,
        refusals_limited,
        permission_denied,
        consent_required,
        unknown_tool,
        // grants
        tier_downgrade,
        already_consented,
        not_consented,
        too_many_sessions,
        too_many_consents,
        name_too_long,
        // audit
        blocked,
        timeout,
        crashed,
        cancelled,
        started,
        granted,
        consented,
        declined,
        unanswered,
        revoked,
        over,
        unkept,
        trail,
        taken,
        damaged,
        asc,
        desc,
        too_large,
        // known secrets
        keep,
        // sanitizer
        redacted = "[REDACTED]",
        config,
        // kinds of a task option's value
        name,
        flag,
        // command plans
        denied,
        integer,
        text,
        path,
    }
}

// The default hook prints a panic's message, and a message may hold input. rustler reports the
// panic to the caller anyway.
fn load(_env: Env, _info: Term) -> bool {
    std::panic::set_hook(Box::new(|_panic| {}));
    true
}

rustler::init!("Elixir.JidoCode.Tools.Security.Native", load = load);
