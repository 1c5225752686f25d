//! A sample is a text with invented secrets in it, made from a template; and the question whether
//! one of them is still there.
//!
//! A template is ordinary text with placeholders between `§` signs:
//!
//! | placeholder | becomes | secret |
//! |---|---|---|
//! | `key` `Key` `KEY` `k-y` `k.y` | a password-like key name: snake, camel, screaming, kebab, dotted | no |
//! | `tok` `Tok` `TOK` `t-k` `t.k` | a token-like key name in the same styles | no |
//! | `user` `host` `n` `id` `time` `path` | filler | no |
//! | `~V` | whatever placeholder V gives | no |
//! | `pass` | a password without quotes or spaces | all |
//! | `envpass` `urlpass` `rawpass` | one that a shell, a URL, or only a lenient URL reader takes whole | all |
//! | `word` `phrase` `escpass` | a plain word; words with spaces; one with escaped quotes inside | all |
//! | `rand:N` `hex:N` `b64:N` `uuid` `django` `cookie` | N random characters, N hex digits, N bytes in base64, ... | all |
//! | `=SHAPE` | a token of that shape, such as `=ghp_{a:36}` | what follows the public prefix |
//! | `any` | a token of a family that is recognisable by itself | what follows the prefix |
//! | `ints:V` `hexof:V` `b64of:V` `pct:V` | placeholder V as integers, hex, base64, percent-encoded | V |
//! | `cut:GLUE:V` | V in two halves with GLUE between (see [`glue`]) | both halves |
//! | `pw` `wk` `fx` `num:N` | a password of any strength and script; a weak one; one beyond ASCII; N digits | all |
//! | `tk` | a random token of one of the usual looks | all |
//! | `pad:N:V` | V followed by spaces up to N columns | V |
//! | `u8:V` `oct:V` | V as `\u0041` escapes of JSON; its bytes beyond ASCII as octal escapes | as written |
//! | `v1=V` then `v1` | V, and the same value once more | V |
//! | `e` `cr` `nb` `bel` | escape, carriage return, no-break space, bell | no |

use super::families;
use super::rng::Rng;
use super::values::{self, Style};

/// What a threshold is asked of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A token family.
    Family,
    /// A context that gives the secret away by its own shape: URLs, headers, PEM.
    Bare,
    /// A context where only a key name tells.
    KeyName,
    /// Output of the BEAM's own tools.
    Beam,
    /// A known secret whose layout was damaged.
    Damage,
    /// What a program printed, by kind of program.
    Output,
}

pub struct Sample {
    pub kind: Kind,
    pub group: &'static str,
    /// Which template of the group, for a list of misses that shows no secret.
    pub template: String,
    pub text: String,
    /// What must be gone: as it reads once colours and invisible characters are taken away.
    pub secrets: Vec<String>,
}

impl Sample {
    /// Fills `template`; the same `rng` state gives the same sample.
    pub fn fill(kind: Kind, group: &'static str, template: &str, rng: &mut Rng) -> Sample {
        let mut text = String::new();
        let mut secrets = Vec::new();
        let mut named: Vec<(&str, String)> = Vec::new();
        for (i, piece) in template.split('§').enumerate() {
            if i % 2 == 0 {
                text.push_str(piece);
            } else if let Some((_, again)) = named.iter().find(|(name, _)| *name == piece) {
                text.push_str(again);
            } else {
                let (name, piece) = named_value(piece);
                let value = value(piece, rng);
                text.push_str(&value.text);
                secrets.extend(value.secrets);
                named.extend(name.map(|name| (name, value.text)));
            }
        }
        Sample {
            kind,
            group,
            template: template.to_string(),
            text,
            secrets,
        }
    }

