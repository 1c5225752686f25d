//! The walk itself: frames on a stack of its own, leaves judged as they are met.

use std::rc::Rc;

use super::frame::{
    Child, Columns, Frame, Judged, Look, MapKind, Opened, Parts, Piece, Shape, replacements,
};
use super::names::{Name, Names, Role, kind_of};
use super::text::{byte, charlist, cut, flatten, is_empty_list, is_list, join, name, texts, uri};
use super::{Beyond, Budget, Kind, Outcome, REDACTED, TOLD, Terms, WITHHELD};
use crate::sanitizer::{KeyClass, KnownSecrets, Sanitizer, Summary, memory};

pub(super) struct Walk<'s, T: Terms> {
    sanitizer: &'s Sanitizer,
    terms: &'s T,
    /// This node's, and those of the session, if it has any.
    known: &'s [&'s KnownSecrets],
    names: &'s Names,
    budget: Budget,
    beyond: Beyond,
    summary: Summary,
    /// Values that were given away by their names.
    told: Vec<Vec<u8>>,
}

/// The budget ran out where the walk must stop then.
struct Stopped;

/// What is withheld because nobody looked at it.
const UNSEARCHED: &str = "unsearched";

/// What a text is, given the name that it stands under.
enum Verdict {
    Clean,
    /// A secret as a whole.
    Secret,
    /// Holds secrets; this is what is left of it without them.
    Holds(Vec<u8>),
}

impl<'s, T: Terms> Walk<'s, T> {
    pub(super) fn new(
        sanitizer: &'s Sanitizer,
        terms: &'s T,
        (known, names): (&'s [&'s KnownSecrets], &'s Names),
        (budget, beyond): (Budget, Beyond),
    ) -> Self {
        Walk {
            sanitizer,
            terms,
            known,
            names,
            budget,
            beyond,
            summary: Summary::default(),
            told: Vec::new(),
        }
    }

    /// What becomes of the term, and the values that it gave away.
    pub(super) fn run(mut self, term: &T::Term) -> (Outcome<T::Term>, Vec<Vec<u8>>) {
        let outcome = match self.walk(term) {
            Err(Stopped) => return (Outcome::Stopped, Vec::new()),
            Ok(None) => Outcome::Clean,
            Ok(Some(clean)) => Outcome::Redacted(clean, self.summary),
        };
        (outcome, self.told)
    }

    fn walk(&mut self, term: &T::Term) -> Result<Option<T::Term>, Stopped> {
        let mut frames: Vec<Frame<T::Term>> = Vec::new();
        let first = Child {
            slot: 0,
            term: term.clone(),
            class: KeyClass::None,
            look: Look::Plain,
        };
        let mut next = Some(first);
        loop {
            let (slot, judged) = match next.take() {
                Some(child) => match self.open(&child)? {
                    Opened::Done(judged) => (child.slot, judged),
                    Opened::Frame(frame) => {
                        frames.push(frame);
                        next = frames.last_mut().and_then(|frame| frame.children.next());
                        continue;
                    }
                },
                None => match frames.pop() {
                    Some(frame) => (frame.slot, self.close(frame)?),
                    None => return Ok(None),
                },
            };
            let Some(frame) = frames.last_mut() else {
                return self.whole(judged);
            };
            frame.take(slot, judged);
            next = frame.children.next();
        }
    }

    /// Whether the budget holds another node of this many bytes. When it doesn't, the node is
    /// withheld or the walk stops.
    fn afford(&mut self, bytes: usize) -> Result<bool, Stopped> {
        if self.budget.take(bytes) {
            Ok(true)
        } else if self.beyond == Beyond::Withhold {
            self.gone(UNSEARCHED);
            Ok(false)
        } else {
            Err(Stopped)
        }
    }

    fn withheld(&self) -> T::Term {
        self.terms.text(WITHHELD.as_bytes())
    }

