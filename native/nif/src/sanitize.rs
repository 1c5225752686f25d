//! Redaction of terms: how the core looks into Erlang's terms and makes them anew. What goes is
//! decided there.

use std::sync::Arc;

use rustler::types::tuple;
use rustler::{
    Atom, Binary, Encoder, Env, MapIterator, NewBinary, NifResult, ResourceArc, Term, TermType,
};
use security_core::sanitizer::terms::{Beyond, Budget, Kind, Knowledge, Outcome, Replaced, Terms};
use security_core::sanitizer::{self, Memory};

use crate::atoms;
use crate::core::{Core, Known};

/// Hostile text costs more per byte than ordinary text; this much stays well under a millisecond
/// even so.
const NORMAL: Budget = Budget {
    nodes: 1_000,
    bytes: 4 * 1024,
};

const DIRTY: Budget = Budget {
    nodes: 5_000_000,
    bytes: 64 * 1024 * 1024,
};

/// What the VM calls an atom by; no other has the same, as long as the VM lives.
fn number(atom: Term) -> u64 {
    // SAFETY: the handle is one machine word in a transparent structure, any word is a `usize`, and
    // nothing is done with it.
    let word: usize = unsafe { std::mem::transmute(atom.as_c_arg()) };
    word as u64
}

/// The terms of one call.
struct Erlang<'a>(Env<'a>);

impl<'a> Terms for Erlang<'a> {
    type Term = Term<'a>;

    fn kind<'t>(&'t self, term: &'t Term<'a>) -> Kind<'t> {
        match term.get_type() {
            // A bitstring of no whole bytes shows its bits; nothing reads a secret from it.
            TermType::Binary => match Binary::from_term(*term) {
                Ok(binary) => Kind::Text(binary.as_slice()),
                Err(_) => Kind::Opaque,
            },
            TermType::Atom => Kind::Atom(number(*term)),
            TermType::Integer => Kind::Integer(term.decode().ok()),
            TermType::Float => Kind::Float,
            TermType::List => Kind::List,
            TermType::Tuple => Kind::Tuple,
            TermType::Map => Kind::Map,
            // Pids, ports and references hold no text; a fun's environment is never shown.
            _ => Kind::Opaque,
        }
    }

    fn atom_name(&self, atom: &Term<'a>) -> String {
        atom.atom_to_string().unwrap_or_default()
    }

    fn cell(&self, list: &Term<'a>) -> Option<(Term<'a>, Term<'a>)> {
        list.list_get_cell().ok()
    }

    fn elements(&self, tuple: &Term<'a>) -> Vec<Term<'a>> {
        tuple::get_tuple(*tuple).unwrap_or_default()
    }

    fn size(&self, map: &Term<'a>) -> usize {
        map.map_size().unwrap_or(0)
    }

    fn members(&self, map: &Term<'a>) -> Vec<(Term<'a>, Term<'a>)> {
        let mut members = Vec::with_capacity(self.size(map));
        members.extend(MapIterator::new(*map).into_iter().flatten());
        members
    }

    fn text(&self, bytes: &[u8]) -> Term<'a> {
        NewBinary::from_slice(self.0, bytes).into()
    }

    fn chars(&self, text: &str) -> Term<'a> {
        let chars: Vec<u32> = text.chars().map(u32::from).collect();
        chars.encode(self.0)
    }

    fn marker(&self) -> Term<'a> {
        atoms::redacted().encode(self.0)
    }

    fn list(&self, elements: Vec<Term<'a>>, tail: Option<Term<'a>>) -> Term<'a> {
        let tail = tail.unwrap_or_else(|| Term::list_new_empty(self.0));
        let elements = elements.into_iter().rev();
        elements.fold(tail, |list, element| list.list_prepend(element))
    }

    fn tuple(&self, elements: Vec<Term<'a>>) -> Term<'a> {
        tuple::make_tuple(self.0, &elements)
    }

    fn replaced(&self, map: &Term<'a>, members: Vec<Replaced<Term<'a>>>) -> Term<'a> {
        let replace = |map: Term<'a>, member: Replaced<Term<'a>>| {
            let (map, key) = match member.new_key {
                Some(new) => (map.map_remove(member.key).unwrap_or(map), new),
                None => (map, member.key),
            };
            map.map_put(key, member.value).unwrap_or(map)
        };
        members.into_iter().fold(*map, replace)
    }
}

fn redact<'a>(
    env: Env<'a>,
    core: &Core,
    term: Term<'a>,
    memory: Option<&Memory>,
    limit: (Budget, Beyond),
) -> Term<'a> {
    let known: Arc<Known> = Arc::clone(&core.known.read());
    let knowledge = Knowledge {
        secrets: &known.secrets,
        names: &known.names,
        memory,
    };
    match core
        .sanitizer
        .redact_term(&Erlang(env), &term, knowledge, limit)
    {
        Outcome::Clean => atoms::clean().encode(env),
        Outcome::Redacted(clean, summary) => {
            (clean, summary.total() as u64, summary.to_string()).encode(env)
        }
        Outcome::Stopped => atoms::dirty().encode(env),
    }
}

/// `:clean`, `{term, count, note}`, or `:dirty` when the term is too large to be searched here, or
/// gives away something for its session to remember.
#[rustler::nif]
fn sanitize<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    session: Option<Binary>,
    term: Term<'a>,
) -> Term<'a> {
    let limit = (NORMAL, Beyond::Stop);
    let Some(session) = session else {
        return redact(env, &core, term, None, limit);
    };
    match core.memories.of(session.as_slice()) {
        Some(memory) => redact(env, &core, term, Some(&memory), limit),
        None => redact(env, &core, term, Some(&Memory::new(1)), limit),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn sanitize_dirty<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    session: Option<Binary>,
    term: Term<'a>,
) -> Term<'a> {
    let limit = (DIRTY, Beyond::Withhold);
    match session {
        None => redact(env, &core, term, None, limit),
        Some(session) => core.memories.learning(session.as_slice(), |memory| {
            redact(env, &core, term, Some(memory), limit)
        }),
    }
}

/// The session has ended: what its outputs gave away is forgotten.
#[rustler::nif]
fn sanitizer_forget(core: ResourceArc<Core>, session: Binary) -> Atom {
    core.memories.forget(session.as_slice());
    atoms::ok()
}

#[rustler::nif(schedule = "DirtyCpu")]
fn sanitizer_expire(core: ResourceArc<Core>) -> Atom {
    core.memories.expire();
    atoms::ok()
}

/// The secret parts of a value that stands under a name in a configuration.
#[rustler::nif(schedule = "DirtyCpu")]
fn sanitizer_secrets_in<'a>(
    env: Env<'a>,
    core: ResourceArc<Core>,
    name: Binary,
    value: Binary,
) -> Vec<Term<'a>> {
    let parts = core.sanitizer.secrets_in(name.as_slice(), value.as_slice());
    parts.iter().map(|part| Erlang(env).text(part)).collect()
}

#[rustler::nif(schedule = "DirtyCpu")]
fn sanitizer_rules() -> NifResult<Vec<(String, String, String)>> {
    Ok(sanitizer::rules()
        .map(|rule| {
            (
                rule.name.to_string(),
                rule.replacement.to_string(),
                rule.description.to_string(),
            )
        })
        .collect())
}
