//! Redaction of whole terms: the walk is here, the judgement is the sanitizer's.
//!
//! One pass, with an explicit stack: terms nest deeper than a native stack holds. What holds no secret is used as it is; what
//! is rebuilt keeps its kind, so a tuple stays a tuple and a charlist a charlist. Beyond the budget everything is withheld.

use std::collections::HashMap;
use std::sync::Arc;

use rustler::{
    Atom, Binary, Encoder, Env, MapIterator, NewBinary, NifResult, ResourceArc, Term, TermType,
};
use security_core::sanitizer::{self, KeyClass, KnownSecrets, Sanitizer};

use crate::atoms;
use crate::core::Core;
use crate::terms::Budget;

const REDACTED: &str = "[REDACTED]";
const WITHHELD: &str = "[REDACTED: too large to be searched for secrets]";

/// Hostile text costs more per byte than ordinary text; this much stays well under a millisecond even so.
const NORMAL: Budget = Budget {
    nodes: 1_000,
    bytes: 4 * 1024,
};

const DIRTY: Budget = Budget {
    nodes: 5_000_000,
    bytes: 64 * 1024 * 1024,
};

/// Names longer than this are not names.
const MAX_KEY_BYTES: usize = 256;

enum Step<'a> {
    /// Judge a term that stands under a name of this class (or under none).
    Visit(Term<'a>, KeyClass),
    /// Take the last results as the parts of a term and put it together, if any of them changed.
    Build(Shape<'a>, KeyClass),
}

enum Shape<'a> {
    Tuple {
        term: Term<'a>,
        size: usize,
    },
    /// Elements, and the tail of an improper list after them.
    List {
        term: Term<'a>,
        size: usize,
        improper: bool,
    },
    Map {
        term: Term<'a>,
        keys: Vec<Term<'a>>,
    },
}

struct Walk<'a, 's> {
    env: Env<'a>,
    sanitizer: &'s Sanitizer,
    known: &'s KnownSecrets,
    budget: Budget,
    withhold: bool,
    count: u64,
    classes: HashMap<Atom, KeyClass>,
}

/// What a text is, given the name that it stands under.
enum Verdict {
    Clean,
    /// A secret as a whole.
    Secret,
    /// Holds secrets; this is what is left of it without them.
    Holds(Vec<u8>),
}

/// The budget ran out on a scheduler that must be left.
struct TooLong;

type Judged<'a> = (Term<'a>, bool);

/// A term that was judged, waiting for the one that holds it.
struct Part<'a> {
    judged: Judged<'a>,
    list: Pieces<'a>,
}

/// What a part is as a text.
enum Pieces<'a> {
    /// Whatever its term says: a binary and a byte are pieces of a text, anything else is not.
    Single,
    /// A list that is a text in pieces, and was searched as one.
    Searched,
    /// A list that is a text in pieces: as it was before these were judged one by one.
    Apart(Term<'a>),
}

impl<'a> From<Judged<'a>> for Part<'a> {
    fn from(judged: Judged<'a>) -> Self {
        Part {
            judged,
            list: Pieces::Single,
        }
    }
}

impl Part<'_> {
    fn is_text(&self) -> bool {
        let term = self.judged.0;
        !matches!(self.list, Pieces::Single)
            || is_byte(term)
            || term.is_binary()
            || term.is_empty_list()
    }
}