    /// Counts a value that goes.
    fn gone(&mut self, kind: &'static str) {
        self.summary.add(&Summary {
            kinds: vec![(kind, 1)],
            sides: None,
        });
    }

    fn redacted(&mut self, class: KeyClass) -> T::Term {
        self.gone(kind_of(class));
        self.terms.text(REDACTED.as_bytes())
    }

    /// Judges a term that has no parts; `None` for one that has.
    fn leaf(
        &mut self,
        term: &T::Term,
        class: KeyClass,
    ) -> Result<Option<Judged<T::Term>>, Stopped> {
        let terms = self.terms;
        let judged = match terms.kind(term) {
            Kind::Text(text) => Judged::text(self.text(text, class)?),
            Kind::Atom(atom) => Judged::other(self.atom(term, atom, class)?),
            Kind::Integer(number) => {
                let change = self.number(class)?;
                let byte = number.is_some_and(|number| u8::try_from(number).is_ok());
                if byte {
                    Judged::text(change)
                } else {
                    Judged::other(change)
                }
            }
            Kind::Float => Judged::other(self.number(class)?),
            Kind::Opaque => Judged::clean(),
            Kind::List | Kind::Tuple | Kind::Map => return Ok(None),
        };
        Ok(Some(judged))
    }

    fn text(&mut self, text: &[u8], class: KeyClass) -> Result<Option<T::Term>, Stopped> {
        if !self.afford(text.len())? {
            return Ok(Some(self.withheld()));
        }
        Ok(match self.judge(text, class) {
            Verdict::Clean => None,
            Verdict::Secret => Some(self.redacted(class)),
            Verdict::Holds(clean) => Some(self.terms.text(&clean)),
        })
    }

    /// Judges the bytes of a string, a charlist or an atom that stands under a name of this class.
    fn judge(&mut self, text: &[u8], class: KeyClass) -> Verdict {
        // Of an address under its name only the secret part goes, which the text itself tells.
        let named = !matches!(class, KeyClass::None | KeyClass::Url);
        // In running text a letter under a name is a placeholder; in a structure it is a value.
        let short = class == KeyClass::Field
            && matches!(text.len(), 1..=3)
            && text.iter().all(u8::is_ascii_alphanumeric);
        if named && (short || self.sanitizer.value_is_secret(class, text)) {
            let more = self.told.len() < TOLD;
            self.told
                .extend(memory::worth(text).filter(|_| more).map(<[u8]>::to_vec));
            return Verdict::Secret;
        }
        match self.redact(text) {
            // What is left of it would go the next time: `password=[REDACTED]` under a name of its
            // own.
            Some(clean) if named && self.sanitizer.value_is_secret(class, &clean) => {
                Verdict::Secret
            }
            Some(clean) => Verdict::Holds(clean),
            None => Verdict::Clean,
        }
    }

    fn redact(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        self.redact_with(text, self.known)
    }

    fn redact_with(&mut self, text: &[u8], known: &[&KnownSecrets]) -> Option<Vec<u8>> {
        let (clean, summary) = self
            .sanitizer
            .redact_and_tell(text, known, &mut self.told)?;
        self.summary.add(&summary);
        Some(clean)
    }

    /// Atoms are names, and short ones can't hide anything; a cookie or a token may have become
    /// one.
    fn atom(
        &mut self,
        term: &T::Term,
        atom: u64,
        class: KeyClass,
    ) -> Result<Option<T::Term>, Stopped> {
        if !self.afford(0)? {
            return Ok(Some(self.withheld()));
        }
        if class == KeyClass::None {
            let name = self.atom_as_name(term, atom);
            if self.is_clean(term, name) {
                return Ok(None);
            }
            self.gone(kind_of(class));
            return Ok(Some(self.terms.marker()));
        }
        let name = self.terms.atom_name(term);
        let class = if is_word(&name) {
            KeyClass::None
        } else {
            class
        };
        Ok(match self.judge(name.as_bytes(), class) {
            Verdict::Clean => None,
            Verdict::Secret => {
                self.gone(kind_of(class));
                Some(self.terms.marker())
            }
            Verdict::Holds(_) => Some(self.terms.marker()),
        })
    }

