//! Redaction of whole terms: maps, lists and tuples of any depth, in whatever representation the
//! caller has them.
//!
//! One pass with an explicit stack: terms nest deeper than a native stack holds. What holds no
//! secret is used as it is; what is rebuilt keeps its kind, so a tuple stays a tuple, a charlist a
//! charlist, an atom an atom. Beyond the budget everything is withheld.

mod frame;
mod names;
mod text;
mod walk;

pub use names::Names;

use super::{KnownSecrets, Memory, Sanitizer, Summary, memory, replace};
use std::sync::Arc;

/// What takes a secret's place, as a text, a charlist or an atom.
pub const REDACTED: &str = "[REDACTED]";

/// What takes the place of what was not searched.
pub const WITHHELD: &str = "[REDACTED: too large to be searched for secrets]";

/// A term's kind, as far as a walk cares.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'t> {
    /// A binary.
    Text(&'t [u8]),
    /// An atom, by a number that no other atom has.
    Atom(u64),
    /// An integer, and which one if it may be a character.
    Integer(Option<u32>),
    /// A floating point number.
    Float,
    /// A list, the empty one included.
    List,
    /// A tuple.
    Tuple,
    /// A map.
    Map,
    /// What holds no text: pids, ports, references, functions, bitstrings of no whole bytes.
    Opaque,
}

/// How terms are looked into and made.
pub trait Terms {
    /// A term: cheap to clone.
    type Term: Clone;

    /// What `term` is.
    fn kind<'t>(&'t self, term: &'t Self::Term) -> Kind<'t>;
    /// The name of an atom.
    fn atom_name(&self, atom: &Self::Term) -> String;
    /// The first element of a list and the rest; `None` for the empty list and for what is not a
    /// list.
    fn cell(&self, list: &Self::Term) -> Option<(Self::Term, Self::Term)>;
    /// The elements of a tuple.
    fn elements(&self, tuple: &Self::Term) -> Vec<Self::Term>;
    /// How many members a map has.
    fn size(&self, map: &Self::Term) -> usize;
    /// The members of a map, each time in the same order.
    fn members(&self, map: &Self::Term) -> Vec<(Self::Term, Self::Term)>;

    /// A binary.
    fn text(&self, bytes: &[u8]) -> Self::Term;
    /// A list of characters.
    fn chars(&self, text: &str) -> Self::Term;
    /// The atom that reads [`REDACTED`].
    fn marker(&self) -> Self::Term;
    /// A list; `tail` makes it an improper one.
    fn list(&self, elements: Vec<Self::Term>, tail: Option<Self::Term>) -> Self::Term;
    /// A tuple.
    fn tuple(&self, elements: Vec<Self::Term>) -> Self::Term;
    /// `map` with some members replaced.
    fn replaced(&self, map: &Self::Term, members: Vec<Replaced<Self::Term>>) -> Self::Term;
}

/// A map's member that changed.
#[derive(Debug, Clone)]
pub struct Replaced<T> {
    /// The key as it was.
    pub key: T,
    /// The key that takes its place, if that changed.
    pub new_key: Option<T>,
    /// The value, changed or not.
    pub value: T,
}

/// How much a walk may cost before it has to move elsewhere or to stop.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Terms, the inner ones included.
    pub nodes: usize,
    /// Bytes of text, and of the walk's own memory.
    pub bytes: usize,
}

impl Budget {
    /// Takes one node and some bytes; false when there is no budget for them.
    pub fn take(&mut self, bytes: usize) -> bool {
        if self.nodes == 0 || self.bytes < bytes {
            return false;
        }
        self.nodes -= 1;
        self.bytes -= bytes;
        true
    }
}

/// What becomes of what the budget does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// The walk stops, to be done elsewhere with a larger budget.
    Stop,
    /// [`WITHHELD`] takes its place.
    Withhold,
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<T> {
    /// Nothing: the term is used as it is.
    Clean,
    /// The term without its secrets, and what was replaced.
    Redacted(T, Summary),
    /// The budget ran out, see [`Beyond::Stop`].
    Stopped,
}

/// What is known before a walk begins.
#[derive(Debug, Clone, Copy)]
pub struct Knowledge<'k> {
    /// The values that this node keeps secret.
    pub secrets: &'k KnownSecrets,
    /// Belongs to the sanitizer and to these values.
    pub names: &'k Names,
    /// What the session's earlier outputs gave away. What this one does is added.
    pub memory: Option<&'k Memory>,
}

/// So many values that a term gives away by their names are looked for in the rest of it.
const TOLD: usize = 256;

impl Sanitizer {
    /// Takes the secrets out of a term. A random-looking value that stands under its name in one
    /// place goes in all others, and in those of the session's later terms.
    pub fn redact_term<T: Terms>(
        &self,
        terms: &T,
        term: &T::Term,
        knowledge: Knowledge<'_>,
        limit: (Budget, Beyond),
    ) -> Outcome<T::Term> {
        let remembered = knowledge.memory.map(Memory::known);
        let (outcome, told) = self.redact_once(terms, term, knowledge, remembered, limit);
        let text = matches!(terms.kind(term), Kind::Text(_));
        let memory = match knowledge.memory {
            Some(memory) => memory,
            // Within one text its values have been looked for already.
            None if text || told.is_empty() => return outcome,
            None => &Memory::new(TOLD),
        };
        if !memory.is_news(&told) {
            return outcome;
        }
        // To learn takes longer than a walk that must stop may.
        if limit.1 == Beyond::Stop {
            return Outcome::Stopped;
        }
        memory.learn_all(told.iter().map(Vec::as_slice));
        if text {
            return outcome;
        }
        self.redact_once(terms, term, knowledge, Some(memory.known()), limit)
            .0
    }

    /// One walk, and the values that were given away in it.
    fn redact_once<T: Terms>(
        &self,
        terms: &T,
        term: &T::Term,
        knowledge: Knowledge<'_>,
        remembered: Option<Arc<KnownSecrets>>,
        limit: (Budget, Beyond),
    ) -> (Outcome<T::Term>, Vec<Vec<u8>>) {
        let remembered = remembered.filter(|known| !known.is_empty());
        let both;
        let known = match &remembered {
            None => std::slice::from_ref(&knowledge.secrets),
            Some(remembered) => {
                both = [knowledge.secrets, &**remembered];
                &both
            }
        };
        let mut told = Vec::new();
        // A text by itself, the most frequent term by far, needs no walk.
        if let Kind::Text(text) = terms.kind(term)
            && text.len() <= limit.0.bytes
        {
            let outcome = match self.redact_and_tell(text, known, &mut told) {
                Some((clean, summary)) => Outcome::Redacted(terms.text(&clean), summary),
                None => Outcome::Clean,
            };
            return (outcome, told);
        }
        walk::Walk::new(self, terms, (known, knowledge.names), limit).run(term)
    }

    /// A text without its secrets, and what these were. Those that it gives away by their names are
    /// added to `told`.
    fn redact_and_tell(
        &self,
        text: &[u8],
        known: &[&KnownSecrets],
        told: &mut Vec<Vec<u8>>,
    ) -> Option<(Vec<u8>, Summary)> {
        let findings = self.scan_all(text, known);
        if findings.spans.is_empty() {
            return None;
        }
        let more = TOLD.saturating_sub(told.len());
        told.extend(memory::told(text, &findings).take(more).map(<[u8]>::to_vec));
        let summary = Summary::of(text, &findings);
        Some((replace(text, &findings.spans).0, summary))
    }
}
