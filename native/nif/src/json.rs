//! JSON at the doors: tool calls in, results out.

use rustler::{Atom, Binary, Encoder, Env, MapIterator, NewBinary, Term, TermType};
use serde_json::{Map, Number, Value};

use crate::atoms;

/// How deep a document may nest. Both directions recurse, and native stacks hold some hundred
/// levels.
const MAX_DEPTH: usize = 64;

/// The document as terms: maps with string keys, no atom made but `true`, `false` and `nil`.
/// `{:error, message}` says where and why it is no JSON, or that it nests too deep.
#[rustler::nif(schedule = "DirtyCpu")]
fn json_decode<'a>(env: Env<'a>, document: Binary<'a>) -> Term<'a> {
    let failed = |message: String| (atoms::error(), message).encode(env);
    if depth(document.as_slice()) > MAX_DEPTH {
        return failed(format!("it nests deeper than {MAX_DEPTH} levels"));
    }
    match serde_json::from_slice::<Value>(document.as_slice()) {
        Ok(value) => (atoms::ok(), to_term(env, &value)).encode(env),
        Err(error) => failed(error.to_string()),
    }
}

/// A term as JSON, keys sorted; `{:error, message}` for what JSON can't say.
#[rustler::nif(schedule = "DirtyCpu")]
fn json_encode<'a>(env: Env<'a>, term: Term<'a>, pretty: bool) -> Term<'a> {
    let encoded = from_term(term, 0).and_then(|value| {
        let text = if pretty {
            serde_json::to_vec_pretty(&value)
        } else {
            serde_json::to_vec(&value)
        };
        text.map_err(|error| error.to_string())
    });
    match encoded {
        Ok(text) => {
            let text: Term = NewBinary::from_slice(env, &text).into();
            (atoms::ok(), text).encode(env)
        }
        Err(message) => (atoms::error(), message).encode(env),
    }
}

/// The deepest nesting of brackets outside strings.
fn depth(document: &[u8]) -> usize {
    let (mut open, mut deepest) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in document {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn to_term<'a>(env: Env<'a>, value: &Value) -> Term<'a> {
    match value {
        Value::Null => atoms::nil().encode(env),
        Value::Bool(bool) => bool.encode(env),
        Value::Number(number) => number
            .as_i64()
            .map(|number| number.encode(env))
            .or_else(|| number.as_u64().map(|number| number.encode(env)))
            .or_else(|| number.as_f64().map(|number| number.encode(env)))
            .unwrap_or_else(|| atoms::nil().encode(env)),
        Value::String(text) => text.encode(env),
        Value::Array(values) => {
            let terms: Vec<Term> = values.iter().map(|value| to_term(env, value)).collect();
            terms.encode(env)
        }
        Value::Object(members) => {
            let pairs: Vec<(Term, Term)> = members
                .iter()
                .map(|(key, value)| (key.encode(env), to_term(env, value)))
                .collect();
            // serde_json keeps one member a key, so no key stands twice.
            Term::map_from_pairs(env, &pairs).unwrap_or_else(|_| Term::map_new(env))
        }
    }
}

fn from_term(term: Term, level: usize) -> Result<Value, String> {
    if level > MAX_DEPTH {
        return Err(format!("it nests deeper than {MAX_DEPTH} levels"));
    }
    match term.get_type() {
        TermType::Binary => {
            let binary =
                Binary::from_term(term).map_err(|_| "a bitstring is not text".to_owned())?;
            let text = std::str::from_utf8(binary.as_slice())
                .map_err(|_| "a string is not UTF-8".to_owned())?;
            Ok(Value::String(text.to_owned()))
        }
        TermType::Atom => {
            let atom: Atom = term
                .decode()
                .map_err(|_| "an atom can't be read".to_owned())?;
            Ok(match atom {
                atom if atom == atoms::nil() => Value::Null,
                atom if atom == rustler::types::atom::true_() => Value::Bool(true),
                atom if atom == rustler::types::atom::false_() => Value::Bool(false),
                _ => Value::String(term.atom_to_string().unwrap_or_default()),
            })
        }
        TermType::Integer => {
            if let Ok(number) = term.decode::<i64>() {
                Ok(Value::Number(number.into()))
            } else if let Ok(number) = term.decode::<u64>() {
                Ok(Value::Number(number.into()))
            } else {
                Err("an integer has more than 64 bits".to_owned())
            }
        }
        TermType::Float => term
            .decode::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| "a float can't be read".to_owned()),
        TermType::List => {
            let mut values = Vec::new();
            let mut rest = term;
            while let Ok((head, tail)) = rest.list_get_cell() {
                values.push(from_term(head, level + 1)?);
                rest = tail;
            }
            if rest.is_empty_list() {
                Ok(Value::Array(values))
            } else {
                Err("a list is improper".to_owned())
            }
        }
        TermType::Map => {
            let mut members = Map::new();
            for (key, value) in MapIterator::new(term).into_iter().flatten() {
                let Value::String(key) = from_term(key, level + 1)? else {
                    return Err("a key is neither string nor atom".to_owned());
                };
                members.insert(key, from_term(value, level + 1)?);
            }
            Ok(Value::Object(members))
        }
        _ => Err("it holds a tuple, function, pid, port or reference".to_owned()),
    }
}