    /// A number is a secret only by its name.
    fn number(&mut self, class: KeyClass) -> Result<Option<T::Term>, Stopped> {
        if !self.afford(0)? {
            return Ok(Some(self.withheld()));
        }
        // `max_tokens: 5` counts something; a password or a PIN may well be a number.
        Ok((class >= KeyClass::Secret).then(|| self.redacted(class)))
    }

    /// What the name of a map's member or of a pair says.
    fn name_of(&mut self, key: &T::Term) -> Name {
        if let Kind::Atom(atom) = self.terms.kind(key) {
            return self.atom_as_name(key, atom);
        }
        if let Kind::Text(text) = self.terms.kind(key) {
            return self.text_as_name(text);
        }
        let (name, cost) = name(self.terms, key);
        self.charge(cost);
        self.text_as_name(&name)
    }

    fn text_as_name(&self, name: &[u8]) -> Name {
        Name {
            class: self.sanitizer.key_class(name),
            role: Role::of(name),
            clean: false,
            word: false,
        }
    }

    /// Names are remembered as what they are to this node; a session's values come on top.
    fn is_clean(&self, term: &T::Term, name: Name) -> bool {
        let known = &self.known[1..];
        name.clean
            && (name.word || known.is_empty() || {
                let text = self.terms.atom_name(term);
                let findings = self.sanitizer.scan_all(text.as_bytes(), known);
                findings.spans.is_empty()
            })
    }

    /// Pays for work beside the walk: names and columns may be shared by many terms. When that
    /// can't be paid for, nothing can.
    fn charge(&mut self, bytes: usize) {
        if !self.budget.take(bytes) {
            self.budget = Budget { nodes: 0, bytes: 0 };
        }
    }

    fn atom_as_name(&mut self, term: &T::Term, atom: u64) -> Name {
        if let Some(known) = self.names.get(atom) {
            return known;
        }
        let name = self.terms.atom_name(term);
        let (text, name) = (name.as_bytes(), name.as_str());
        let name = Name {
            class: self.sanitizer.key_class(text),
            role: Role::of(text),
            clean: text.len() < 8 || self.sanitizer.scan(text, self.known[0]).spans.is_empty(),
            word: text.len() < 8 || is_word(name),
        };
        self.names.put(atom, name);
        name
    }

    fn open(&mut self, child: &Child<T::Term>) -> Result<Opened<T::Term>, Stopped> {
        if let Some(judged) = self.leaf(&child.term, child.class)? {
            return Ok(Opened::Done(judged));
        }
        match self.terms.kind(&child.term) {
            Kind::List => self.list(child),
            Kind::Tuple => self.tuple(child),
            _ => self.map(child),
        }
    }

    /// Judges a part at once if it has no parts itself, and leaves it for later if it has.
    fn part(
        &mut self,
        parts: &mut Parts<T::Term>,
        slot: usize,
        term: T::Term,
        (class, look): (KeyClass, Look),
    ) -> Result<(), Stopped> {
        match self.leaf(&term, class)? {
            None => parts.children.push(Child {
                slot,
                term,
                class,
                look,
            }),
            Some(judged) => {
                parts.pieces &= !matches!(judged.piece, Piece::No);
                parts
                    .changed
                    .extend(judged.change.map(|change| (slot, change)));
            }
        }
        Ok(())
    }

    fn frame(child: &Child<T::Term>, shape: Shape, parts: Parts<T::Term>) -> Opened<T::Term> {
        if parts.children.is_empty() && parts.changed.is_empty() && !parts.pieces {
            return Opened::Done(Judged::clean());
        }
        Opened::Frame(Frame {
            term: child.term.clone(),
            shape,
            slot: child.slot,
            children: parts.children.into_iter(),
            changed: parts.changed,
            apart: Vec::new(),
            pieces: parts.pieces && shape == Shape::List,
            named: child.class != KeyClass::None,
        })
    }