impl<'a, 's> Walk<'a, 's> {
    fn run(&mut self, term: Term<'a>) -> Result<Judged<'a>, TooLong> {
        let mut steps = vec![Step::Visit(term, KeyClass::None)];
        let mut results: Vec<Part<'a>> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(term, class) => self.visit(term, class, &mut steps, &mut results)?,
                Step::Build(shape, class) => {
                    let built = self.build(shape, class, &mut results)?;
                    results.push(built);
                }
            }
        }
        match results.pop() {
            Some(part) => self.whole(part),
            None => Ok((term, false)),
        }
    }

    fn visit(
        &mut self,
        term: Term<'a>,
        class: KeyClass,
        steps: &mut Vec<Step<'a>>,
        results: &mut Vec<Part<'a>>,
    ) -> Result<(), TooLong> {
        match term.get_type() {
            TermType::Binary => {
                let judged = match Binary::from_term(term) {
                    Ok(binary) => self.text(term, binary.as_slice(), class)?,
                    // A bitstring of no whole bytes shows its bits; nothing reads a secret from it.
                    Err(_) => (term, false),
                };
                results.push(judged.into());
            }
            TermType::Atom => {
                let judged = self.atom(term, class)?;
                results.push(judged.into());
            }
            TermType::Integer | TermType::Float => {
                let judged = self.number(term, class)?;
                results.push(judged.into());
            }
            TermType::List => self.list(term, class, steps, results)?,
            TermType::Tuple => self.tuple(term, class, steps, results)?,
            TermType::Map => self.map(term, class, steps, results)?,
            // Pids, ports and references hold no text; a fun's environment is never shown.
            _ => results.push((term, false).into()),
        }
        Ok(())
    }

    /// Whether the budget holds another node of this many bytes. When it doesn't: on a dirty scheduler the node is withheld.
    fn afford(&mut self, bytes: usize) -> Result<bool, TooLong> {
        if self.budget.take(bytes) {
            Ok(true)
        } else if self.withhold {
            self.count += 1;
            Ok(false)
        } else {
            Err(TooLong)
        }
    }

    fn withheld(&self) -> Judged<'a> {
        (WITHHELD.encode(self.env), true)
    }

    fn redacted(&mut self) -> Judged<'a> {
        self.count += 1;
        (REDACTED.encode(self.env), true)
    }

    fn text(
        &mut self,
        term: Term<'a>,
        text: &[u8],
        class: KeyClass,
    ) -> Result<Judged<'a>, TooLong> {
        if !self.afford(text.len())? {
            return Ok(self.withheld());
        }
        Ok(match self.judge(text, class) {
            Verdict::Clean => (term, false),
            Verdict::Secret => self.redacted(),
            Verdict::Holds(clean) => (binary(self.env, &clean), true),
        })
    }

    /// Judges the bytes of a string, a charlist or an atom that stands under a name of this class.
    fn judge(&mut self, text: &[u8], class: KeyClass) -> Verdict {
        // Of an address under its name only the secret part goes, which the text itself tells.
        let named = !matches!(class, KeyClass::None | KeyClass::Url);
        if named && self.sanitizer.value_is_secret(class, text) {
            return Verdict::Secret;
        }
        self.redact(text).map_or(Verdict::Clean, Verdict::Holds)
    }

    fn redact(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let redacted = self.sanitizer.redact(text, self.known)?;
        self.count += redacted.count as u64;
        Some(redacted.text)
    }

    /// Atoms are names, and short ones can't hide anything; a cookie or a token may have become one.
    fn atom(&mut self, term: Term<'a>, class: KeyClass) -> Result<Judged<'a>, TooLong> {
        if !self.afford(0)? {
            return Ok(self.withheld());
        }
        let name = term.atom_to_string().unwrap_or_default();
        if matches!(name.as_str(), "nil" | "true" | "false") {
            return Ok((term, false));
        }
        if class == KeyClass::None && name.len() < 8 {
            return Ok((term, false));
        }
        Ok(match self.judge(name.as_bytes(), class) {
            Verdict::Clean => (term, false),
            Verdict::Secret => self.redacted(),
            Verdict::Holds(_) => (REDACTED.encode(self.env), true),
        })
    }

    /// A number is a secret only by its name.
    fn number(&mut self, term: Term<'a>, class: KeyClass) -> Result<Judged<'a>, TooLong> {
        if !self.afford(0)? {
            return Ok(self.withheld());
        }
        // `token: 5` counts something; a password or a PIN may well be a number.
        Ok(if class >= KeyClass::Secret {
            self.redacted()
        } else {
            (term, false)
        })
    }

    fn list(
        &mut self,
        term: Term<'a>,
        class: KeyClass,
        steps: &mut Vec<Step<'a>>,
        results: &mut Vec<Part<'a>>,
    ) -> Result<(), TooLong> {
        let mut elements = Vec::new();
        let mut rest = term;
        while let Ok((head, tail)) = rest.list_get_cell() {
            if !self.afford(0)? {
                results.push(self.withheld().into());
                return Ok(());
            }
            elements.push(head);
            rest = tail;
        }
        let improper = !rest.is_empty_list();
        if !improper && !elements.is_empty() {
            if let Some(chars) = charlist(&elements) {
                let judged = self.charlist(term, &chars, class)?;
                let list = if elements.iter().all(|element| is_byte(*element)) {
                    Pieces::Searched
                } else {
                    Pieces::Single
                };
                results.push(Part { judged, list });
                return Ok(());
            }
            if elements.len() > 1
                && let Some(texts) = binaries(&elements)
                && let Some(judged) = self.lines(term, &texts, class)?
            {
                let list = Pieces::Searched;
                results.push(Part { judged, list });
                return Ok(());
            }
        }
        if improper {
            elements.push(rest);
        }
        let size = elements.len();
        steps.push(Step::Build(
            Shape::List {
                term,
                size,
                improper,
            },
            class,
        ));
        steps.extend(
            elements
                .into_iter()
                .rev()
                .map(|element| Step::Visit(element, class)),
        );
        Ok(())
    }

    fn charlist(
        &mut self,
        term: Term<'a>,
        text: &str,
        class: KeyClass,
    ) -> Result<Judged<'a>, TooLong> {
        if !self.afford(text.len())? {
            return Ok(self.withheld());
        }
        Ok(match self.judge(text.as_bytes(), class) {
            Verdict::Clean => (term, false),
            Verdict::Secret => self.redacted(),
            Verdict::Holds(clean) => {
                let clean = String::from_utf8_lossy(&clean);
                let chars: Vec<u32> = clean.chars().map(u32::from).collect();
                (chars.encode(self.env), true)
            }
        })
    }

    /// A list of strings is often a text in lines, and a private key spans several: they are searched as one text. Each string
    /// keeps its place; what a finding takes from it is cut out, and the replacement stands where the finding began.
    fn lines(
        &mut self,
        term: Term<'a>,
        texts: &[&'a [u8]],
        class: KeyClass,
    ) -> Result<Option<Judged<'a>>, TooLong> {
        if class != KeyClass::None {
            return Ok(None);
        }
        let total = texts.iter().map(|text| text.len() + 1).sum();
        if !self.afford(total)? {
            return Ok(Some(self.withheld()));
        }
        let mut joined = Vec::with_capacity(total);
        for text in texts {
            joined.extend_from_slice(text);
            joined.push(b'\n');
        }
        let findings = self.sanitizer.scan(&joined, self.known);
        if findings.spans.is_empty() && !findings.over_budget {
            return Ok(Some((term, false)));
        }
        if findings.over_budget {
            return Ok(None);
        }
        self.count += findings.spans.len() as u64;
        let mut rebuilt = Vec::with_capacity(texts.len());
        let mut start = 0;
        let mut spans = findings.spans.iter().peekable();
        for text in texts {
            let end = start + text.len();
            let mut line = Vec::with_capacity(text.len());
            let mut at = start;
            while let Some(span) = spans.peek() {
                if span.start >= end && !(span.start == end && text.is_empty()) {
                    break;
                }
                let from = span.start.max(start);
                line.extend_from_slice(&joined[at.min(from)..from]);
                if span.start >= start {
                    line.extend_from_slice(span.replacement.as_bytes());
                }
                at = span.end.min(end).max(at);
                if span.end > end {
                    break;
                }
                spans.next();
            }
            if at < end {
                line.extend_from_slice(&joined[at..end]);
            }
            rebuilt.push(binary(self.env, &line));
            start = end + 1;
            // A finding that ended in the line break belongs to no later line.
            while spans.next_if(|span| span.end <= start).is_some() {}
        }
        Ok(Some((rebuilt.encode(self.env), true)))
    }

    /// Iodata is one text in pieces: a secret may be split between them. When the whole holds one, the whole is replaced by
    /// its redacted text, which is iodata too.
    ///
    /// Asked of a part when it turns out that what holds it is no iodata itself, so that each text is put together once,
    /// however deep it is nested.
    fn whole(&mut self, part: Part<'a>) -> Result<Judged<'a>, TooLong> {
        let Pieces::Apart(original) = part.list else {
            return Ok(part.judged);
        };
        let Some(joined) = flatten(original, self.budget.bytes) else {
            return if self.withhold {
                self.count += 1;
                Ok(self.withheld())
            } else {
                Err(TooLong)
            };
        };
        if !self.afford(joined.len())? {
            return Ok(self.withheld());
        }
        Ok(match self.redact(&joined) {
            Some(clean) => (vec![binary(self.env, &clean)].encode(self.env), true),
            None => part.judged,
        })
    }

    fn tuple(
        &mut self,
        term: Term<'a>,
        class: KeyClass,
        steps: &mut Vec<Step<'a>>,
        results: &mut Vec<Part<'a>>,
    ) -> Result<(), TooLong> {
        let elements = rustler::types::tuple::get_tuple(term).unwrap_or_default();
        if !self.afford(elements.len() * 8)? {
            results.push(self.withheld().into());
            return Ok(());
        }
        // {:system, "NAME"} says where a secret is, not what it is.
        if elements.len() == 2
            && elements[0].is_atom()
            && elements[0]
                .atom_to_string()
                .is_ok_and(|name| name == "system")
        {
            results.push((term, false).into());
            return Ok(());
        }
        let value_class = match elements.as_slice() {
            [name, _] => match self.class_of(*name) {
                KeyClass::None => class,
                own => own,
            },
            _ => class,
        };
        let size = elements.len();
        steps.push(Step::Build(Shape::Tuple { term, size }, class));
        for (index, element) in elements.into_iter().enumerate().rev() {
            // A pair's first element is a name, not a value of the name above it.
            let class = if size == 2 && index == 0 && value_class != KeyClass::None {
                KeyClass::None
            } else {
                value_class
            };
            steps.push(Step::Visit(element, class));
        }
        Ok(())
    }

    fn map(
        &mut self,
        term: Term<'a>,
        class: KeyClass,
        steps: &mut Vec<Step<'a>>,
        results: &mut Vec<Part<'a>>,
    ) -> Result<(), TooLong> {
        let size = term.map_size().unwrap_or(0);
        if size > self.budget.nodes || !self.afford(size * 16)? {
            if !self.withhold {
                return Err(TooLong);
            }
            self.count += 1;
            results.push(self.withheld().into());
            return Ok(());
        }
        let mut keys = Vec::with_capacity(size);
        let mut children = Vec::with_capacity(size * 2);
        let mut named = KeyClass::None;
        let mut value_at = None;
        let mut is_uri = false;
        for (key, value) in MapIterator::new(term).into_iter().flatten() {
            let name = key_name(key);
            let own = match &name {
                Some(name) => self.class_of_name(key, name),
                None => KeyClass::None,
            };
            match name.as_deref() {
                Some(b"name" | b"key" | b"header" | b"variable") => {
                    if let Some(text) = key_name(value) {
                        named = self.sanitizer.key_class(&text);
                    }
                }
                Some(b"value") => value_at = Some(children.len() + 1),
                Some(b"__struct__") => {
                    is_uri = value
                        .decode::<Atom>()
                        .is_ok_and(|module| module == atoms::uri_module());
                }
                _ => {}
            }
            keys.push(key);
            children.push((key, KeyClass::None));
            children.push((value, if own == KeyClass::None { class } else { own }));
        }
        // %{name: "DB_PASSWORD", value: "..."}: the pair stands in two members.
        if let (Some(at), true) = (value_at, named != KeyClass::None) {
            children[at].1 = named;
        }
        if is_uri && let Some(clean) = self.uri(term)? {
            results.push((clean, true).into());
            return Ok(());
        }
        steps.push(Step::Build(Shape::Map { term, keys }, class));
        steps.extend(
            children
                .into_iter()
                .rev()
                .map(|(term, class)| Step::Visit(term, class)),
        );
        Ok(())
    }

    /// A parsed URL keeps its password in fields whose names don't say so.
    fn uri(&mut self, term: Term<'a>) -> Result<Option<Term<'a>>, TooLong> {
        let mut clean = None;
        for field in [atoms::userinfo(), atoms::authority()] {
            let Ok(value) = clean.unwrap_or(term).map_get(field) else {
                continue;
            };
            let Ok(text) = Binary::from_term(value) else {
                continue;
            };
            let text = text.as_slice();
            let end = if field == atoms::userinfo() {
                Some(text.len())
            } else {
                text.iter().rposition(|byte| *byte == b'@')
            };
            let start = text.iter().position(|byte| *byte == b':');
            if let (Some(start), Some(end)) = (start, end)
                && start + 1 < end
            {
                self.count += 1;
                let mut parts = text[..=start].to_vec();
                parts.extend_from_slice(REDACTED.as_bytes());
                parts.extend_from_slice(&text[end..]);
                let parts = binary(self.env, &parts);
                clean = clean.unwrap_or(term).map_put(field, parts).ok().or(clean);
            }
        }
        Ok(clean)
    }

    fn class_of(&mut self, key: Term<'a>) -> KeyClass {
        match key_name(key) {
            Some(name) => self.class_of_name(key, &name),
            None => KeyClass::None,
        }
    }

    /// Atoms are the same word wherever they stand, so their class is remembered.
    fn class_of_name(&mut self, key: Term<'a>, name: &[u8]) -> KeyClass {
        let sanitizer = self.sanitizer;
        let Ok(atom) = key.decode::<Atom>() else {
            return sanitizer.key_class(name);
        };
        *self
            .classes
            .entry(atom)
            .or_insert_with(|| sanitizer.key_class(name))
    }

    fn build(
        &mut self,
        shape: Shape<'a>,
        class: KeyClass,
        results: &mut Vec<Part<'a>>,
    ) -> Result<Part<'a>, TooLong> {
        let (term, size) = match &shape {
            Shape::Tuple { term, size } | Shape::List { term, size, .. } => (*term, *size),
            Shape::Map { term, keys } => (*term, keys.len() * 2),
        };
        let parts = results.split_off(results.len().saturating_sub(size));
        let text = matches!(shape, Shape::List { .. }) && parts.iter().all(Part::is_text);
        let parts = parts
            .into_iter()
            .map(|part| {
                if text {
                    Ok(part.judged)
                } else {
                    self.whole(part)
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let judged = self.put_together(shape, class, parts);
        let list = if text && judged.0.is_list() {
            Pieces::Apart(term)
        } else {
            Pieces::Single
        };
        Ok(Part { judged, list })
    }

    fn put_together(
        &mut self,
        shape: Shape<'a>,
        class: KeyClass,
        parts: Vec<Judged<'a>>,
    ) -> Judged<'a> {
        let (Shape::Tuple { term, .. } | Shape::List { term, .. } | Shape::Map { term, .. }) =
            shape;
        if !parts.iter().any(|(_, changed)| *changed) {
            return (term, false);
        }
        // What stands under a sensitive name and holds a secret goes as a whole: what is beside the secret belongs to it.
        if class != KeyClass::None {
            return (REDACTED.encode(self.env), true);
        }
        let built = match shape {
            Shape::Tuple { .. } => {
                let terms: Vec<Term> = parts.iter().map(|(term, _)| *term).collect();
                rustler::types::tuple::make_tuple(self.env, &terms)
            }
            Shape::List { improper, .. } => {
                let mut terms = parts.into_iter().map(|(term, _)| term);
                let tail = if improper { terms.next_back() } else { None };
                let tail = tail.unwrap_or_else(|| Term::list_new_empty(self.env));
                terms
                    .rev()
                    .fold(tail, |list, element| list.list_prepend(element))
            }
            Shape::Map { keys, .. } => rebuild_map(term, &keys, &parts),
        };
        (built, true)
    }
}

/// Changed values replace the old ones; a changed key takes its value along.
fn rebuild_map<'a>(term: Term<'a>, keys: &[Term<'a>], parts: &[Judged<'a>]) -> Term<'a> {
    let mut map = term;
    for (key, pair) in keys.iter().zip(parts.chunks_exact(2)) {
        let [(new_key, key_changed), (value, value_changed)] = pair else {
            continue;
        };
        if *key_changed {
            map = map.map_remove(*key).unwrap_or(map);
        }
        if *key_changed || *value_changed {
            map = map.map_put(*new_key, *value).unwrap_or(map);
        }
    }
    map
}

fn binary<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    NewBinary::from_slice(env, bytes).into()
}

