//! Is this value a secret, given the class of its key? Placeholders, references, types and prose
//! never are.

use super::families::is_uuid;
use super::keys::KeyClass;
use super::marks::without;
pub(crate) use super::placeholder::is_placeholder;
use super::shape::*;
use crate::word_list::WordList;

/// Words that stand for "none", types, and what a secret is called.
#[rustfmt::skip]
static KEYWORDS: WordList = WordList::new(&[
    "access-token", "access_token", "any", "api-key", "api_key", "apikey", "async", "atom", "auto",
    "await", "basic", "bearer", "binary", "bool", "boolean", "bytea", "bytes", "char", "const",
    "cookie", "cookies", "credentials", "default", "digest", "disabled", "email", "empty",
    "enabled", "encrypted", "env", "error", "expired", "false", "file", "filtered", "float",
    "generate", "generated", "hidden", "inherit", "input", "int", "integer", "invalid", "jwt",
    "key", "let", "list", "map", "masked", "missing", "n/a", "na", "new", "nil", "no", "nonce",
    "none", "null", "number", "object", "off", "ok", "omitted", "on", "opaque", "optional",
    "passphrase", "passwd", "password", "password:", "plain", "plaintext", "private", "prompt",
    "public", "random", "redacted", "refresh_token", "removed", "required", "salt", "secret",
    "secret-key", "secret:", "secret_key", "secretkey", "self", "some", "stdin", "str", "string",
    "super", "text", "this", "token", "true", "undefined", "unknown", "unset", "user", "username",
    "utf8", "valid", "value", "varchar", "void", "yes",
]);

/// Words of sentences.
#[rustfmt::skip]
static MARKERS: WordList = WordList::new(&[
    "a", "address", "an", "and", "as", "at", "be", "been", "by", "can't", "cannot", "change",
    "confirm", "current", "default", "does", "doesn't", "don't", "enter", "expired", "failed",
    "field", "for", "forgot", "from", "has", "have", "if", "in", "incorrect", "invalid", "is", "it",
    "least", "missing", "must", "new", "no", "not", "of", "on", "only", "or", "password", "please",
    "required", "reset", "set", "should", "string", "that", "the", "this", "to", "too", "type",
    "used", "using", "was", "when", "will", "with", "wrong", "you", "your",
]);

/// Words that stand for "none", and types.
pub(super) fn is_keyword(value: &[u8]) -> bool {
    KEYWORDS.has_in_any_case(value)
}

pub(super) fn is_number(value: &[u8]) -> bool {
    if !is_at(value, 0, D | DOT | US | DASH) {
        return false;
    }
    // The first that fits decides, so `ms` stands before `s`.
    const SUFFIXES: &[&[u8]] = &[
        b"u8", b"u16", b"u32", b"u64", b"usize", b"i8", b"i16", b"i32", b"i64", b"isize", b"ms",
        b"s", b"L", b"u", b"kb", b"mb",
    ];
    if let Some(suffix) = SUFFIXES.iter().find(|suffix| value.ends_with(suffix)) {
        let digits = &value[..value.len() - suffix.len()];
        if !digits.is_empty() && all(digits, D | US | DOT) {
            return true;
        }
    }
    let body = value.strip_prefix(b"-").unwrap_or(value);
    // `-1.5e+30`
    let body = match body.iter().position(|&b| matches!(b, b'e' | b'E')) {
        Some(e) if all(&body[..e], D | DOT) && e > 0 => {
            let exponent = &body[e + 1..];
            let digits = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-"));
            match digits.unwrap_or(exponent) {
                digits if !digits.is_empty() && digits.len() <= 3 && all(digits, D) => &body[..e],
                _ => body,
            }
        }
        _ => body,
    };
    !body.is_empty() && body.iter().all(|&b| is(b, D | DOT | US))
        || body.starts_with(b"0x") && all(&body[2..], HEX_ANY)
}

/// A path or a web address without credentials.
pub(super) fn is_path(value: &[u8]) -> bool {
    let rooted = value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/");
    if rooted {
        // Base64 may begin with a slash; a path's parts read as words.
        return value.len() < 3 || surprise(value) < 40;
    }
    memchr::memmem::find(value, b"://").is_some()
}

