//! Removes secrets from text: tokens by their form, values by their surroundings, and the secrets
//! that this node knows.
//!
//! [`Sanitizer::scan`] says what must go, [`Sanitizer::redact`] writes the redacted text. Both take
//! any bytes, run in linear time, and never panic. Only values are replaced; keys, quotation marks
//! and brackets stay, so that JSON remains JSON and Elixir remains parseable. References
//! (`$DB_PASSWORD`, `System.fetch_env!("X")`), placeholders (`<token>`, `***`) and public
//! look-alikes (publishable keys, digests, UUIDs) stay.
//!
//! How a text is walked:
//!
//! 1. a prefilter finds the few places where a rule's fixed piece occurs (`prefilter`);
//! 2. each is confirmed by a detector (`anchors` says which): a token family (`token`, `families`,
//!    `runs`), a private key (`pem`), a URL (`url`), or a telling name (`key`, `keys`) with what
//!    stands between (`separator`) and its value (`value`, `bare`, `prose`, `headers`, `commands`,
//!    `accounts`,
//!    with `literal` for values and `judge` for the decision);
//! 3. where colour codes, zero-width characters and the like occur, this is done on a readable view
//!    of the text (`view`);
//! 4. known values are searched for exactly (`known`), the configured rules run, and all findings
//!    are merged.
//!
//! The files use each other in one direction: the table of anchors knows the detectors, these know
//! how names and values are read (`name`, `literal`) and judged, and those know the bytes' classes
//! (`shape`) alone.

mod accounts;
mod again;
mod anchors;
mod assertion;
mod bare;
mod beginnings;
mod cell;
mod collect;
mod columns;
mod commands;
mod dump;
mod elements;
mod encoded;
mod engine;
mod families;
mod fields;
mod found;
mod headers;
mod html;
mod judge;
mod key;
mod key_words;
mod keys;
mod known;
mod literal;
mod marks;
mod memory;
mod name;
mod nested;
mod password_names;
mod pem;
mod place;
mod placeholder;
mod prefilter;
mod prose;
mod rules;
mod runs;
mod scan;
mod secret;
mod separator;
mod shape;
mod statement;
mod summary;
pub mod terms;
mod token;
mod tongues;
mod url;
mod value;
mod view;

pub use keys::KeyClass;
pub use known::KnownSecrets;
pub use memory::{Memories, Memory, MemoryLimits};
pub use rules::RuleInfo;
pub use summary::{Sides, Summary};

use engine::{Engine, LONG_WORD, WORD, Walk};
use found::Found;
use marks::{Marks, Reach};
use regex::bytes::{Regex, RegexBuilder};
use rules::{RULES, Rule};
use scan::{Scan, normal};
use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;
use thiserror::Error;
use view::View;

/// What a user adds to the built-in rules.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Patterns of tokens that the built-in rules don't know.
    pub rules: Vec<UserRule>,
    /// Names whose values are secret: compared without case and separators.
    pub fields: Vec<String>,
}

/// A pattern and what takes its matches' place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRule {
    /// Snake-case, not a built-in rule's name.
    pub name: String,
    /// A regular expression without look-around and back references, so that it runs in linear
    /// time. A group named `secret` limits what is replaced to that group.
    pub pattern: String,
    /// What takes the match's place: printable ASCII without quotation marks and backslashes.
    pub replacement: String,
}

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A rule's name is not made of 1 to 64 small letters, digits and underscores, or is taken.
    #[error(
        "redaction rule {name:?}: a name is 1 to 64 characters of a-z, 0-9 and _, and differs from \
         other rules' names"
    )]
    RuleName {
        /// The name as given.
        name: String,
    },
    /// A rule's pattern does not compile, or matches the empty string.
    #[error("redaction rule {name:?}: {reason}")]
    Pattern {
        /// The rule.
        name: String,
        /// What is wrong with the pattern.
        reason: String,
    },
    /// A rule's replacement is empty, too long, or would break strings around it.
    #[error(
        "redaction rule {name:?}: a replacement is 1 to 64 printable ASCII characters without \
         quotation marks and backslashes"
    )]
    Replacement {
        /// The rule.
        name: String,
    },
    /// A field name is not made of 2 to 64 letters, digits and separators.
    #[error("sensitive field {name:?}: a name is 2 to 64 of a-z, A-Z, 0-9, _, - and .")]
    Field {
        /// The name as given.
        name: String,
    },
    /// More rules or fields than are allowed.
    #[error("too many {what}: {allowed} are allowed")]
    TooMany {
        /// What there is too much of: `"rules"` or `"fields"`.
        what: &'static str,
        /// How many are allowed.
        allowed: usize,
    },
}

