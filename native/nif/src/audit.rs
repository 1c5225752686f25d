//! The audit log.

use std::ffi::OsStr;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustler::{Atom, Binary, Encoder, Env, NewBinary, NifResult, NifTuple, ResourceArc, Term};
use security_core::audit_log::{
    ArgsHash, BrokenKind, Entry, Invocation, Order, Query, Recorded, Status, is_entry, verify_trail,
};
use security_core::plain_file;

use crate::atoms;
use crate::core::Core;
use crate::terms::{Budget, NORMAL, OverBudget, canonical, size_within};

/// Words of arguments that are hashed at most: a small term with shared parts can unfold to any
/// number.
const MAX_ARGS_WORDS: usize = 8_000_000;

/// Entries that are turned into terms well within a millisecond.
const NORMAL_ENTRIES: usize = 100;

// On a dirty scheduler the words above are the only bound.
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
        (atoms::started(), Status::Started),
        (atoms::granted(), Status::Granted),
        (atoms::consented(), Status::Consented),
        (atoms::declined(), Status::Declined),
        (atoms::unanswered(), Status::Unanswered),
        (atoms::revoked(), Status::Revoked),
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
        Status::Started => atoms::started(),
        Status::Granted => atoms::granted(),
        Status::Consented => atoms::consented(),
        Status::Declined => atoms::declined(),
        Status::Unanswered => atoms::unanswered(),
        Status::Revoked => atoms::revoked(),
        _ => atoms::crashed(),
    }
}

/// What an entry is made of, as it crosses:
/// `{session, tool, status, duration_us, args, confinement, of}`.
#[derive(NifTuple)]
struct Row<'a> {
    session: Binary<'a>,
    tool: Binary<'a>,
    status: Atom,
    duration_us: u64,
    args: Term<'a>,
    confinement: Option<Binary<'a>>,
    of: Option<u64>,
}

/// The hash of the arguments; an atom stands for none.
fn hash_of(core: &Core, row: &Row, budget: Budget) -> Result<Option<ArgsHash>, OverBudget> {
    if row.args.is_atom() {
        return Ok(None);
    }
    let bytes = canonical(row.args, budget)?;
    Ok(Some(core.args_hasher.hash(&bytes)))
}

fn append(core: &Core, row: &Row, args_hash: Option<ArgsHash>) -> NifResult<Option<Recorded>> {
    Ok(core.audit.record(&Invocation {
        session: row.session.as_slice(),
        tool: row.tool.as_slice(),
        status: status_from(row.status)?,
        duration_us: row.duration_us,
        args_hash,
        confinement: row.confinement.as_ref().map(|text| text.as_slice()),
        of: row.of,
    }))
}

/// The entry's id; `{:unkept, id, text}` when it is not in the file; `:over` for the end of a call
/// that has ended.
fn recorded<'a>(env: Env<'a>, recorded: Option<Recorded>) -> Term<'a> {
    match recorded {
        None => atoms::over().encode(env),
        Some(Recorded { id, kept: Ok(()) }) => id.encode(env),
        Some(Recorded {
            id,
            kept: Err(error),
        }) => (atoms::unkept(), id, error.to_string()).encode(env),
    }
}

/// As [`recorded`]; `:dirty` when the arguments are too large to hash here, or there is a file to
/// wait for.
#[rustler::nif]
fn audit_append<'a>(env: Env<'a>, core: ResourceArc<Core>, row: Row<'a>) -> NifResult<Term<'a>> {
    match hash_of(&core, &row, NORMAL) {
        Err(OverBudget) => Ok(atoms::dirty().encode(env)),
        Ok(_) if core.audit.has_trail() => Ok(atoms::dirty().encode(env)),
        Ok(hash) => Ok(recorded(env, append(&core, &row, hash)?)),
    }
}