fn is_hash(value: &[u8]) -> bool {
    /// How the hashes of passwords begin, in crypt(3), LDAP, Postgres and Django.
    #[rustfmt::skip]
    static SCHEMES: WordList = WordList::new(&[
        "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$argon2", "$pbkdf2", "$scrypt", "$y$",
        "SCRAM-SHA-256$", "md5", "pbkdf2_sha256$", "{SSHA}",
    ]);
    value.len() >= 20 && SCHEMES.bytes().any(|scheme| value.starts_with(scheme)) && any(value, D)
}

/// Sentences, messages, labels.
fn is_prose(value: &[u8]) -> bool {
    let words = value
        .split(|b| b.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let (mut total, mut plain, mut marker) = (0, 0, false);
    for word in words.take(40) {
        total += 1;
        let bare = word.trim_ascii_end();
        let bare = bare
            .strip_suffix(b".")
            .or(bare.strip_suffix(b","))
            .or(bare.strip_suffix(b":"))
            .or(bare.strip_suffix(b"!"))
            .unwrap_or(bare);
        if bare
            .iter()
            .all(|&b| is(b, ALPHA | DASH) || b == b'\'' || b >= 0x80)
        {
            plain += 1;
        }
        marker |= MARKERS.has_in_any_case(bare);
    }
    total >= 2 && (marker || plain == total && total < 4)
}

/// An identifier, a module, a field access, an atom: something that names a value elsewhere.
pub(crate) fn is_identifier(value: &[u8]) -> bool {
    let body = value
        .strip_prefix(b"&")
        .or(value.strip_prefix(b"*"))
        .or(value.strip_prefix(b"^"))
        .unwrap_or(value);
    let body = body
        .strip_prefix(b":")
        .or(body.strip_prefix(b"@"))
        .unwrap_or(body);
    // `hunter22!` is not a function's name.
    let body = match body {
        [.., b'0'..=b'9', b'!'] => return false,
        [name @ .., b'?' | b'!'] => name,
        _ => body,
    };
    body.first().is_some_and(|&b| is(b, ALPHA | US))
        && body.iter().all(|&b| is(b, WORD | DOT | COLON))
        && surprise(body) < 60.max(4 * body.len() as i32)
}

/// `State#record.field`, `Size/binary`: what Erlang's code has where values stand.
fn is_erlang(value: &[u8]) -> bool {
    /// The types that a segment of a binary can have.
    #[rustfmt::skip]
    static TYPES: WordList = WordList::new(&[
        "/binary", "/bitstring", "/bytes", "/integer", "/utf8",
    ]);
    let field = memchr::memchr(b'#', value).is_some_and(|hash| {
        let dot = run_end(value, hash + 1, L | US | D);
        dot > hash + 1 && value.get(dot) == Some(&b'.') && all(&value[..hash], WORD)
    });
    field || TYPES.bytes().any(|kind| value.ends_with(kind))
}

/// Hexadecimal of a digest's or a key's length, or a UUID.
fn is_hex_key(value: &[u8]) -> bool {
    is_uuid(value) || value.len() >= 16 && all(value, HEX_ANY) && any(value, D) && any(value, ALPHA)
}

/// A literal between quotation marks under a key of `class`: is it secret?
pub(crate) fn quoted_is_secret(class: KeyClass, key: &[u8], value: &[u8]) -> bool {
    let value = without(value);
    let value = value.trim_ascii();
    if value.is_empty() || is_placeholder(value) {
        return false;
    }
    match class {
        KeyClass::None => false,
        KeyClass::Field => true,
        KeyClass::Password => {
            value.len() >= 3
                && !is_keyword(value)
                && !is_path(value)
                && !is_prose(value)
                && !names_key(key, value)
                && !names_secret(value)
        }
        KeyClass::Secret => {
            value.len() >= 4
                && !is_keyword(value)
                && !is_path(value)
                && !is_prose(value)
                && !names_key(key, value)
                && !names_secret(value)
                && !(is_identifier(value)
                    && !any(value, D)
                    && value.contains(&b'_')
                    && surprise(value) < 0)
        }
        KeyClass::Token | KeyClass::Auth => {
            token_is_secret(value) && !is_path(value) && !is_path_like(value)
                // A salt is short, and may have no digit.
                || contains_ci(key, b"salt")
                    && value.len() >= 8
                    && all(value, STD64 | URL64)
                    && any(value, L)
                    && any(value, U)
                    && !is_alphabet(value)
                    && surprise(value) > 0
        }
        KeyClass::Code => is_code_of_digits(value),
        KeyClass::Url => false,
        KeyClass::Weak => {
            looks_random(value, true)
                && any(value, D)
                && !is_hex_key(value)
                && !is_path(value)
                && !is_path_like(value)
                && !is_prose(value)
                && !value.contains(&b' ')
        }
    }
}

/// `lib/a/b.ex`, `Elixir.Foo.Bar`, `application/json; charset=utf-8`: joints and words.
fn is_path_like(value: &[u8]) -> bool {
    if value.ends_with(b"=") {
        return false;
    }
    value
        .iter()
        .filter(|&&b| matches!(b, b'/' | b'.' | b':' | b' '))
        .count()
        >= 2
        && surprise(value) < 4 * value.len() as i32
}

/// Does the value look like a token, a key, a salt, a cookie?
pub(crate) fn token_is_secret(value: &[u8]) -> bool {
    if is_keyword(value) || is_number(value) || is_alphabet(value) || names_secret(value) {
        return false;
    }
    if is_hex_key(value) || is_hash(value) {
        return true;
    }
    let digits = count(value, D);
    looks_random(value, false) && (digits > 0 || value.len() >= 16 || any(value, U) && any(value, L))
        // Short ones need digits among letters on both sides of the middle; dates and versions have
        // other signs between.
        || value.len() >= 6 && digits * 3 >= value.len() && all(value, WORD) && any(value, ALPHA) && value.len() < 16 && surprise(value) > 20
        || value.len() >= 20 && digits >= 2 && value.iter().all(|b| b.is_ascii_graphic()) && !value.contains(&b'/') && surprise(value) > 0 && !is_identifier(value)
}

/// `1234-5678`, `a1b2c-3d4e5`, `482913`: what a person copies from a sheet or a message.
pub(super) fn is_code_of_digits(value: &[u8]) -> bool {
    let digits = count(value, D);
    (4..=40).contains(&value.len())
        && all(value, ALNUM | DASH)
        && (digits >= 4 || digits >= 3 && value.len() >= 8 || looks_random(value, false))
        && !is_date(value)
}

/// `2026-11-23`
fn is_date(value: &[u8]) -> bool {
    let dash = |at: usize| value.get(at) == Some(&b'-');
    value.len() == 10 && dash(4) && dash(7) && count(value, D) == 8
}

/// `ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789`: the characters of some encoding.
fn is_alphabet(value: &[u8]) -> bool {
    value.len() >= 26
        && value
            .windows(2)
            .filter(|pair| pair[1] == pair[0].wrapping_add(1))
            .count()
            * 5
            > value.len() * 4
}

/// A name of a secret, not the secret: `db-password`, `DB_PASSWORD`, `client_secret`.
pub(super) fn names_secret(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"\\n").unwrap_or(value);
    let value = value
        .strip_suffix(b"=")
        .or(value.strip_suffix(b":"))
        .unwrap_or(value);
    value.len() <= 64
        && all(value, ALPHA | US | DASH)
        && any(value, US | DASH)
        && super::keys::classify(value) >= KeyClass::Token
        && surprise(value) < 4 * value.len() as i32
}