/// More would slow down the search in every text; nobody keeps so many by hand.
const MAX_USER_RULES: usize = 200;
const MAX_USER_FIELDS: usize = 500;

struct CompiledRule {
    rule: UserRule,
    regex: Regex,
    secret_group: Option<usize>,
}

/// The redactor. Immutable and shared by all threads; building it costs some milliseconds and is
/// done once.
pub struct Sanitizer {
    engine: Engine,
    fields: HashSet<Vec<u8>>,
    user: Vec<CompiledRule>,
    marks: Marks,
}

impl fmt::Debug for Sanitizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sanitizer")
            .field("user_rules", &self.user.len())
            .finish_non_exhaustive()
    }
}

/// A stretch of a text that must go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'s> {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// What takes its place.
    pub replacement: &'s str,
    /// The name of the rule that found it.
    pub rule: &'s str,
}

/// What a scan found. Nothing is allocated when nothing was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings<'s> {
    /// In ascending order, without overlaps.
    pub spans: Vec<Span<'s>>,
    /// Some of the text took more work than allowed; its long words are among the spans.
    pub over_budget: bool,
    /// How many bytes were read again to confirm or reject what the prefilter found: at most a
    /// fixed multiple of the text's length.
    pub work: usize,
}

/// A redacted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text with every finding replaced.
    pub text: Vec<u8>,
    /// How many stretches were replaced.
    pub count: usize,
    /// As in [`Findings`].
    pub over_budget: bool,
}

impl Sanitizer {
    /// Checks a configuration and builds the redactor.
    pub fn new(config: Config) -> Result<Sanitizer, ConfigError> {
        if config.rules.len() > MAX_USER_RULES {
            return Err(ConfigError::TooMany {
                what: "rules",
                allowed: MAX_USER_RULES,
            });
        }
        if config.fields.len() > MAX_USER_FIELDS {
            return Err(ConfigError::TooMany {
                what: "fields",
                allowed: MAX_USER_FIELDS,
            });
        }
        let mut added = HashSet::new();
        for name in &config.fields {
            let plain = name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
            let key = normal(name.as_bytes());
            if !plain || !(2..=64).contains(&name.len()) || key.len() < 2 {
                return Err(ConfigError::Field { name: name.clone() });
            }
            added.insert(key);
        }
        let mut user: Vec<CompiledRule> = Vec::new();
        for rule in config.rules {
            let taken = RULES.iter().any(|r| r.name == rule.name)
                || user.iter().any(|r| r.rule.name == rule.name);
            user.push(compile(rule, taken)?);
        }
        let fields = fields::names()
            .iter()
            .map(|name| normal(name.as_bytes()))
            .chain(added.iter().cloned())
            .collect();
        Ok(Sanitizer {
            engine: Engine::new(added, &config.fields),
            fields,
            marks: Marks::new(user.iter().map(|rule| rule.rule.replacement.as_str())),
            user,
        })
    }