/// The text of a map's or a pair's key, when it can be a name.
fn key_name(key: Term) -> Option<Vec<u8>> {
    match key.get_type() {
        TermType::Atom => key.atom_to_string().ok().map(String::into_bytes),
        TermType::Binary => {
            let binary = Binary::from_term(key).ok()?;
            (binary.len() <= MAX_KEY_BYTES).then(|| binary.to_vec())
        }
        TermType::List => {
            let mut name = Vec::new();
            let mut rest = key;
            while let Ok((head, tail)) = rest.list_get_cell() {
                name.push(head.decode::<u8>().ok()?);
                if name.len() > MAX_KEY_BYTES {
                    return None;
                }
                rest = tail;
            }
            (!name.is_empty() && rest.is_empty_list()).then_some(name)
        }
        _ => None,
    }
}

/// The text of a list of characters. Nothing but characters counts, control characters besides white space excluded.
fn charlist(elements: &[Term]) -> Option<String> {
    elements
        .iter()
        .map(|element| {
            let number = element.decode::<u32>().ok()?;
            let char = char::from_u32(number)?;
            (!char.is_control() || matches!(char, '\n' | '\r' | '\t' | '\u{1b}')).then_some(char)
        })
        .collect()
}

fn binaries<'a>(elements: &[Term<'a>]) -> Option<Vec<&'a [u8]>> {
    elements
        .iter()
        .map(|element| {
            let binary = Binary::from_term(*element).ok()?;
            Some(binary.as_slice())
        })
        .collect()
}