    /// The first secret of which a telling part is still in `output`.
    pub fn leak(&self, output: &[u8]) -> Option<&str> {
        let plain = visible(output);
        let mut decoded = vec![hex(&plain)];
        if plain.contains(&b',') {
            decoded.push(integers(&plain));
        }
        // What stands elsewhere in the sample tells nothing: the end of "winter" is in "internal",
        // too.
        let mut rest = String::from_utf8_lossy(&visible(self.text.as_bytes())).into_owned();
        for secret in &self.secrets {
            rest = rest.replace(secret.as_str(), "\0");
        }
        let shows = |text: &[u8], part: &[u8]| memchr::memmem::find(text, part).is_some();
        self.secrets.iter().map(String::as_str).find(|secret| {
            let bytes = secret.as_bytes();
            // Eight bytes of a long secret, or a third of a short one: less than four would be
            // found by chance.
            let telling = bytes.len().div_ceil(3).clamp(4, 8).min(bytes.len());
            bytes.windows(telling).any(|part| {
                decoded.iter().any(|text| shows(text, part))
                    || shows(&plain, part) && !shows(rest.as_bytes(), part)
            })
        })
    }
}

/// `output` as a person sees it: without escapes and invisible characters.
fn visible(output: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(output);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => {}
            _ => out.push(c),
        }
    }
    out.into_bytes()
}

/// Comma-separated integers below 256 as bytes; runs are kept apart by a zero byte.
fn integers(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in text.split(|b| matches!(b, b',' | b'[' | b']' | b'<' | b'>' | b'\n')) {
        let field = field.trim_ascii();
        match std::str::from_utf8(field)
            .ok()
            .and_then(|f| f.parse::<u8>().ok())
        {
            Some(byte) => out.push(byte),
            None if field.is_empty() => {}
            None => out.push(0),
        }
    }
    out
}

/// Hex digits as bytes, spaces between groups left out, as in a hex dump.
fn hex(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in text.split(|b| !b.is_ascii_alphanumeric()) {
        if word.len() >= 2 && word.len() % 2 == 0 && word.iter().all(u8::is_ascii_hexdigit) {
            out.extend(word.chunks(2).map(|pair| {
                let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
                digit(pair[0]) << 4 | digit(pair[1])
            }));
        }
    }
    out
}

/// `template` with its placeholders filled in, whatever they stand for.
pub fn filler(template: &str, rng: &mut Rng) -> String {
    Sample::fill(Kind::Bare, "filler", template, rng).text
}

struct Value {
    text: String,
    secrets: Vec<String>,
}

impl Value {
    fn filler(text: impl Into<String>) -> Value {
        Value {
            text: text.into(),
            secrets: Vec::new(),
        }
    }

    fn secret(text: String) -> Value {
        Value {
            secrets: vec![text.clone()],
            text,
        }
    }
}

/// `v1=V` as the name `v1` and V.
fn named_value(piece: &str) -> (Option<&str>, &str) {
    match piece.split_once('=') {
        Some((name, value)) if name.len() == 2 && name.starts_with('v') => (Some(name), value),
        _ => (None, piece),
    }
}