    /// The redactor with built-in rules only, built at first use.
    pub fn built_in() -> &'static Sanitizer {
        static BUILT_IN: OnceLock<Sanitizer> = OnceLock::new();
        BUILT_IN.get_or_init(|| Sanitizer {
            engine: Engine::new(HashSet::new(), &[]),
            fields: fields::names()
                .iter()
                .map(|name| normal(name.as_bytes()))
                .collect(),
            user: Vec::new(),
            marks: Marks::new(std::iter::empty()),
        })
    }

    /// Finds what must go from `text`. `known` are the exact values of this node.
    ///
    /// What is left once these are replaced has no more findings: a secret that another one hid is
    /// among them.
    pub fn scan(&self, text: &[u8], known: &KnownSecrets) -> Findings<'_> {
        self.scan_all(text, &[known])
    }

    /// As [`Sanitizer::scan`], with several sets of known values: this node's first, then a
    /// session's [`Memory`].
    pub fn scan_all(&self, text: &[u8], known: &[&KnownSecrets]) -> Findings<'_> {
        if self.engine.is_plain(text)
            && self.user.is_empty()
            && known.iter().all(|known| !known.occurs_in(text))
        {
            return Findings::default();
        }
        let mut findings = self.pass(text, known, &[]);
        for _ in 0..PASSES {
            let spent = findings.work > scan::allowed(text.len());
            if findings.over_budget || findings.spans.is_empty() {
                return findings;
            }
            if spent {
                break;
            }
            let (redacted, places) = replace(text, &findings.spans);
            // A key's armour may be longer than a window; anything else ends near its beginning.
            let armour = findings.spans.iter().any(|span| span.rule == "private_key");
            let near: Vec<usize> = match armour {
                true => Vec::new(),
                false => places.iter().map(|place| place.start).collect(),
            };
            let more = self.pass(&redacted, known, &near);
            findings.work += more.work;
            findings.over_budget |= more.over_budget;
            if more.spans.is_empty() {
                return findings;
            }
            findings.spans = join(&findings.spans, more.spans, &places);
        }
        // Made to go on and on. As with a budget that was spent, every long word goes.
        let mut words = self.engine.words(text, LONG_WORD);
        findings.spans = join(&findings.spans, self.merge(&mut words), &[]);
        findings.over_budget = true;
        findings
    }

    /// One look at `text`.
    fn pass(&self, text: &[u8], known: &[&KnownSecrets], near: &[usize]) -> Findings<'_> {
        let mut scan = Scan::new(text, &self.engine.fields);
        let Err(unseen) = self.engine.walk(&mut scan, 0, Walk::Plain, near) else {
            self.extras(known, &mut scan);
            return self.findings(text, &mut scan);
        };
        let view = View::of(text);
        let (mut scan, from) = scan.resumed(&view.text, unseen.at);
        let near: Vec<usize> = near.iter().map(|&place| view.shown(place)).collect();
        // A view has nothing invisible in it.
        let _ = self.engine.walk(&mut scan, from, Walk::Seen, &near);
        self.extras(known, &mut scan);
        for span in &mut scan.found {
            (span.start, span.end) = view.origin(span.start, span.end);
        }
        self.findings(text, &mut scan)
    }

    fn findings(&self, text: &[u8], scan: &mut Scan) -> Findings<'_> {
        let found = &mut scan.found;
        if scan.over_budget && found.is_empty() {
            // Nothing passes for being cut short.
            *found = self.engine.words(text, WORD);
        }
        if !found.is_empty() {
            self.take_marks_whole(text, found);
        }
        Findings {
            spans: self.merge(found),
            over_budget: scan.over_budget,
            work: scan.total_work,
        }
    }

    /// Other places of what was found, known values, and the configured rules.
    fn extras(&self, known: &[&KnownSecrets], scan: &mut Scan) {
        let again = again::everywhere(scan.text, &scan.found);
        scan.found.extend(again);
        let (text, found) = (scan.text, &mut scan.found);
        for (i, known) in known.iter().enumerate() {
            // What a session remembers has a better name where it is told once more.
            let rank = if i == 0 { 4 } else { 0 };
            known.each(text, |start, end| {
                found.push(Found {
                    start,
                    end,
                    rule: Rule::Known as u16,
                    rank,
                })
            });
        }
        for (i, user) in self.user.iter().enumerate() {
            let rule = (RULES.len() + i) as u16;
            match user.secret_group {
                None => {
                    for hit in user.regex.find_iter(text).filter(|hit| !hit.is_empty()) {
                        found.push(Found {
                            start: hit.start(),
                            end: hit.end(),
                            rule,
                            rank: 5,
                        });
                    }
                }
                Some(group) => {
                    for captures in user.regex.captures_iter(text) {
                        if let Some(span) = captures.get(group).filter(|span| !span.is_empty()) {
                            found.push(Found {
                                start: span.start(),
                                end: span.end(),
                                rule,
                                rank: 5,
                            });
                        }
                    }
                }
            }
        }
    }

    /// A finding takes the marks whole that it reaches into, and an escape character right before
    /// it, which would make an escape of the replacement's first letters. Findings that are made of
    /// marks are none.
    fn take_marks_whole(&self, text: &[u8], found: &mut Vec<Found>) {
        found.sort_unstable_by_key(|f| (f.start, f.end));
        let near = self.marks.near(text, found);
        found.retain_mut(|next| match near.reach(next.start, next.end) {
            Reach::Empty => false,
            Reach::Whole(start, end) => {
                let escapes = text[..start].iter().rev().take_while(|&&b| b == 0x1b);
                (next.start, next.end) = (start - escapes.count(), end);
                true
            }
        });
    }

    /// Joins findings that overlap; the higher rank names the replacement, among equals the longer.
    fn merge(&self, found: &mut [Found]) -> Vec<Span<'_>> {
        found.sort_unstable_by_key(|f| (f.start, f.end));
        if found.is_empty() {
            return Vec::new();
        }
        let mut spans: Vec<Span<'_>> = Vec::with_capacity(found.len());
        let mut whole: Option<Found> = None;
        let mut winner = 0;
        for next in found.iter() {
            match &mut whole {
                Some(current) if next.start < current.end => {
                    current.end = current.end.max(next.end);
                    let length = next.end - next.start;
                    if next.rank > current.rank || next.rank == current.rank && length > winner {
                        (current.rule, current.rank, winner) = (next.rule, next.rank, length);
                    }
                }
                _ => {
                    spans.extend(whole.take().map(|done| self.span(done)));
                    whole = Some(*next);
                    winner = next.end - next.start;
                }
            }
        }
        spans.extend(whole.map(|done| self.span(done)));
        spans
    }

    fn span(&self, found: Found) -> Span<'_> {
        let (rule, replacement) = match RULES.get(usize::from(found.rule)) {
            Some(info) => (info.name, info.replacement),
            None => {
                let user = &self.user[usize::from(found.rule) - RULES.len()].rule;
                (user.name.as_str(), user.replacement.as_str())
            }
        };
        Span {
            start: found.start,
            end: found.end,
            replacement,
            rule,
        }
    }

    /// The text without its secrets, or `None` when there are none, for the caller to keep its own
    /// bytes.
    pub fn redact(&self, text: &[u8], known: &KnownSecrets) -> Option<Redacted> {
        let findings = self.scan(text, known);
        if findings.spans.is_empty() {
            return None;
        }
        Some(Redacted {
            text: replace(text, &findings.spans).0,
            count: findings.spans.len(),
            over_budget: findings.over_budget,
        })
    }

    /// What the name of a map key, a keyword or a pair's first element says about its value.
    pub fn key_class(&self, key: &[u8]) -> KeyClass {
        // `password=hunter2` is not a name: what is left of it once it is redacted says something
        // else.
        if key.is_empty() || key.len() > keys::MAX_NAME || key.contains(&b'=') {
            return KeyClass::None;
        }
        if key.len() <= 64 {
            let mut buffer = [0u8; 64];
            let mut length = 0;
            for b in key.iter().filter(|b| b.is_ascii_alphanumeric()) {
                buffer[length] = b.to_ascii_lowercase();
                length += 1;
            }
            if self.fields.contains(&buffer[..length]) {
                return KeyClass::Field;
            }
        }
        keys::classify(key)
    }

    /// Must a string go that stands under a key of this class?
    pub fn value_is_secret(&self, class: KeyClass, value: &[u8]) -> bool {
        judge::quoted_is_secret(class, b"", value)
    }
}