fn is_byte(term: Term) -> bool {
    term.is_integer() && term.decode::<u8>().is_ok()
}

/// The bytes of iodata; `None` when there are more than `limit`.
fn flatten(term: Term, limit: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut stack = vec![term];
    while let Some(term) = stack.pop() {
        if let Ok(binary) = Binary::from_term(term) {
            text.extend_from_slice(binary.as_slice());
        } else if let Ok(byte) = term.decode::<u8>() {
            text.push(byte);
        } else if let Ok((head, tail)) = term.list_get_cell() {
            stack.push(tail);
            stack.push(head);
        }
        if text.len() > limit {
            return None;
        }
    }
    Some(text)
}

fn walk<'a>(env: Env<'a>, core: &Core, term: Term<'a>, budget: Budget, withhold: bool) -> Term<'a> {
    let known = Arc::clone(&core.known.read());
    // A text by itself, the most frequent term by far, needs no walk.
    if let Ok(text) = Binary::from_term(term)
        && text.len() <= budget.bytes
    {
        return match core.sanitizer.redact(text.as_slice(), &known) {
            Some(clean) => (binary(env, &clean.text), clean.count as u64).encode(env),
            None => atoms::clean().encode(env),
        };
    }
    let mut walk = Walk {
        env,
        sanitizer: &core.sanitizer,
        known: &known,
        budget,
        withhold,
        count: 0,
        classes: HashMap::new(),
    };
    match walk.run(term) {
        Ok((_, false)) => atoms::clean().encode(env),
        Ok((clean, true)) => (clean, walk.count).encode(env),
        Err(TooLong) => atoms::dirty().encode(env),
    }
}

/// `:clean`, `{term, count}`, or `:dirty` when the term is too large to be searched here.
#[rustler::nif]
fn sanitize<'a>(env: Env<'a>, core: ResourceArc<Core>, term: Term<'a>) -> Term<'a> {
    walk(env, &core, term, NORMAL, false)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn sanitize_dirty<'a>(env: Env<'a>, core: ResourceArc<Core>, term: Term<'a>) -> Term<'a> {
    walk(env, &core, term, DIRTY, true)
}

/// Whether a value is a secret by the name it stands under.
#[rustler::nif(schedule = "DirtyCpu")]
fn sanitizer_pair_secret(core: ResourceArc<Core>, name: Binary, value: Binary) -> bool {
    let class = core.sanitizer.key_class(name.as_slice());
    class != KeyClass::None && core.sanitizer.value_is_secret(class, value.as_slice())
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
