//! Values that a sentence names: "the password is …", and the settings that look like one:
//! `ENV KEY value`, netrc.

use super::judge::{self, Place, argument_is_secret, bare_is_secret, is_placeholder};
use super::key_words;
use super::keys::KeyClass;
use super::literal::{Kind, Until, bare, marked, skip_blanks, skip_space};
use super::name::Key;
use super::scan::Scan;
use super::secret::secret;
use super::shape::*;
use crate::word_list::WordList;

/// Prose without a digit, a quotation mark or an escape up to its line's end names no value, and
/// most prose is like that.
pub(super) fn says_nothing(text: &[u8], key: &Key, from: usize) -> bool {
    // `ENV NAME value`, `requirepass value` and netrc's `password value` are no prose, see
    // `blank_lead` and `netrc`.
    if !any(key.name, L) || matches!(key.name, b"requirepass" | b"masterauth" | b"password") {
        return false;
    }
    for at in (from..text.len().min(from + MAX_SAID)).step_by(BLOCK) {
        let (block, next) = (block(text, at), block(text, at + 1));
        let small = |b: u8| b.wrapping_sub(b'a') < 26;
        let capital = |b: u8| b.wrapping_sub(b'A') < 26;
        // Without an early end the comparisons run side by side.
        let pairs = block.iter().zip(&next);
        let camel = pairs.fold(false, |any, (&a, &b)| any | (small(a) & capital(b)));
        if camel | block.iter().fold(false, |any, &b| any | tells(b)) {
            let told = block.iter().find(|&&b| tells(b));
            return !camel && told == Some(&b'\n') || camel && starts_line(&block);
        }
    }
    true
}

const BLOCK: usize = 16;