    fn list(&mut self, child: &Child<T::Term>) -> Result<Opened<T::Term>, Stopped> {
        let mut elements = Vec::new();
        let mut rest = child.term.clone();
        while let Some((head, tail)) = self.terms.cell(&rest) {
            if !self.afford(0)? {
                return Ok(Opened::Done(Judged::other(Some(self.withheld()))));
            }
            elements.push(head);
            rest = tail;
        }
        let improper = !is_list(self.terms, &rest);
        if elements.is_empty() {
            return Ok(Opened::Done(Judged::text(None)));
        }
        if !improper && let Some(judged) = self.text_list(child, &elements)? {
            return Ok(Opened::Done(judged));
        }
        if !improper && child.class >= KeyClass::Secret && self.are_numbers(&elements) {
            let redacted = vec![self.redacted(child.class)];
            return Ok(Opened::Done(Judged::other(Some(
                self.terms.list(redacted, None),
            ))));
        }
        if improper {
            elements.push(rest);
        }
        let looks = self.looks(child, &elements);
        let mut parts = Parts::new();
        for (slot, (element, look)) in elements.into_iter().zip(looks).enumerate() {
            self.part(&mut parts, slot, element, look)?;
        }
        Ok(Self::frame(child, Shape::List, parts))
    }

    fn are_numbers(&self, elements: &[T::Term]) -> bool {
        let number = |term| matches!(self.terms.kind(term), Kind::Integer(_) | Kind::Float);
        elements.iter().all(number)
    }

    /// A list that is a text: characters, or lines. `None` for any other.
    fn text_list(
        &mut self,
        child: &Child<T::Term>,
        elements: &[T::Term],
    ) -> Result<Option<Judged<T::Term>>, Stopped> {
        let terms = self.terms;
        if !matches!(child.look, Look::Plain) {
            return Ok(None);
        }
        if let Some(chars) = charlist(terms, elements) {
            let change = self.charlist(&chars, child.class)?;
            let bytes = elements
                .iter()
                .all(|element| byte(terms, element).is_some());
            return Ok(Some(if bytes {
                Judged::text(change)
            } else {
                Judged::other(change)
            }));
        }
        if child.class == KeyClass::None
            && elements.len() > 1
            && let Some(texts) = texts(terms, elements)
        {
            return Ok(self.lines(&texts)?.map(Judged::text));
        }
        Ok(None)
    }

    fn charlist(&mut self, text: &str, class: KeyClass) -> Result<Option<T::Term>, Stopped> {
        if !self.afford(text.len())? {
            return Ok(Some(self.withheld()));
        }
        Ok(match self.judge(text.as_bytes(), class) {
            Verdict::Clean => None,
            Verdict::Secret => {
                self.gone(kind_of(class));
                Some(self.terms.chars(REDACTED))
            }
            Verdict::Holds(clean) => Some(self.terms.chars(&String::from_utf8_lossy(&clean))),
        })
    }

    /// A list of strings is often a text in lines, and a private key spans several: they are
    /// searched as one text. `None` when that was too much, or when an option's name stands before
    /// its value.
    fn lines(&mut self, texts: &[&[u8]]) -> Result<Option<Option<T::Term>>, Stopped> {
        if texts
            .windows(2)
            .any(|pair| self.option_class(pair[0], pair[1]) != KeyClass::None)
        {
            return Ok(None);
        }
        let total = texts.iter().map(|text| text.len() + 1).sum();
        if !self.afford(total)? {
            return Ok(Some(Some(self.withheld())));
        }
        let joined = join(texts);
        let findings = self.sanitizer.scan_all(&joined, self.known);
        if findings.over_budget {
            return Ok(None);
        }
        if findings.spans.is_empty() {
            return Ok(Some(None));
        }
        self.summary.add(&Summary::of(&joined, &findings));
        let lines = cut(texts, &joined, &findings.spans);
        let lines = lines.iter().map(|line| self.terms.text(line)).collect();
        Ok(Some(Some(self.terms.list(lines, None))))
    }