/// Labels repeat their key: `password: "Password"`, `secret: "client_secret"`.
pub(super) fn names_key(key: &[u8], value: &[u8]) -> bool {
    let same = |a: &[u8], b: &[u8]| {
        a.iter()
            .filter(|b| b.is_ascii_alphanumeric())
            .map(u8::to_ascii_lowercase)
            .eq(b
                .iter()
                .filter(|b| b.is_ascii_alphanumeric())
                .map(u8::to_ascii_lowercase))
    };
    value.len() <= 64 && same(key, value)
}

/// How a bare word stands beside its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// `KEY=value` without blanks.
    pub(crate) tight: bool,
    /// The key starts its line, or follows `export` and the like, or other settings of the same
    /// form: data, not code.
    pub(crate) data: bool,
    /// The key is in capitals.
    pub(crate) screaming: bool,
    /// Nothing but blanks, a quotation mark or a line's end follows the value.
    pub(crate) ends: bool,
}

/// Where only data can stand.
pub(super) const DATA: Place = Place {
    tight: true,
    data: true,
    screaming: true,
    ends: true,
};

/// A word without quotation marks under a key of `class`: is it secret?
pub(crate) fn bare_is_secret(class: KeyClass, key: &[u8], value: &[u8], place: Place) -> bool {
    let value = &*without(value);
    if value.len() < 3
        || is_placeholder(value)
        || is_keyword(value)
        || value.contains(&b'(')
        || matches!(
            value[0],
            b'[' | b'{' | b'%' | b'&' | b'|' | b'/' | b'\\' | b',' | b';' | b'=' | b'>'
        ) && !looks_random(value, true)
    {
        return false;
    }
    let dotenv = place.tight && place.data;
    if class == KeyClass::Code {
        return place.data && place.ends && is_code_of_digits(value);
    }
    if is_number(value) {
        return dotenv && place.screaming && class >= KeyClass::Secret && value.len() >= 6;
    }
    match class {
        KeyClass::None | KeyClass::Url | KeyClass::Code => false,
        KeyClass::Password | KeyClass::Secret | KeyClass::Field => {
            if is_path(value) || names_key(key, value) && !place.screaming {
                return false;
            }
            if is_identifier(value) {
                // `password: user.password` is code, `DB_PASSWORD=hunter` is data. Digits tell a
                // name apart only where data stands.
                let word = value.trim_ascii_end();
                let tail = word
                    .iter()
                    .rev()
                    .take_while(|b| matches!(b, b'?' | b'!' | b'.' | b':' | b'=' | b'_'))
                    .count();
                let word = &word[..word.len() - tail];
                let numbered = any(word, D)
                    && any(word, ALPHA)
                    && (class == KeyClass::Password || place.tight)
                    && (!word.contains(&b'_')
                        || count(word, D) >= 2 && class == KeyClass::Password)
                    && !(word.contains(&b'.') && count(word, D) < 2);
                return all(word, WORD) && dotenv && value.len() >= 4
                    || place.data && place.ends && numbered
                    || class == KeyClass::Password && is_strong_word(word);
            }
            let symbols = value.iter().any(|&b| {
                b.is_ascii_punctuation()
                    && !matches!(b, b'.' | b'_' | b'-' | b':' | b'?' | b'!' | b'*')
                    || b >= 0x80
            });
            !is_code(value)
                && value.len() >= 4
                && (any(value, D) || symbols && place.data || looks_random(value, false))
                && (class != KeyClass::Secret || surprise(value) > 0 || place.data && any(value, D))
        }
        KeyClass::Token | KeyClass::Auth => {
            token_is_secret(value)
                && !is_path(value)
                && !is_path_like(value)
                && (!is_identifier(value) || dotenv && any(value, D))
        }
        KeyClass::Weak => {
            looks_random(value, true)
                && any(value, D)
                && !is_hex_key(value)
                && !is_path(value)
                && !is_path_like(value)
                && !is_identifier(value)
        }
    }
}