/// The bytes from `at` on, with blanks behind the text's end.
fn block(text: &[u8], at: usize) -> [u8; BLOCK] {
    let rest = &text[at.min(text.len())..];
    if let Some(block) = rest.first_chunk() {
        return *block;
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Digits, marks and signs that values have and words don't; a line's end, too.
fn tells(b: u8) -> bool {
    (b.wrapping_sub(b'0') < 10)
        | (b == b'\n')
        | (b == b'"')
        | (b == b'\'')
        | (b == b'`')
        | (b == b'\\')
        | (b == b'!')
        | (b.wrapping_sub(b'#') < 4)
        | (b == b'*')
        | (b == b'+')
        | (b == b'@')
        | (b == b'^')
        | (b == b'~')
        | (b >= 0x80)
}

/// Is a line's end the first telling thing, before any capital inside a word?
fn starts_line(block: &[u8]) -> bool {
    let camel = block
        .windows(2)
        .position(|pair| is(pair[0], L) && is(pair[1], U));
    let told = block.iter().position(|&b| tells(b));
    told.is_some_and(|told| block[told] == b'\n' && camel.is_none_or(|camel| told < camel))
}

/// A value stands no farther behind its name, and shows a digit or a sign as early.
const MAX_SAID: usize = 128;

/// How many words may stand between a name and its value.
const MAX_WORDS: usize = 9;

/// "password is hunter2", "the password of ann is now hunter2": the word that a sentence says it
/// is.
pub(super) fn value(scan: &mut Scan, key: &Key, class: KeyClass, from: usize) {
    sentence(scan, key, class, from, false);
}

/// As [`value`], where the word before says already that the value follows.
pub(super) fn said(scan: &mut Scan, key: &Key, class: KeyClass, from: usize) {
    let start = skip_blanks(scan.text, from, 4);
    sentence(scan, key, class, start, true);
}

fn sentence(scan: &mut Scan, key: &Key, class: KeyClass, from: usize, said: bool) {
    if class < KeyClass::Token {
        return;
    }
    let text = scan.text;
    let rest = &text[from..text.len().min(from + 100)];
    let line = &rest[..rest
        .iter()
        .position(|&b| matches!(b, b'\n' | b'\r'))
        .unwrap_or(rest.len())];
    scan.spend(3 * line.len());
    let mut at = from;
    let mut said = said;
    for (i, word) in line.split(|&b| b == b' ').take(MAX_WORDS).enumerate() {
        let next = at + word.len() + 1;
        match role(word, i, said) {
            Role::Verb => said = true,
            Role::Filler => {}
            Role::Value => return candidates(scan, key, class, at, said),
            Role::End => return,
        }
        at = next;
    }
    if said {
        below(scan, key, class, from + line.len());
    }
}

/// What stands between two values.
const OTHERS: &[&[u8]] = &[b" to ", b" or ", b" and ", b" -> "];

/// A value, and others beside it: "changed from one to another", "one or another".
fn candidates(scan: &mut Scan, key: &Key, class: KeyClass, at: usize, said: bool) {
    let text = scan.text;
    let mut end = candidate(scan, key, class, at, said);
    for _ in 0..4 {
        let rest = &text[end..];
        let glue = OTHERS.iter().find(|glue| rest.starts_with(glue));
        let Some(glue) = glue else { return };
        end = candidate(scan, key, class, end + glue.len(), true);
    }
}

/// Does a name stand behind its value? "use `x` as the password", "x is the password".
pub(super) fn stands_before(text: &[u8], key: &Key) -> bool {
    let lead = &text[..key.start];
    lead.last() == Some(&b' ') && before_end(text, key).is_some()
}

/// Where the value ends that stands before its name.
fn before_end(text: &[u8], key: &Key) -> Option<usize> {
    let lead = &text[key.start.saturating_sub(16)..key.start];
    const GLUES: &[&[u8]] = &[
        b" as ",
        b" as a ",
        b" as the ",
        b" as your ",
        b" is the ",
        b" is your ",
    ];
    let glue = GLUES.iter().find(|glue| lead.ends_with(glue))?;
    Some(key.start - glue.len())
}

/// Judges the word, or what stands between quotation marks, before a name.
pub(super) fn before(scan: &mut Scan, key: &Key, class: KeyClass) {
    let text = scan.text;
    let Some(end) = before_end(text, key).filter(|_| class >= KeyClass::Token) else {
        return;
    };
    let lead = line_lead(text, end, 100);
    scan.spend(4 * lead.len());
    let mark = lead
        .last()
        .copied()
        .filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    let length = match mark {
        Some(mark) => {
            let inner = &lead[..lead.len() - 1];
            let Some(open) = memchr::memrchr(mark, inner) else {
                return;
            };
            inner.len() - open - 1
        }
        None => lead.iter().rev().take_while(|&&b| b != b' ').count(),
    };
    let end = end - usize::from(mark.is_some());
    let value = &text[end - length..end];
    let word = Word { key, class, value };
    if !value.contains(&b' ')
        && !is_placeholder(value)
        && (word.is_named() || mark.is_some() && word.is_said())
    {
        secret(scan, key, class, end - length, end);
    }
}

/// A word alone on the next line, or on the one after an empty line: "Your password is:".
pub(super) fn below(scan: &mut Scan, key: &Key, class: KeyClass, line_end: usize) -> bool {
    let text = scan.text;
    let start = skip_space(text, line_end, 24);
    let end = bare(text, start, Until::Blank).end;
    let alone = matches!(text.get(end), None | Some(b'\n' | b'\r'));
    let value = &text[start.min(end)..end];
    let word = Word { key, class, value };
    let hit = start > line_end && alone && word.is_said() && !is_placeholder(value);
    if hit {
        secret(scan, key, class, start, end);
    }
    hit
}

/// What a word behind a name is.
enum Role {
    /// It says that the value follows.
    Verb,
    Filler,
    Value,
    End,
}

/// Words and signs that say that the value follows, in small letters.
#[rustfmt::skip]
static VERBS: WordList = WordList::new(&[
    "-", "->", ":", "<<<", "=", "=>", "are", "as", "became", "es", "est", "from", "is", "is:",
    "ist", "jest", "lautet", "to", "using", "vaut", "war", "was", "was:", "were", "è", "é", "это",
    "–", "—",
]);

/// Words that stand between a verb and the value.
#[rustfmt::skip]
static FILLERS: WordList = WordList::new(&[
    "", "again", "ahora", "changed", "currently", "following", "for", "jetzt", "just", "maintenant",
    "now", "nun", "of", "set", "set:", "simply", "still", "the", "this", "your",
]);

fn role(word: &[u8], index: usize, said: bool) -> Role {
    let mut buffer = [0; 12];
    let small = match buffer.get_mut(..word.len()) {
        Some(small) => {
            small.copy_from_slice(word);
            small.make_ascii_lowercase();
            &*small
        }
        None => word,
    };
    let plain = word
        .iter()
        .all(|&b| is(b, ALPHA | DASH) || matches!(b, b'\'' | 0x80..));
    match small {
        _ if VERBS.has(small) => Role::Verb,
        [first, .., b':'] if index > 0 && is(*first, ALPHA) => Role::Verb,
        _ if FILLERS.has(small) => Role::Filler,
        _ if said => Role::Value,
        // "token type is …": what is said is not the token.
        _ if plain && key_words::says(small) & key_words::ABOUT != 0 => Role::End,
        _ if index == 0 && (!plain || word.len() >= 6) => Role::Value,
        // "password for bob is …"
        _ if plain || index < 3 && all(word, WORD | DOT | DASH) => Role::Filler,
        _ => Role::End,
    }
}

/// The word that may be the value: without quotation marks, brackets and what ends a sentence. Says
/// where it ends.
fn candidate(scan: &mut Scan, key: &Key, class: KeyClass, at: usize, said: bool) -> usize {
    let text = scan.text;
    // As a verb: "pass `x` to …".
    let verb = key.name.eq_ignore_ascii_case(b"pass");
    // A text may be cut off right behind "from one to ".
    if verb && !said || at >= text.len() {
        return at;
    }
    let bracket = usize::from(text[at] == b'(' && !said);
    let at = at + bracket;
    let (start, value, after) = match marked(text, at) {
        Some(literal) if matches!(literal.kind, Kind::Quoted(_)) => {
            let value = &text[literal.start..literal.end];
            (literal.start, value, literal.after)
        }
        _ => {
            let value = &text[at..bare(text, at, Until::Blank).end];
            let ending = |b: &&u8| matches!(b, b'.' | b',' | b';' | b')' | b':' | b'*' | b'`');
            let kept = value.iter().rev().take_while(ending).count();
            (at, &value[..value.len() - kept], at + value.len())
        }
    };
    if value.first() == Some(&b':') || value.len() > 512 || is_placeholder(value) {
        return after;
    }
    let word = Word { key, class, value };
    let netrc = key.name == b"password" && netrc(text, key.start);
    let command = matches!(blank_lead(text, key), Lead::Command);
    let quoted = matches!(text[at], b'"' | b'\'');
    let hit = if said || netrc || command {
        word.is_said() && (text[at] != b'`' || count(value, D) >= 2)
            || said && quoted && word.is_phrase()
            || command && argument_is_secret(class, key.name, value, true)
            || netrc && value.len() > 2
    } else if bracket == 1 {
        judge::token_is_secret(value)
    } else {
        word.is_named()
    };
    if hit {
        secret(scan, key, class, start, start + value.len());
    }
    after
}

struct Word<'w, 't> {
    key: &'w Key<'t>,
    class: KeyClass,
    value: &'w [u8],
}

impl Word<'_, '_> {
    /// "… is hunter2": a verb stands before it.
    fn is_said(&self) -> bool {
        let (class, value) = (self.class, self.value);
        let digits = count(value, D);
        let cased =
            value.len() >= 8 && any(value, U) && any(value, L) && looks_random(value, false);
        let random = (digits > 0 && any(value, ALPHA) || cased) && !judge::is_identifier(value);
        let password = class == KeyClass::Password && !is_technical(value);
        let strong = password
            && digits > 0
            && any(value, ALPHA)
            && value.len() >= 5
            && !value.contains(&b'(');
        let number = password && digits == value.len() && digits >= 6;
        let signed = password && value.len() >= 6 && has_inner_sign(value);
        let foreign =
            password && value.len() >= 6 && value.iter().any(|&b| b >= 0x80) && any(value, D | US);
        let place = Place {
            tight: false,
            data: false,
            screaming: false,
            ends: true,
        };
        // A token of its owner's choice: "the token is winter_936".
        let chosen = class >= KeyClass::Token
            && digits >= 3
            && value.len() >= 8
            && any(value, ALPHA)
            && value
                .iter()
                .all(|b| b.is_ascii_graphic() && !matches!(b, b'(' | b'/' | b'='))
            && !is_technical(value);
        strong
            || number
            || signed
            || cased && password
            || foreign
            || chosen
            || random && bare_is_secret(class, self.key.name, value, place)
    }

    /// "the passphrase is "…"": some words between quotation marks.
    fn is_phrase(&self) -> bool {
        let words = self.value.split(|&b| b == b' ').count();
        contains_ci(self.key.name, b"phrase")
            && words >= 3
            && judge::quoted_is_secret(self.class, self.key.name, self.value)
    }

    /// "password hunter22": nothing says that it is one, so it must look more like one.
    fn is_named(&self) -> bool {
        let value = self.value;
        let digits = count(value, D);
        if self.class >= KeyClass::Secret {
            let beyond = value.iter().any(|&b| b >= 0x80);
            let letters = any(value, ALPHA) || beyond;
            let mixed = value.len() >= 6
                && letters
                && (digits >= 2 || digits == 1 && (beyond || has_inner_sign(value)));
            let number = digits == value.len() && (6..=12).contains(&digits);
            let signed =
                value.len() >= 8 && has_inner_sign(value) && any(value, U) && any(value, L);
            let plain = |&b: &u8| {
                b.is_ascii_graphic() && !matches!(b, b'(' | b'{' | b'[' | b'<' | b'/' | b'=')
                    || b >= 0x80
            };
            if (mixed || number || signed) && !is_technical(value) && value.iter().all(plain) {
                return true;
            }
        }
        let token = judge::token_is_secret(value)
            && value.len() >= 8
            && digits >= 2
            && !is_technical(value);
        if token && !judge::is_identifier(value) && !value.contains(&b'/') && !value.contains(&b'.')
        {
            return true;
        }
        looks_random(value, true)
            && digits > 0
            && value.len() >= 16
            && !value.contains(&b'/')
            && !value.contains(&b'.')
            && any(value, U)
    }
}

/// A sign inside the word that no word has: `VC!vnMr.HpRt`.
fn has_inner_sign(value: &[u8]) -> bool {
    let inner = value.get(1..value.len() - 1).unwrap_or_default();
    let sign = |b: &u8| {
        matches!(
            b,
            b'!' | b'#' | b'$' | b'%' | b'*' | b'+' | b'@' | b'^' | b'~'
        )
    };
    inner.iter().any(sign)
        && value
            .iter()
            .all(|&b| b.is_ascii_graphic() && !matches!(b, b'(' | b'{' | b'<'))
        && count(value, ALPHA | D) * 3 >= value.len() * 2
}

/// `SHA256`, `base64`, `RFC6238`, `2024-01-01`: words with digits in them that stand behind a name
/// in prose.
fn is_technical(value: &[u8]) -> bool {
    #[rustfmt::skip]
    const BEGINNINGS: &[&[u8]] = &[
        b"aes", b"argon", b"base", b"bcrypt", b"ecdsa", b"ed25519", b"es", b"hs", b"http", b"iso", b"md", b"oauth", b"pbkdf",
        b"pkcs", b"rfc", b"rs", b"scram", b"scrypt", b"sha", b"tls", b"utf", b"v", b"x509",
    ];
    let letters = run_end(value, 0, ALPHA);
    let listed = letters > 0
        && BEGINNINGS
            .iter()
            .any(|b| value[..letters].eq_ignore_ascii_case(b));
    let dated = value
        .iter()
        .all(|&b| is(b, D | DASH | COLON | DOT) || matches!(b, b'T' | b'Z' | b'/'))
        && any(value, DASH | COLON | DOT);
    listed
        || dated
        || judge::is_function(value)
        || value.starts_with(b"#PID")
        || value.starts_with(b"ed25519")
}

enum Lead {
    Command,
    Other,
}

/// `ENV KEY value`, `setenv KEY value`, `requirepass value`: settings with a blank between.
fn blank_lead(text: &[u8], key: &Key) -> Lead {
    let lead = line_lead(text, key.start, 60).trim_ascii();
    let word = lead
        .rsplit(|b| b.is_ascii_whitespace())
        .next()
        .unwrap_or_default();
    let setting = matches!(key.name, b"requirepass" | b"masterauth" | b"AUTH");
    if matches!(word, b"ENV" | b"ARG" | b"setenv" | b"set" | b"put" | b"add")
        && !key.name.iter().any(u8::is_ascii_lowercase)
        || setting && (lead.is_empty() || matches!(word, b"SET" | b"set" | b"-l"))
    {
        Lead::Command
    } else {
        Lead::Other
    }
}

/// A netrc line: `machine … login … password …`.
fn netrc(text: &[u8], start: usize) -> bool {
    let lead = &text[start.saturating_sub(160)..start];
    memchr::memmem::find(lead, b"login ").is_some()
        && (memchr::memmem::find(lead, b"machine ").is_some()
            || memchr::memmem::find(lead, b"default ").is_some())
}