fn value(name: &str, rng: &mut Rng) -> Value {
    if let Some(inner) = name.strip_prefix('~') {
        return Value::filler(value(inner, rng).text);
    }
    if let Some(shape) = name.strip_prefix('=') {
        return token(shape, rng);
    }
    let (name, argument) = name.split_once(':').unwrap_or((name, ""));
    let number = || argument.parse::<usize>().unwrap_or(32);
    match name {
        "key" => Value::filler(values::key_name(rng, true, Style::Snake)),
        "k-y" => Value::filler(values::key_name(rng, true, Style::Kebab)),
        "k.y" => Value::filler(values::key_name(rng, true, Style::Dotted)),
        "Key" => Value::filler(values::key_name(rng, true, Style::Camel)),
        "KEY" => Value::filler(values::key_name(rng, true, Style::Screaming)),
        "tok" => Value::filler(values::key_name(rng, false, Style::Snake)),
        "t-k" => Value::filler(values::key_name(rng, false, Style::Kebab)),
        "t.k" => Value::filler(values::key_name(rng, false, Style::Dotted)),
        "Tok" => Value::filler(values::key_name(rng, false, Style::Camel)),
        "TOK" => Value::filler(values::key_name(rng, false, Style::Screaming)),
        "user" => {
            Value::filler(rng.pick(&["postgres", "app", "deploy", "jane", "svc_web", "admin"]))
        }
        "host" => Value::filler(rng.pick(&[
            "db.internal",
            "10.0.3.7",
            "localhost",
            "cache-1.acme.test",
            "acme.example",
        ])),
        "n" => Value::filler(rng.range(1, 6000).to_string()),
        "id" => Value::filler(values::body(rng, "h", 8)),
        "time" => Value::filler(format!(
            "{:02}:{:02}:{:02}.{:03}",
            rng.below(24),
            rng.below(60),
            rng.below(60),
            rng.below(1000)
        )),
        "path" => Value::filler(rng.pick(&[
            "config/runtime.exs",
            "lib/acme/client.ex",
            ".env",
            "deploy/values.yaml",
            "src/main.rs",
        ])),
        "pass" => Value::secret(values::password(rng, "!#%^*_-+=.?@")),
        "envpass" => Value::secret(values::password(rng, "!#%^*_-+=.?@:/")),
        "urlpass" => Value::secret(values::password(rng, "!*_-.~+=")),
        "rawpass" => Value::secret(values::password(rng, "@:!*-%+")),
        "escpass" => {
            let (left, right) = (values::body(rng, "a", 9), values::body(rng, "a", 9));
            Value {
                text: format!("{left}\\\"{right}"),
                secrets: vec![left, right],
            }
        }
        "word" => Value::secret(values::word(rng).to_string()),
        "phrase" => Value::secret([(); 4].map(|()| values::word(rng)).join(" ")),
        "rand" => Value::secret(values::body(rng, "a", number())),
        "hex" => Value::secret(values::body(rng, "h", number())),
        "b64" => Value::secret(values::random_base64(rng, number())),
        "uuid" => Value::secret(values::uuid(rng)),
        "django" => Value::secret(values::body(rng, "p", 50)),
        "cookie" => Value::secret(values::body(rng, "U", 20)),
        "pw" => Value::secret(values::any_password(rng)),
        "wk" => Value::secret(values::weak_password(rng)),
        "fx" => Value::secret(values::foreign_password(rng)),
        "num" => {
            let length = argument.parse().unwrap_or(rng.range(6, 12));
            Value::secret(values::body(rng, "1", 1) + &values::body(rng, "d", length - 1))
        }
        "tk" => Value::secret(values::token(rng)),
        "e" => Value::filler("\u{1b}"),
        "cr" => Value::filler("\r"),
        "nb" => Value::filler("\u{a0}"),
        "bel" => Value::filler("\u{7}"),
        "pad" | "u8" | "oct" => respelled(name, argument, rng),
        "any" => {
            let shape = families::recognisable(rng);
            token(shape, rng)
        }
        "ints" => {
            let inner = value(argument, rng);
            Value {
                text: join(inner.text.bytes().map(|b| b.to_string()), ", "),
                secrets: inner.secrets,
            }
        }
        "hexof" => {
            let inner = value(argument, rng);
            Value {
                text: join(inner.text.bytes().map(|b| format!("{b:02x}")), ""),
                secrets: inner.secrets,
            }
        }
        "b64of" => {
            let text = argument
                .split('|')
                .enumerate()
                .map(|(i, part)| {
                    if i % 2 == 0 {
                        part.to_string()
                    } else {
                        value(part, rng).text
                    }
                })
                .collect::<String>();
            Value::secret(values::base64(text.as_bytes(), false, true))
        }
        "pct" => {
            let inner = value(argument, rng);
            let encode = |c: char| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c.to_string(),
                c => format!("%{:02X}", c as u32),
            };
            Value::secret(inner.text.chars().map(encode).collect())
        }
        "cut" => {
            let (name, inner) = argument.split_once(':').expect("cut:GLUE:V");
            let inner = value(inner, rng);
            let glue = glue(name);
            // Cut inside what is secret, not inside the public prefix: half of the body stands on
            // each side.
            let start = inner
                .text
                .find(&inner.secrets[0])
                .expect("a secret is part of its text");
            let at = start + inner.secrets[0].len() / 2;
            let text = format!("{}{glue}{}", &inner.text[..at], &inner.text[at..]);
            Value {
                text,
                secrets: vec![
                    inner.text[start..at].to_string(),
                    inner.text[at..].to_string(),
                ],
            }
        }
        other => panic!("no placeholder named {other}"),
    }
}

