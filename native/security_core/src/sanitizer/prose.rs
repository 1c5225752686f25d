//! Values that a sentence names: "the password is …", and the settings that look like one: `ENV KEY value`, netrc.

use super::bare::argument_is_secret;
use super::judge::{self, Place, bare_is_secret, is_placeholder};
use super::key::Key;
use super::keys::KeyClass;
use super::literal::{Kind, Until, bare, marked, skip_space};
use super::scan::Scan;
use super::shape::*;
use super::value::secret;

/// Prose without a digit, a quotation mark or an escape up to its line's end names no value, and most prose is like that.
pub(super) fn says_nothing(text: &[u8], key: &Key, from: usize) -> bool {
    // `ENV NAME value`, `requirepass value` and netrc's `password value` are no prose, see `blank_lead` and `netrc`.
    if !any(key.name, L) || matches!(key.name, b"requirepass" | b"masterauth" | b"password") {
        return false;
    }
    let rest = &text[from..text.len().min(from + MAX_SAID)];
    // A block at a time: without an early end the comparisons run side by side.
    let said = |b: u8| {
        (b.wrapping_sub(b'0') < 10)
            | (b == b'\n')
            | (b == b'"')
            | (b == b'\'')
            | (b == b'`')
            | (b == b'\\')
            | (b == b'&')
            | (b == b'%')
            | (b >= 0x80)
    };
    for block in rest.chunks(16) {
        if block.iter().fold(false, |any, &b| any | said(b)) {
            return block.iter().find(|&&b| said(b)) == Some(&b'\n');
        }
    }
    true
}

/// A value stands no farther behind its name, and shows a digit or a sign as early.
const MAX_SAID: usize = 128;

/// How many words may stand between a name and its value.
const MAX_WORDS: usize = 5;

/// "password is hunter2": the next word, if it has a digit.
pub(super) fn value(scan: &mut Scan, key: &Key, class: KeyClass, from: usize) {
    if class < KeyClass::Token {
        return;
    }
    let text = scan.text;
    let rest = &text[from..text.len().min(from + 60)];
    let line = &rest[..rest
        .iter()
        .position(|&b| matches!(b, b'\n' | b'\r'))
        .unwrap_or(rest.len())];
    scan.spend(8 * line.len());
    let mut at = from;
    let mut said = false;
    for (i, word) in line.split(|&b| b == b' ').take(MAX_WORDS).enumerate() {
        let next = at + word.len() + 1;
        match role(word, i, said) {
            Role::Verb => said = true,
            Role::Filler => {}
            Role::Value => {
                let end = candidate(scan, key, class, at, said);
                // "changed from one to another"
                if let Some(other) = text[end..].strip_prefix(b" to ") {
                    candidate(scan, key, class, text.len() - other.len(), true);
                }
                return;
            }
            Role::End => return,
        }
        at = next;
    }
    if said {
        below(scan, key, class, from + line.len());
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

/// Words and signs that say that the value follows. Sorted.
#[rustfmt::skip]
static VERBS: &[&[u8]] = &[
    b"-", b"->", b":", b"<<<", b"=", b"=>", b"are", b"as", b"es", b"est", b"from", b"is", b"is:", b"ist", b"lautet", b"to",
    b"was", b"was:", "\u{2013}".as_bytes(), "\u{2014}".as_bytes(),
];

fn role(word: &[u8], index: usize, said: bool) -> Role {
    match word {
        _ if VERBS.binary_search(&word).is_ok() => Role::Verb,
        [first, .., b':'] if index > 0 && is(*first, ALPHA) => Role::Verb,
        b"for" | b"of" | b"the" | b"your" | b"now" | b"currently" | b"set" | b"set:"
        | b"changed" | b"just" | b"" => Role::Filler,
        _ if said || index == 0 => Role::Value,
        // "password for bob is …"
        _ if index < 3 && all(word, WORD | DOT | DASH) => Role::Filler,
        _ => Role::End,
    }
}

/// The word that may be the value: without quotation marks, brackets and what ends a sentence. Says where it ends.
fn candidate(scan: &mut Scan, key: &Key, class: KeyClass, at: usize, said: bool) -> usize {
    let text = scan.text;
    // As a verb: "pass `x` to …".
    let verb = key.name.eq_ignore_ascii_case(b"pass");
    if verb && !said {
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
    let hit = if said || netrc || command {
        word.is_said() && (text[at] != b'`' || count(value, D) >= 2)
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
        let random = digits > 0 && any(value, ALPHA) && !judge::is_identifier(value);
        let password = class == KeyClass::Password && !is_technical(value);
        let strong = password
            && digits > 0
            && any(value, ALPHA)
            && value.len() >= 5
            && !value.contains(&b'(');
        let number = password && digits == value.len() && digits >= 6;
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
            || foreign
            || chosen
            || random && bare_is_secret(class, self.key.name, value, place)
    }

    /// "password hunter22": nothing says that it is one, so it must look more like one.
    fn is_named(&self) -> bool {
        let value = self.value;
        let digits = count(value, D);
        if self.class == KeyClass::Password {
            let mixed = digits >= 2
                && (any(value, ALPHA) || value.iter().any(|&b| b >= 0x80))
                && value.len() >= 6;
            let number = digits == value.len() && (6..=12).contains(&digits);
            let plain = |&b: &u8| {
                b.is_ascii_graphic() && !matches!(b, b'(' | b'{' | b'[' | b'<' | b'/' | b'=')
                    || b >= 0x80
            };
            if (mixed || number) && !is_technical(value) && value.iter().all(plain) {
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

/// `SHA256`, `base64`, `RFC6238`, `2024-01-01`: words with digits in them that stand behind a name in prose.
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
    listed || dated || value.starts_with(b"#PID") || value.starts_with(b"ed25519")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(VERBS.is_sorted());
    }
}
