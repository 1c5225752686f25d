//! The audit log.

use rustler::{Atom, Binary, Encoder, Env, NewBinary, NifResult, NifTuple, ResourceArc, Term};
use security_core::audit_log::{BrokenKind, Entry, Invocation, Order, Query, Status};

use crate::atoms;
use crate::core::Core;
use crate::terms::{Budget, NORMAL, OverBudget, canonical};

// Arguments beyond this are hashed up to no end on a dirty scheduler: they came in over the wire, so they are bounded there.
const DIRTY: Budget = Budget {
    nodes: usize::MAX,
    bytes: usize::MAX,
};

fn status_from(atom: Atom) -> NifResult<Status> {
    [
        (atoms::ok(), Status::Ok),
        (atoms::error(), Status::Error),
        (atoms::blocked(), Status::Blocked),
        (atoms::timeout(), Status::Timeout),
        (atoms::crashed(), Status::Crashed),
        (atoms::cancelled(), Status::Cancelled),
    ]
    .into_iter()
    .find_map(|(known, status)| (known == atom).then_some(status))
    .ok_or(rustler::Error::BadArg)
}

fn status_atom(status: Status) -> Atom {
    match status {
        Status::Ok => atoms::ok(),
        Status::Error => atoms::error(),
        Status::Blocked => atoms::blocked(),
        Status::Timeout => atoms::timeout(),
        Status::Cancelled => atoms::cancelled(),
        _ => atoms::crashed(),
    }
}

/// What an entry is made of, as it crosses: `{session, tool, status, duration_us, args, confinement}`.
#[derive(NifTuple)]
struct Row<'a> {
    session: Binary<'a>,
    tool: Binary<'a>,
    status: Atom,
    duration_us: u64,
    args: Term<'a>,
    confinement: Option<Binary<'a>>,
}

fn append(core: &Core, row: &Row, budget: Budget) -> NifResult<Result<u64, OverBudget>> {
    let status = status_from(row.status)?;
    let args_hash = if row.args.is_atom() {
        None
    } else {
        match canonical(row.args, budget) {
            Ok(bytes) => Some(core.args_hasher.hash(&bytes)),
            Err(over) => return Ok(Err(over)),
        }
    };
    Ok(Ok(core.audit.append(&Invocation {
        session: row.session.as_slice(),
        tool: row.tool.as_slice(),
        status,
        duration_us: row.duration_us,
        args_hash,
        confinement: row.confinement.as_ref().map(|text| text.as_slice()),
    })))
}

/// The entry's id, or `:dirty` when the arguments are too large to hash here.
#[rustler::nif]
fn audit_append<'a>(env: Env<'a>, core: ResourceArc<Core>, row: Row<'a>) -> NifResult<Term<'a>> {
    Ok(match append(&core, &row, NORMAL)? {
        Ok(id) => id.encode(env),
        Err(OverBudget) => atoms::dirty().encode(env),
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn audit_append_dirty(core: ResourceArc<Core>, row: Row) -> NifResult<u64> {
    append(&core, &row, DIRTY)?.map_err(|OverBudget| rustler::Error::BadArg)
}

/// Changes how many entries are kept. Dirty: a smaller log frees what it loses.
#[rustler::nif(schedule = "DirtyCpu")]
fn audit_resize<'a>(env: Env<'a>, core: ResourceArc<Core>, capacity: usize) -> Term<'a> {
    match core.audit.set_capacity(capacity) {
        Ok(()) => atoms::ok().encode(env),
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

#[rustler::nif]
fn audit_capacity(core: ResourceArc<Core>) -> u64 {
    core.audit.capacity() as u64
}

fn bytes<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    NewBinary::from_slice(env, bytes).into()
}

fn entry_term<'a>(env: Env<'a>, entry: &Entry) -> Term<'a> {
    let nil = || atoms::nil().encode(env);
    let [session, tool, status, duration, hash, confinement] = match &entry.content {
        None => [nil(), nil(), nil(), nil(), nil(), nil()],
        Some(content) => [
            bytes(env, &content.session),
            bytes(env, &content.tool),
            status_atom(content.status).encode(env),
            content.duration_us.encode(env),
            content.args_hash.map_or_else(nil, |hash| bytes(env, &hash)),
            content
                .confinement
                .as_ref()
                .map_or_else(nil, |text| bytes(env, text)),
        ],
    };
    rustler::types::tuple::make_tuple(
        env,
        &[
            entry.id.encode(env),
            entry.timestamp_us.encode(env),
            session,
            tool,
            status,
            duration,
            hash,
            confinement,
            bytes(env, &entry.digest),
        ],
    )
}

fn query<'a>(
    env: Env<'a>,
    core: &Core,
    session: Option<Binary<'a>>,
    limit: usize,
    order: Atom,
) -> NifResult<Term<'a>> {
    let order = match order {
        order if order == atoms::asc() => Order::OldestFirst,
        order if order == atoms::desc() => Order::NewestFirst,
        _ => return Err(rustler::Error::BadArg),
    };
    let entries = core.audit.query(&Query {
        session: session.as_ref().map(|session| session.as_slice()),
        order,
        limit,
        ..Query::default()
    });
    let terms: Vec<Term> = entries.iter().map(|entry| entry_term(env, entry)).collect();
    Ok(terms.encode(env))
}

/// For limits that are answered well within a millisecond; the caller chooses.
#[rustler::nif]
fn audit_query<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    session: Option<Binary<'a>>,
    limit: usize,
    order: Atom,
) -> NifResult<Term<'a>> {
    query(env, &core, session, limit.min(100), order)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn audit_query_dirty<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    session: Option<Binary<'a>>,
    limit: usize,
    order: Atom,
) -> NifResult<Term<'a>> {
    query(env, &core, session, limit, order)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn audit_verify<'a>(env: Env<'a>, core: ResourceArc<Core>) -> Term<'a> {
    match core.audit.verify() {
        Ok(verified) => (
            atoms::ok(),
            verified.entries as u64,
            bytes(env, &verified.anchor.digest),
            bytes(env, &verified.head),
        )
            .encode(env),
        Err(broken) => {
            let kind = match broken.kind {
                BrokenKind::Sequence => "sequence",
                BrokenKind::Content => "content",
                BrokenKind::Chain => "chain",
                BrokenKind::Head => "head",
                _ => "unknown",
            };
            (atoms::error(), kind, broken.id).encode(env)
        }
    }
}

#[rustler::nif]
fn audit_count(core: ResourceArc<Core>) -> u64 {
    core.audit.count() as u64
}

#[rustler::nif(schedule = "DirtyCpu")]
fn audit_clear_session(core: ResourceArc<Core>, session: Binary) -> Atom {
    core.audit.clear_session(session.as_slice());
    atoms::ok()
}

#[rustler::nif(schedule = "DirtyCpu")]
fn audit_clear_all(core: ResourceArc<Core>) -> Atom {
    core.audit.clear_all();
    atoms::ok()
}

#[rustler::nif]
fn args_hash<'a>(env: Env<'a>, core: ResourceArc<Core>, args: Term<'a>) -> Term<'a> {
    match canonical(args, NORMAL) {
        Ok(canonical) => bytes(env, &core.args_hasher.hash(&canonical)),
        Err(OverBudget) => atoms::dirty().encode(env),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn args_hash_dirty<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    args: Term<'a>,
) -> NifResult<Term<'a>> {
    let canonical = canonical(args, DIRTY).map_err(|OverBudget| rustler::Error::BadArg)?;
    Ok(bytes(env, &core.args_hasher.hash(&canonical)))
}