/// A value padded to a column, or in the escapes of JSON or of a terminal.
fn respelled(name: &str, argument: &str, rng: &mut Rng) -> Value {
    if name == "pad" {
        let (width, inner) = argument.split_once(':').expect("pad:N:V");
        let inner = value(inner, rng);
        let width = width.parse().expect("pad:N:V");
        let text = format!("{:<width$}", inner.text);
        return Value { text, ..inner };
    }
    let plain = value(argument, rng).text;
    Value::secret(if name == "u8" {
        let units = plain.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        units.collect()
    } else {
        let bytes = plain.bytes().map(|b| match b {
            0..0x80 => (b as char).to_string(),
            _ => format!("\\{b:o}"),
        });
        bytes.collect()
    })
}

/// What tools, editors and people put into the middle of a value.
fn glue(name: &str) -> &'static str {
    match name {
        "elixir" => "\" <> \"",
        "elixir-line" => "\" <>\n      \"",
        "plus" => "\" + \"",
        "plus-line" => "\" +\n    \"",
        "line-plus" => "\"\n    + \"",
        "plus-single" => "' + '",
        "adjacent" => "\" \"",
        "adjacent-line" => "\"\n   \"",
        "dot" => "' . '",
        "concat" => "\" ++ \"",
        "backslash" => "\\\n",
        "backslash-indent" => "\\\n    ",
        "colour" => "\u{1b}[0m\u{1b}[1m\u{1b}[31m",
        "reset" => "\u{1b}[m",
        "erase" => "\u{1b}[K",
        "link" => "\u{1b}[38;5;208m",
        "zwsp" => "\u{200b}",
        "zwj" => "\u{200d}",
        "wj" => "\u{2060}",
        "bom" => "\u{feff}",
        "soft-hyphen" => "\u{ad}",
        "edge" => "\n",
        "edge-crlf" => "\r\n",
        other => panic!("no glue named {other}"),
    }
}

fn join(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

/// A token of `shape`: literal text with `{set:length}`, `{set:low-high}`, `{jwt}`, `{uuid}` or
/// `{discord}` in it. What stands before the first brace is the vendor's public prefix.
fn token(shape: &str, rng: &mut Rng) -> Value {
    let mut text = String::new();
    let mut public = None;
    let mut rest = shape;
    while let Some(open) = rest.find('{') {
        let close = rest[open..].find('}').expect("closed brace in a shape") + open;
        text.push_str(&rest[..open]);
        public.get_or_insert(text.len());
        let (set, length) = rest[open + 1..close]
            .split_once(':')
            .unwrap_or((&rest[open + 1..close], ""));
        match set {
            "uuid" => text.push_str(&values::uuid(rng)),
            "b64" => {
                let size = length.parse().unwrap_or(32);
                text.push_str(&values::random_base64(rng, size));
            }
            "jwt" => {
                let [header, claims, signature] = values::jwt(rng);
                text.push_str(&header);
                text.push('.');
                // The header only names an algorithm.
                public = Some(text.len());
                text.push_str(&format!("{claims}.{signature}"));
            }
            "discord" => {
                let id = values::body(rng, "d", 18);
                text.push_str(&values::base64(
                    format!("1{}", &id[1..]).as_bytes(),
                    true,
                    false,
                ));
            }
            _ => {
                let length = match length.split_once('-') {
                    Some((low, high)) => {
                        rng.range(low.parse().unwrap_or(20), high.parse().unwrap_or(20))
                    }
                    None => length.parse().unwrap_or(20),
                };
                text.push_str(&values::body(rng, set, length));
            }
        }
        rest = &rest[close + 1..];
    }
    text.push_str(rest);
    let secret = text[public.unwrap_or(0)..].to_string();
    Value {
        text,
        secrets: vec![secret],
    }
}
