//! Finding texts by a caller's pattern.

use rustler::{Binary, Encoder, Env, Term};
use security_core::text_match;

use crate::atoms;

/// `{:ok, booleans}`, one for each text, or `{:error, message}`.
#[rustler::nif(schedule = "DirtyCpu")]
fn text_matches<'a>(env: Env<'a>, pattern: Binary<'a>, texts: Vec<Binary<'a>>) -> Term<'a> {
    let failed = |message: String| (atoms::error(), message).encode(env);
    let Ok(pattern) = std::str::from_utf8(pattern.as_slice()) else {
        return failed("it is not UTF-8".to_owned());
    };
    let texts = texts.iter().map(Binary::as_slice);
    match text_match::matches(pattern, texts, text_match::TIME) {
        Ok(found) => (atoms::ok(), found).encode(env),
        Err(refused) => failed(refused.to_string()),
    }
}