/// A word and three digits or more, as people choose a password: variables have fewer.
fn is_strong_word(word: &[u8]) -> bool {
    let digits = word.iter().rev().take_while(|&&b| is(b, D)).count();
    digits >= 3 && word.len() >= digits + 3 && all(word, WORD)
}

/// Brackets, arrows and scopes: what goes on as code.
pub(super) fn is_code(value: &[u8]) -> bool {
    let bracket = |b: &u8| matches!(b, b'(' | b')' | b'{' | b'}' | b'[' | b']');
    value.iter().any(bracket)
        || value.ends_with(b":")
        || value.windows(2).any(|w| w == b"->" || w == b"::")
        || is_erlang(value)
        || is_function(value)
}

/// `translate_args/3`
pub(super) fn is_function(value: &[u8]) -> bool {
    let Some(slash) = memchr::memrchr(b'/', value) else {
        return false;
    };
    let (name, arity) = (&value[..slash], &value[slash + 1..]);
    (1..=2).contains(&arity.len())
        && all(arity, D)
        && name.len() > 1
        && all(name, WORD | DOT | COLON)
        && surprise(name) < 40
}

/// The argument of `--password`: a word of small letters only may be a usage text's.
pub(super) fn argument_is_secret(class: KeyClass, key: &[u8], value: &[u8], flag: bool) -> bool {
    // A word of its own on a command line says as much as a setting does.
    let place = DATA;
    if class == KeyClass::Weak {
        return flag
            && matches!(value.len(), 32 | 64)
            && all(value, HEX)
            && any(value, D)
            && any(value, L)
            || bare_is_secret(class, key, value, place);
    }
    let kept = value
        .iter()
        .rev()
        .take_while(|b| matches!(b, b']' | b')' | b'}' | b','))
        .count();
    let value = &value[..value.len() - kept];
    if all(value, U | US | DASH) && surprise(value) < 40 || value.len() < 3 {
        return false;
    }
    if class >= KeyClass::Secret && flag {
        return !is_placeholder(value)
            && !value.iter().any(|b| matches!(b, b'[' | b'<' | b'{' | b'('))
            && (any(value, D)
                || value.iter().any(|b| {
                    b.is_ascii_punctuation()
                        && !matches!(b, b'-' | b'_' | b'.' | b'/' | b',' | b'=')
                })
                || surprise(value) > 3 * value.len() as i32);
    }
    bare_is_secret(class, key, value, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_references_stay() {
        for value in [
            "",
            "***",
            "[FILTERED]",
            "[REDACTED_JWT]",
            "<token>",
            "your-api-key",
            "xxxxxxxx",
            "${DB_PASSWORD}",
            "$DB_PASSWORD",
            "#{password}",
            "%PASSWORD%",
            "{{ .Values.password }}",
            "op://vault/item/password",
            "var.db_password",
            "changeme",
            "**redacted**",
        ] {
            assert!(
                !quoted_is_secret(KeyClass::Password, b"password", value.as_bytes()),
                "{value}"
            );
        }
        assert!(quoted_is_secret(
            KeyClass::Password,
            b"password",
            b"$ecr3t!pa$$"
        ));
    }

    #[test]
    fn passwords_are_nearly_any_literal_and_tokens_look_random() {
        for value in [
            "hunter2",
            "postgres",
            "correct horse battery staple",
            "12345678",
            "p@ss w0rd!",
        ] {
            assert!(
                quoted_is_secret(KeyClass::Password, b"password", value.as_bytes()),
                "{value}"
            );
        }
        for value in [
            "can't be blank",
            "Password",
            "should be at least 12 characters",
            "string",
            "is invalid",
        ] {
            assert!(
                !quoted_is_secret(KeyClass::Password, b"password", value.as_bytes()),
                "{value}"
            );
        }
        for value in [
            "authenticate",
            "application/json",
            "MyApp.Token",
            "token_v2",
            "2024-01-01T00:00:00Z",
            "access_token",
        ] {
            assert!(
                !quoted_is_secret(KeyClass::Token, b"token", value.as_bytes()),
                "{value}"
            );
        }
        for value in [
            "a8f5f167f44f4964e6c998dee827110c",
            "x7Kp2mQ9vL4t",
            "0b7c5e3a-9f0e-4c1b-8d57-1f2a3b4c5d6e",
        ] {
            assert!(
                quoted_is_secret(KeyClass::Token, b"token", value.as_bytes()),
                "{value}"
            );
        }
    }
}