    /// `["--password", "x"]`: what an option's name says about the word behind it.
    fn option_class(&self, option: &[u8], value: &[u8]) -> KeyClass {
        let name = option.strip_prefix(b"--").unwrap_or_default();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if value.starts_with(b"-") || name.starts_with(b"-") || !name.iter().all(plain) {
            return KeyClass::None;
        }
        self.sanitizer.key_class(name)
    }

    /// How each element of a list is looked at.
    fn looks(&mut self, list: &Child<T::Term>, elements: &[T::Term]) -> Vec<(KeyClass, Look)> {
        let terms = self.terms;
        let plain = |class| (class, Look::Plain);
        match &list.look {
            Look::Rows(columns) => {
                let holds_rows = |term| matches!(terms.kind(term), Kind::List | Kind::Tuple);
                if elements.iter().all(holds_rows) {
                    let row = (list.class, Look::Row(Rc::clone(columns)));
                    vec![row; elements.len()]
                } else {
                    // `%{fields: [...], values: [...]}` holds one row.
                    self.cells(columns, list.class, elements)
                        .map(plain)
                        .collect()
                }
            }
            Look::Row(columns) => self
                .cells(columns, list.class, elements)
                .map(plain)
                .collect(),
            Look::Plain => {
                let mut looks = vec![plain(list.class); elements.len()];
                if list.class == KeyClass::None {
                    for (at, pair) in elements.windows(2).enumerate() {
                        if let (Kind::Text(option), Kind::Text(value)) =
                            (terms.kind(&pair[0]), terms.kind(&pair[1]))
                        {
                            looks[at + 1].0 = self.option_class(option, value);
                        }
                    }
                }
                looks
            }
        }
    }

    /// What the columns say about the cells of a row; nothing when there are more or fewer of them.
    fn cells(
        &mut self,
        columns: &Columns,
        class: KeyClass,
        row: &[T::Term],
    ) -> impl Iterator<Item = KeyClass> + use<T> {
        let mut classes = vec![class; row.len()];
        if row.len() == columns.classes.len() {
            for (cell, column) in classes.iter_mut().zip(&columns.classes) {
                if *column != KeyClass::None {
                    *cell = *column;
                }
            }
            if let Some((name, value)) = columns.pair
                && classes[value] == class
            {
                let named = self.name_of(&row[name]).class;
                if named != KeyClass::None {
                    classes[value] = named;
                }
            }
        }
        classes.into_iter()
    }

    /// The classes of columns by their names, if these say anything.
    fn columns(&mut self, term: &T::Term) -> Option<Rc<Columns>> {
        let mut classes = Vec::new();
        let (mut name, mut value) = (None, None);
        let mut rest = term.clone();
        while let Some((head, tail)) = self.terms.cell(&rest) {
            self.charge(0);
            if self.budget.nodes == 0 {
                return None;
            }
            let column = self.name_of(&head);
            match column.role {
                Role::Names => name = Some(classes.len()),
                Role::Value => value = Some(classes.len()),
                _ => {}
            }
            classes.push(column.class);
            rest = tail;
        }
        let pair = name.zip(value);
        let telling = pair.is_some() || classes.iter().any(|class| *class != KeyClass::None);
        telling.then(|| Rc::new(Columns { classes, pair }))
    }