/// Arguments beyond [`MAX_ARGS_WORDS`] have no hash.
#[rustler::nif(schedule = "DirtyIo")]
fn audit_append_dirty<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    row: Row<'a>,
) -> NifResult<Term<'a>> {
    let hash = match size_within(row.args, MAX_ARGS_WORDS, None) {
        Some(_) => hash_of(&core, &row, DIRTY).map_err(|OverBudget| rustler::Error::BadArg)?,
        None => None,
    };
    Ok(recorded(env, append(&core, &row, hash)?))
}

/// The end of a call whose caller is gone.
#[rustler::nif(schedule = "DirtyIo")]
fn audit_abandon<'a>(env: Env<'a>, core: ResourceArc<Core>, started: u64) -> Term<'a> {
    recorded(env, core.audit.abandon(started))
}

/// What was written to the file is on the disk: `:ok`, or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn audit_sync<'a>(env: Env<'a>, core: ResourceArc<Core>) -> Term<'a> {
    match core.audit.sync() {
        Ok(()) => atoms::ok().encode(env),
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

/// Checks a file with the chain's key: `{:ok, entries, head, torn_bytes}`,
/// `{:damaged, text, entries, head}` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn audit_verify_trail<'a>(env: Env<'a>, path: Binary<'a>, key: Binary<'a>) -> NifResult<Term<'a>> {
    let key = key.as_slice().try_into();
    let key: [u8; 32] = key.map_err(|_| rustler::Error::BadArg)?;
    let path = Path::new(OsStr::from_bytes(path.as_slice()));
    let checked = plain_file::open(path)
        .map_err(|refused| refused.name().to_owned())
        .and_then(|file| {
            verify_trail(BufReader::new(file), &key).map_err(|error| error.to_string())
        });
    Ok(match checked {
        Ok(Ok((good, torn))) => (
            atoms::ok(),
            good.entries,
            bytes(env, &good.head),
            torn.map_or(0, |torn| torn.bytes),
        )
            .encode(env),
        Ok(Err(damage)) => (
            atoms::damaged(),
            damage.to_string(),
            damage.good.entries,
            bytes(env, &damage.good.head),
        )
            .encode(env),
        Err(text) => (atoms::error(), text).encode(env),
    })
}

/// Whether a line of a file is an entry. Lines that are too long are none unread.
#[rustler::nif]
fn audit_is_entry(line: Binary) -> bool {
    is_entry(line.as_slice())
}

/// The file that entries are written to as well, or `nil`.
#[rustler::nif]
fn audit_file<'a>(env: Env<'a>, core: ResourceArc<Core>) -> Term<'a> {
    match core.audit.trail_path() {
        Some(path) => bytes(env, path.as_os_str().as_bytes()),
        None => atoms::nil().encode(env),
    }
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
    let [session, tool, status, duration, hash, confinement, of] = match &entry.content {
        None => [nil(), nil(), nil(), nil(), nil(), nil(), nil()],
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
            content.of.encode(env),
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
            of,
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

/// The entries, or `:dirty` when so many are asked for that turning them into terms may take long.
#[rustler::nif]
fn audit_query<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    session: Option<Binary<'a>>,
    limit: usize,
    order: Atom,
) -> NifResult<Term<'a>> {
    if limit > NORMAL_ENTRIES {
        return Ok(atoms::dirty().encode(env));
    }
    query(env, &core, session, limit, order)
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

/// The hash, or `:too_large` for arguments beyond [`MAX_ARGS_WORDS`].
#[rustler::nif(schedule = "DirtyCpu")]
fn args_hash_dirty<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    args: Term<'a>,
) -> NifResult<Term<'a>> {
    if size_within(args, MAX_ARGS_WORDS, None).is_none() {
        return Ok(atoms::too_large().encode(env));
    }
    let canonical = canonical(args, DIRTY).map_err(|OverBudget| rustler::Error::BadArg)?;
    Ok(bytes(env, &core.args_hasher.hash(&canonical)))
}