/// How often a text is looked at again because replacing one secret uncovered another.
const PASSES: usize = 3;

/// `text` with every span replaced, and where in it each replacement ends.
fn replace(text: &[u8], spans: &[Span<'_>]) -> (Vec<u8>, Vec<Place>) {
    let longer: usize = spans.iter().map(|span| span.replacement.len()).sum();
    let mut out = Vec::with_capacity(text.len() + longer);
    let mut places = Vec::with_capacity(spans.len());
    let mut copied = 0;
    for span in spans {
        out.extend_from_slice(&text[copied..span.start]);
        out.extend_from_slice(span.replacement.as_bytes());
        places.push(Place {
            start: out.len() - span.replacement.len(),
            end: out.len(),
            origin: (span.start, span.end),
        });
        copied = span.end;
    }
    out.extend_from_slice(&text[copied..]);
    (out, places)
}

/// A replacement in a redacted text, and what it stands for.
struct Place {
    start: usize,
    end: usize,
    origin: (usize, usize),
}

/// Spans of a text and those of its redacted form, all as spans of the text. Where both speak of a
/// stretch, the later has seen more of it.
fn join<'s>(first: &[Span<'s>], later: Vec<Span<'s>>, places: &[Place]) -> Vec<Span<'s>> {
    // The place that holds `at` or is the last before it.
    let before = |at: usize| {
        let next = places.partition_point(|place| place.start < at);
        next.checked_sub(1).map(|i| &places[i])
    };
    let origin = |at: usize, inside: fn(&Place) -> usize| match before(at) {
        None => at,
        Some(place) if at < place.end => inside(place),
        Some(place) => place.origin.1 + (at - place.end),
    };
    let mapped = later.into_iter().map(|span| Span {
        start: origin(span.start, |place| place.origin.0),
        end: origin(span.end, |place| place.origin.1),
        ..span
    });
    let mut joined: Vec<Span<'s>> = first.iter().copied().chain(mapped).collect();
    // Stable, so that of two with one start the later comes second, and names the replacement.
    joined.sort_by_key(|span| span.start);
    joined.dedup_by(|next, whole| {
        let overlap = next.start < whole.end;
        if overlap {
            let longer = next.end - next.start >= whole.end - whole.start;
            let name = if longer { *next } else { *whole };
            *whole = Span {
                start: whole.start,
                end: whole.end.max(next.end),
                ..name
            };
        }
        overlap
    });
    joined
}

