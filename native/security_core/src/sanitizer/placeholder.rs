//! Values that stand for a secret without being one.

use aho_corasick::AhoCorasick;
use once_cell::sync::OnceCell;

use super::marks::without;
use super::shape::*;

/// Beginnings of references to a secret that is kept elsewhere, and of what documentation writes
/// in its place. Sorted.
#[rustfmt::skip]
static PREFIXES: &[&[u8]] = &[
    b"#function", b"#pid", b"#ref", b"&lt;", b"***", b"**redacted", b"...", b"@microsoft.keyvault",
    b"\\u003c", b"akv:", b"arn:", b"awssm", b"bw:", b"config.", b"data.", b"enc(", b"enc[",
    b"enter-", b"enter_", b"env(", b"env.", b"env:", b"file:", b"function", b"gcp:", b"getenv",
    b"insert", b"keychain:", b"keyring:", b"kms:", b"local.", b"module.", b"my-", b"my_", b"op://",
    b"os.environ", b"os.getenv", b"pass://", b"process.env", b"projects/", b"ref+", b"replace",
    b"secret://", b"secrets.", b"secrets/", b"secretsmanager", b"self.", b"settings.", b"sm://",
    b"some-", b"some_", b"ssm:", b"system.fetch_env", b"system.get_env", b"this.", b"var.",
    b"vault:", b"vault://", b"your", b"{:system",
];

/// The first bytes of those: most values begin otherwise.
static BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut i = 0;
    while i < PREFIXES.len() {
        begins[PREFIXES[i][0] as usize] = true;
        i += 1;
    }
    begins
};

/// Words that no secret has in it. Sorted.
#[rustfmt::skip]
static INSIDE: &[&[u8]] = &[
    b"****", b"-here", b"-key>", b"-token>", b"....", b"_here", b"change-me", b"change_me",
    b"changeme", b"dummy", b"example", b"filtered", b"fixme", b"goes-here", b"not-set", b"not_set",
    b"placeholder", b"redacted", b"todo", b"xxxx", b"your-", b"your_", b"\xe2\x80\xa2",
    b"\xe2\x80\xa6",
];

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
        && PREFIXES.iter().any(|prefix| starts_ci(value, prefix))
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
                .build(INSIDE)
        })
        .ok()
}