    fn tuple(&mut self, child: &Child<T::Term>) -> Result<Opened<T::Term>, Stopped> {
        let elements = self.terms.elements(&child.term);
        if !self.afford(elements.len() * 8)? {
            return Ok(Opened::Done(Judged::other(Some(self.withheld()))));
        }
        let classes: Vec<KeyClass> = match (&child.look, elements.as_slice()) {
            (Look::Row(columns), row) => {
                let columns = Rc::clone(columns);
                self.cells(&columns, child.class, row).collect()
            }
            (_, [name, _]) => {
                // {:system, "NAME"} says where a secret is, not what it is.
                if matches!(self.terms.kind(name), Kind::Atom(_))
                    && self.terms.atom_name(name) == "system"
                {
                    return Ok(Opened::Done(Judged::clean()));
                }
                match self.name_of(name).class {
                    KeyClass::None if child.class == KeyClass::None => vec![KeyClass::None; 2],
                    // A pair's first element is a name, not a value of the name above it.
                    KeyClass::None => vec![KeyClass::None, child.class],
                    own => vec![KeyClass::None, own.max(child.class)],
                }
            }
            _ => vec![child.class; elements.len()],
        };
        let whole = elements.len() != 2;
        let mut parts = Parts::new();
        for (slot, (element, class)) in elements.into_iter().zip(classes).enumerate() {
            let class = if whole {
                self.inherited(&element, class)
            } else {
                class
            };
            self.part(&mut parts, slot, element, (class, Look::Plain))?;
        }
        parts.pieces = false;
        Ok(Self::frame(child, Shape::Tuple, parts))
    }

    /// The class that a part has from the name of the whole: numbers in a structure count, or say
    /// where something is.
    fn inherited(&self, term: &T::Term, class: KeyClass) -> KeyClass {
        match self.terms.kind(term) {
            Kind::Integer(_) | Kind::Float => KeyClass::None,
            _ => class,
        }
    }

    fn map(&mut self, child: &Child<T::Term>) -> Result<Opened<T::Term>, Stopped> {
        let size = self.terms.size(&child.term);
        if size > self.budget.nodes || !self.afford(size * 16)? {
            if self.beyond == Beyond::Stop {
                return Err(Stopped);
            }
            self.gone(UNSEARCHED);
            return Ok(Opened::Done(Judged::other(Some(self.withheld()))));
        }
        let members = self.terms.members(&child.term);
        let names: Vec<Name> = members.iter().map(|(key, _)| self.name_of(key)).collect();
        let kind = self.kind_of_map(child, &members, &names);
        if kind.uri
            && let Some((clean, passwords)) = uri(self.terms, &child.term, &members)
        {
            (0..passwords).for_each(|_| self.gone(kind_of(KeyClass::Password)));
            return Ok(Opened::Done(Judged::other(Some(clean))));
        }
        let mut parts = Parts::new();
        parts.pieces = false;
        for (at, ((key, value), name)) in members.into_iter().zip(names).enumerate() {
            if kind.keys != KeyClass::None || !self.is_clean(&key, name) {
                self.part(&mut parts, 2 * at, key, (kind.keys, Look::Plain))?;
            } else if !self.afford(0)? {
                return Ok(Opened::Done(Judged::other(Some(self.withheld()))));
            }
            let look = match (name.role, &kind.columns) {
                (Role::Rows, Some(columns)) => Look::Rows(Rc::clone(columns)),
                _ => Look::Plain,
            };
            let class = match (name.role, name.class) {
                (Role::Struct, _) => KeyClass::None,
                (Role::Value, KeyClass::None) if kind.named != KeyClass::None => kind.named,
                (_, KeyClass::None) => self.inherited(&value, child.class),
                (_, own) => own.max(child.class),
            };
            self.part(&mut parts, 2 * at + 1, value, (class, look))?;
        }
        Ok(Self::frame(child, Shape::Map, parts))
    }

    /// What its members together say about a map.
    fn kind_of_map(
        &mut self,
        child: &Child<T::Term>,
        members: &[(T::Term, T::Term)],
        names: &[Name],
    ) -> MapKind {
        let terms = self.terms;
        let mut kind = MapKind::default();
        for ((_, value), name) in members.iter().zip(names) {
            match name.role {
                Role::Names => kind.named = self.name_of(value).class,
                Role::Columns => kind.columns = self.columns(value),
                Role::Struct => {
                    kind.uri = matches!(terms.kind(value), Kind::Atom(_))
                        && terms.atom_name(value) == "Elixir.URI";
                }
                Role::None | Role::Value | Role::Rows => {}
            }
        }
        // A set under a sensitive name holds its values as keys.
        if child.class != KeyClass::None
            && members.iter().all(|(_, value)| is_empty_list(terms, value))
        {
            kind.keys = child.class;
        }
        kind
    }

