//! JSON documents as services write them, with and without secrets: whatever goes from one, it
//! stays a document with the same members.

use serde_json::{Map, Number, Value};

use super::rng::Rng;
use super::values::{self, Style};

const NAMES: &[&str] = &[
    "id",
    "name",
    "url",
    "items",
    "meta",
    "count",
    "message",
    "log",
    "columns",
    "rows",
    "value",
    "key",
    "type",
    "headers",
    "body",
    "tokens",
    "max_tokens",
    "passed",
    "public_key",
    "required",
];

const TEXTS: &[&str] = &[
    "password=hunter22 and token=abc456",
    "a \"quoted\" word",
    "line one\nDB_PASSWORD=winter5508\nline three",
    "{\"password\":\"winter5508\",\"a\":1}",
    "https://ann:winter5508@acme.test/x?token=abcdef123456",
    "C:\\path\\password: x",
    "Größe: 12 µm, naïve, 東京",
    "password:",
    "\"password\":",
    "token = \\",
    "'secret' => [\"a\"",
    "",
];

/// One document.
pub fn document(rng: &mut Rng) -> String {
    let value = object(rng, 0);
    if rng.chance(2) {
        value.to_string()
    } else {
        serde_json::to_string_pretty(&value).expect("a value can be written")
    }
}

fn object(rng: &mut Rng, depth: usize) -> Value {
    let members = rng.range(1, 6);
    let member = |rng: &mut Rng| (name(rng), value(rng, depth + 1));
    Value::Object((0..members).map(|_| member(rng)).collect::<Map<_, _>>())
}

fn name(rng: &mut Rng) -> String {
    match rng.below(3) {
        0 => {
            let strong = rng.chance(2);
            let style = [Style::Snake, Style::Camel, Style::Kebab][rng.below(3)];
            values::key_name(rng, strong, style)
        }
        _ => rng.pick(NAMES).to_string(),
    }
}

fn value(rng: &mut Rng, depth: usize) -> Value {
    match rng.below(if depth > 4 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => Value::Bool(rng.chance(2)),
        2 => Value::Number((rng.next() >> 1).into()),
        3 => Value::Number(Number::from_f64(-1.5e30).expect("a finite number")),
        4 => Value::Number((rng.below(20_000) as i64 - 10_000).into()),
        5 => Value::String(values::any_password(rng)),
        6 => Value::String(values::token(rng)),
        7 => Value::String(rng.pick(TEXTS).to_string()),
        8 | 9 => Value::Array((0..rng.below(4)).map(|_| value(rng, depth + 1)).collect()),
        _ => object(rng, depth),
    }
}

/// What is wrong with `after`, what is left of the document `before`; `None` when it is a document
/// with the same members.
pub fn harm(before: &str, after: &[u8]) -> Option<String> {
    let before: Value = serde_json::from_str(before).expect("a document to begin with");
    match serde_json::from_slice(after) {
        Ok(after) => lost(&before, &after, "$"),
        Err(error) => Some(format!("no JSON any more: {error}")),
    }
}

fn lost(before: &Value, after: &Value, place: &str) -> Option<String> {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) if a.len() != b.len() => {
            Some(format!("{place}: {} members became {}", a.len(), b.len()))
        }
        (Value::Object(a), Value::Object(b)) => a.iter().find_map(|(name, value)| {
            let inner = format!("{place}.{name}");
            match b.get(name) {
                Some(left) => lost(value, left, &inner),
                None => Some(format!("{inner} is gone")),
            }
        }),
        (Value::Array(a), Value::Array(b)) if a.len() != b.len() => {
            Some(format!("{place}: {} elements became {}", a.len(), b.len()))
        }
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b);
            pairs.find_map(|(a, b)| lost(a, b, &format!("{place}[]")))
        }
        (_, Value::String(_)) => None,
        (a, b) if a == b => None,
        (a, b) => Some(format!("{place}: {a} became {b}")),
    }
}