fn compile(rule: UserRule, taken: bool) -> Result<CompiledRule, ConfigError> {
    let plain = rule
        .name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if taken || !plain || !(1..=64).contains(&rule.name.len()) {
        return Err(ConfigError::RuleName { name: rule.name });
    }
    let printable = rule
        .replacement
        .bytes()
        .all(|b| (b' '..=b'~').contains(&b) && !matches!(b, b'"' | b'\'' | b'\\' | b'`'));
    if !printable || !(1..=64).contains(&rule.replacement.len()) {
        return Err(ConfigError::Replacement { name: rule.name });
    }
    let compiled = RegexBuilder::new(&rule.pattern).size_limit(1 << 20).build();
    let regex = compiled.map_err(|error| ConfigError::Pattern {
        name: rule.name.clone(),
        reason: error.to_string(),
    })?;
    if regex.is_match(b"") {
        return Err(ConfigError::Pattern {
            name: rule.name,
            reason: "the pattern matches the empty string".into(),
        });
    }
    let secret_group = regex
        .capture_names()
        .position(|name| name == Some("secret"));
    Ok(CompiledRule {
        rule,
        regex,
        secret_group,
    })
}

/// The built-in rules, in order.
pub fn rules() -> impl Iterator<Item = &'static RuleInfo> {
    RULES.iter()
}

/// The pieces of text that the built-in rules hang on, for those who search for slow inputs.
#[doc(hidden)]
pub fn pieces() -> Vec<Vec<u8>> {
    let (pieces, _) = anchors::table(&[]);
    pieces.iter().map(prefilter::Piece::bytes).collect()
}

#[cfg(test)]
mod tests;