    fn close(&mut self, frame: Frame<T::Term>) -> Result<Judged<T::Term>, Stopped> {
        let Frame {
            term,
            shape,
            mut changed,
            apart,
            pieces,
            named,
            ..
        } = frame;
        if !pieces {
            for (slot, original, told) in apart {
                let clean = self.joined(&original, told)?;
                changed.extend(clean.map(|clean| (slot, clean)));
            }
        }
        let change = (!changed.is_empty()).then(|| self.build(&term, shape, changed));
        let piece = if pieces {
            // Under a name each piece was judged by it; what they make together must not undo that.
            let judged = change.clone().filter(|_| named);
            Piece::Apart(judged.unwrap_or(term))
        } else {
            Piece::No
        };
        Ok(Judged { change, piece })
    }

    /// Iodata is one text in pieces: a secret may be split between them. When the whole holds one,
    /// the whole is replaced by its redacted text, which is iodata too.
    ///
    /// Asked of a part when it turns out that what holds it is no iodata itself, so that each text
    /// is put together once, however deep it is nested.
    fn whole(&mut self, judged: Judged<T::Term>) -> Result<Option<T::Term>, Stopped> {
        let Piece::Apart(original) = judged.piece else {
            return Ok(judged.change);
        };
        let clean = self.joined(&original, judged.change.is_some())?;
        Ok(clean.or(judged.change))
    }

    /// What pieces of text make together without its secrets, if it has any. Where some piece has
    /// changed already, what is remembered has been taken out of it, and the pieces stay apart.
    fn joined(&mut self, original: &T::Term, changed: bool) -> Result<Option<T::Term>, Stopped> {
        let Some(joined) = flatten(self.terms, original, self.budget.bytes) else {
            if self.beyond == Beyond::Stop {
                return Err(Stopped);
            }
            self.gone(UNSEARCHED);
            return Ok(Some(self.withheld()));
        };
        if !self.afford(joined.len())? {
            return Ok(Some(self.withheld()));
        }
        let known = if changed {
            &self.known[..1]
        } else {
            self.known
        };
        let clean = self.redact_with(&joined, known);
        Ok(clean.map(|clean| self.terms.list(vec![self.terms.text(&clean)], None)))
    }

    /// The term with its changed parts in place; of two changes of one part the later counts.
    fn build(&self, term: &T::Term, shape: Shape, changed: Vec<(usize, T::Term)>) -> T::Term {
        let terms = self.terms;
        match shape {
            Shape::Tuple => {
                let mut elements = terms.elements(term);
                for (slot, change) in changed {
                    elements[slot] = change;
                }
                terms.tuple(elements)
            }
            Shape::List => {
                let mut elements = Vec::new();
                let mut rest = term.clone();
                while let Some((head, tail)) = terms.cell(&rest) {
                    elements.push(head);
                    rest = tail;
                }
                let mut tail = (!is_list(terms, &rest)).then_some(rest);
                for (slot, change) in changed {
                    match elements.get_mut(slot) {
                        Some(element) => *element = change,
                        None => tail = Some(change),
                    }
                }
                terms.list(elements, tail)
            }
            Shape::Map => {
                let members = terms.members(term);
                terms.replaced(term, replacements(members, changed))
            }
        }
    }
}

/// An atom that is a word or a module is code, whatever it stands under: `password: :string`,
/// `auth: :ldap`.
fn is_word(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || matches!(b, b'_' | b'?' | b'!');
    name.len() <= 24 && name.bytes().all(plain)
        || name.strip_prefix("Elixir.").is_some_and(|module| {
            module
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'_')
        })
}
