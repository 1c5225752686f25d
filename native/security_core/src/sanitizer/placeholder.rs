//! Values that stand for a secret without being one.

use crate::word_list::WordList;
use aho_corasick::AhoCorasick;
use once_cell::sync::OnceCell;

use super::marks::without;
use super::shape::*;

/// Beginnings of references to a secret that is kept elsewhere, and of what documentation writes
/// in its place.
#[rustfmt::skip]
static PREFIXES: WordList = WordList::new(&[
    "#function", "#pid", "#ref", "&lt;", "***", "**redacted", "...", "@microsoft.keyvault",
    "\\u003c", "akv:", "arn:", "awssm", "bw:", "config.", "data.", "enc(", "enc[", "enter-",
    "enter_", "env(", "env.", "env:", "file:", "function", "gcp:", "getenv", "insert", "keychain:",
    "keyring:", "kms:", "local.", "module.", "my-", "my_", "op://", "os.environ", "os.getenv",
    "pass://", "process.env", "projects/", "ref+", "replace", "secret://", "secrets.", "secrets/",
    "secretsmanager", "self.", "settings.", "sm://", "some-", "some_", "ssm:", "system.fetch_env",
    "system.get_env", "this.", "var.", "vault:", "vault://", "your", "{:system",
]);

/// The first bytes of those: most values begin otherwise.
static BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut i = 0;
    while i < PREFIXES.words().len() {
        begins[PREFIXES.words()[i].as_bytes()[0] as usize] = true;
        i += 1;
    }
    begins
};

/// Words that no secret has in it.
#[rustfmt::skip]
static INSIDE: WordList = WordList::new(&[
    "****", "-here", "-key>", "-token>", "....", "_here", "change-me", "change_me", "changeme",
    "dummy", "example", "filtered", "fixme", "goes-here", "not-set", "not_set", "placeholder",
    "redacted", "todo", "xxxx", "your-", "your_", "•", "…",
]);

/// Stands for a secret without being one: `[REDACTED]`, `***`, `<token>`, `your-api-key`, `$VAR`,
/// `${VAR}`, `op://…`.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let value = without(value);
    let value = value.trim_ascii();
    if value.is_empty() || distinct(value) < 2 {
        return true;
    }
    if value.iter().all(|&b| {
        matches!(
            b,
            b'*' | b'x'
                | b'X'
                | b'.'
                | b'-'
                | b'_'
                | b'#'
                | b'?'
                | b' '
                | b'/'
                | b':'
                | b'\\'
                | b'"'
                | b'\''
        )
    }) {
        return true;
    }
    match value {
        // Marks of redaction, templates, interpolation, references to variables and stores.
        [b'<', .., b'>'] | [b'[', .., b']'] | [b'{', .., b'}'] => return true,
        [b'(', .., b')'] if value.len() < 40 => return true,
        [b'<', b'%', ..]
        | [b'<', b'<', ..]
        | [b'{', b'{', ..]
        | [b'$', b'{' | b'(' | b'[', ..]
        | [b'#', b'{', ..]
        | [b'%', b'{' | b'(', ..] => return true,
        [b'$', b'$', ..] => return false,
        [b'$', rest @ ..] | [b'@', rest @ ..]
            if rest[0].is_ascii_alphabetic() || rest[0] == b'_' =>
        {
            // `$2b$…` is a hash, `$ecret1!` a password: a variable is a plain identifier.
            let name = run_end(rest, 0, WORD);
            return name == rest.len() && !looks_random(rest, false)
                || matches!(rest.get(name), Some(b'.' | b'[' | b'(' | b':'));
        }
        [b'%', inner @ .., b'%'] | [b'!', inner @ .., b'!'] if all(inner, WORD) => return true,
        [b'!', rest @ ..] if rest.contains(&b' ') || rest.is_empty() => return true,
        _ => {}
    }
    if is_format(value) {
        return true;
    }
    // `"value#{n}"`: what is written there is no secret, and what comes there is not seen.
    if value.ends_with(b"}") {
        let pair = |pair: &[u8]| matches!(pair, b"#{" | b"${");
        let interpolation = value.windows(2).position(pair);
        if interpolation.is_some_and(|at| !any(&value[..at], D)) {
            return true;
        }
    }
    if BEGINS[usize::from(value[0].to_ascii_lowercase())]
        && PREFIXES.bytes().any(|prefix| starts_ci(value, prefix))
        && surprise(value) < 100
    {
        return true;
    }
    inside().is_some_and(|words| words.is_match(&value[..value.len().min(200)]))
        && surprise(&value[..value.len().min(200)]) < 150
}

/// A format string: its directives make up most of it.
fn is_format(value: &[u8]) -> bool {
    if !value.iter().any(|b| matches!(b, b'%' | b'~' | b'{')) {
        return false;
    }
    const DIRECTIVES: &[&[u8]] = &[b"%s", b"%d", b"%v", b"~s", b"~p", b"~w", b"{}", b"%@"];
    let directives = value
        .windows(2)
        .filter(|pair| DIRECTIVES.contains(pair))
        .count();
    let erlang = value.first() == Some(&b'~')
        && value.len() < 12
        && all(&value[1..value.len() - 1], D | DOT);
    erlang || directives > 0 && 2 * directives + 3 >= value.len()
}

/// Finds words that no secret has in it. Without it, no value is innocent for its words.
fn inside() -> Option<&'static AhoCorasick> {
    static WORDS: OnceCell<AhoCorasick> = OnceCell::new();
    WORDS
        .get_or_try_init(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(INSIDE.words())
        })
        .ok()
}
