//! An entry as a line of the trail's file: JSON with the fields of an entry in memory.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{ArgsHash, Content, Digest, Status};

/// The longest line: names and confinement are bounded, and so is what JSON makes of their bytes.
pub(super) const MAX_LINE: usize = 16 * 1024;

/// An entry as it was read.
pub(super) struct Line {
    pub(super) id: u64,
    pub(super) timestamp_us: u64,
    pub(super) content: Content,
    pub(super) digest: Digest,
}

/// The line, with its line break.
pub(super) fn encode(id: u64, timestamp_us: u64, content: &Content, digest: &Digest) -> Vec<u8> {
    let mut text = format!(
        r#"{{"id":{id},"timestamp_us":{timestamp_us},"session_id":{},"tool":{},"status":"{}","duration_us":{},"#,
        bytes(&content.session),
        bytes(&content.tool),
        content.status.name(),
        content.duration_us,
    );
    let args_hash = content.args_hash.map(|hash| json!(hex(&hash)));
    let confinement = content.confinement.as_deref().map(bytes);
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        r#""args_hash":{},"confinement":{},"of":{},"digest":"{}"}}"#,
        args_hash.unwrap_or(Value::Null),
        confinement.unwrap_or(Value::Null),
        content.of.map_or(Value::Null, Value::from),
        hex(digest),
    );
    text.into_bytes()
}

/// Text, or an object with the bytes of what is not text.
fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": hex(bytes) }),
    }
}

/// The entry of a line, or `None` where it is none: every byte must be as [`encode`] writes it, so
/// that no two readers see different entries (JSON readers differ on a field that stands twice).
pub(super) fn decode(line: &[u8]) -> Option<Line> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let entry = parse(line)?;
    let written = encode(entry.id, entry.timestamp_us, &entry.content, &entry.digest);
    (written.strip_suffix(b"\n") == Some(line)).then_some(entry)
}

fn parse(line: &[u8]) -> Option<Line> {
    let Value::Object(mut fields) = serde_json::from_slice(line).ok()? else {
        return None;
    };
    let mut take = |name: &str| fields.remove(name);
    let entry = Line {
        id: take("id")?.as_u64()?,
        timestamp_us: take("timestamp_us")?.as_u64()?,
        content: Content {
            session: read_bytes(take("session_id")?)?,
            tool: read_bytes(take("tool")?)?,
            status: Status::parse(take("status")?.as_str()?)?,
            duration_us: take("duration_us")?.as_u64()?,
            args_hash: optional(take("args_hash")?, |hash| {
                ArgsHash::try_from(unhex(hash.as_str()?)?).ok()
            })?,
            confinement: optional(take("confinement")?, read_bytes)?,
            of: optional(take("of")?, |id| id.as_u64())?,
        },
        digest: Digest::try_from(unhex(take("digest")?.as_str()?)?).ok()?,
    };
    fields.is_empty().then_some(entry)
}

/// Whether a file without a line break is the beginning of a first entry, as a writer leaves it
/// that was killed.
pub(super) fn begins_first(bytes: &[u8]) -> bool {
    const NUMBER: &str = "0123456789";
    // With what the value may begin with.
    let fields = [
        (r#"{"id":1,"timestamp_us":"#, NUMBER),
        (r#","session_id":"#, r#""{"#),
        (r#","tool":"#, r#""{"#),
        (r#","status":"#, r#"""#),
        (r#","duration_us":"#, NUMBER),
        (r#","args_hash":"#, r#""n"#),
        (r#","confinement":"#, r#""{n"#),
        (r#","of":"#, "n0123456789"),
        (r#","digest":"#, r#"""#),
    ];
    let rest = fields.into_iter().try_fold(bytes, |rest, (field, first)| {
        let value = after(rest, field)?;
        let fits = value
            .first()
            .is_none_or(|byte| first.as_bytes().contains(byte));
        fits.then(|| after_value(value))?
    });
    bytes.len() < MAX_LINE && rest.and_then(|rest| after(rest, "}")) == Some(&[])
}

/// What follows a text; nothing where the bytes end within it, and `None` for another text.
fn after<'a>(bytes: &'a [u8], text: &str) -> Option<&'a [u8]> {
    let text = text.as_bytes();
    if text.starts_with(bytes) {
        Some(&[])
    } else {
        bytes.strip_prefix(text)
    }
}

/// The same for any value that an entry's field has.
fn after_value(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.first() {
        None => Some(bytes),
        Some(b'"') => after_text(bytes),
        Some(b'{') => after(after_text(after(bytes, r#"{"hex":"#)?)?, "}"),
        Some(b'n') => after(bytes, "null"),
        Some(_) => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
            let (digits, rest) = bytes.split_at(digits.count());
            (!digits.is_empty()).then_some(rest)
        }
    }
}

fn after_text(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = after(bytes, "\"")?;
    loop {
        rest = match rest {
            [] | [b'\\'] => return Some(&[]),
            [b'\\', _, rest @ ..] => rest,
            [b'"', rest @ ..] => return Some(rest),
            [..=0x1f, ..] => return None,
            [_, rest @ ..] => rest,
        };
    }
}

fn optional<T>(value: Value, read: impl FnOnce(Value) -> Option<T>) -> Option<Option<T>> {
    match value {
        Value::Null => Some(None),
        value => read(value).map(Some),
    }
}

fn read_bytes(value: Value) -> Option<Arc<[u8]>> {
    match value {
        Value::String(text) => Some(text.into_bytes().into()),
        Value::Object(object) => unhex(only(&object, "hex")?.as_str()?).map(Into::into),
        _ => None,
    }
}

fn only<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    (object.len() == 1).then(|| object.get(name))?
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs
        .map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok())
        .collect()
}
