//! Which of many texts match one pattern, for a pattern and texts from anybody.
//!
//! Syntax and meaning are those of a search over files: `^` and `$` stand for a line's ends. The
//! time is linear in the texts, and its factor, the compiled machine, is bounded by [`MACHINE`];
//! what remains is bounded by [`TIME`].

use std::time::{Duration, Instant};

use regex::bytes::{Regex, RegexBuilder};

/// Most bytes of a pattern.
pub const PATTERN: usize = 1_000;

/// Most bytes of the machine that a pattern becomes.
pub const MACHINE: usize = 1 << 20;

/// How long one call may look; it is asked after each text.
pub const TIME: Duration = Duration::from_secs(2);

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The pattern has more bytes than [`PATTERN`].
    #[error("it has more than {PATTERN} bytes")]
    TooLong,
    /// The pattern is not a pattern; the reason is the parser's.
    #[error("{0}")]
    Invalid(String),
    /// The pattern becomes a machine of more than [`MACHINE`] bytes.
    #[error("it repeats too much; give smaller counts, or (?-u:\\w) for \\w where ASCII is enough")]
    TooLarge,
    /// The time was up.
    #[error("it takes too long to match; use a simpler one, or more filters")]
    TooSlow,
}

/// For each text whether the pattern is found in it.
pub fn matches<'a>(
    pattern: &str,
    texts: impl IntoIterator<Item = &'a [u8]>,
    time: Duration,
) -> Result<Vec<bool>, Refused> {
    let started = Instant::now();
    let regex = compile(pattern)?;
    let mut found = Vec::new();
    for text in texts {
        if started.elapsed() >= time {
            return Err(Refused::TooSlow);
        }
        found.push(regex.is_match(text));
    }
    Ok(found)
}

fn compile(pattern: &str) -> Result<Regex, Refused> {
    if pattern.len() > PATTERN {
        return Err(Refused::TooLong);
    }
    RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(MACHINE)
        .dfa_size_limit(MACHINE)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Refused::TooLarge,
            error => Refused::Invalid(reason(&error.to_string())),
        })
}

/// The last line of the parser's drawing, which says what is wrong.
fn reason(message: &str) -> String {
    let line = message.lines().next_back().unwrap_or(message);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pattern: &str, texts: &[&str]) -> Result<Vec<bool>, Refused> {
        let texts = texts.iter().map(|text| text.as_bytes());
        matches(pattern, texts, Duration::from_secs(600))
    }

    #[test]
    fn tells_which_texts_match() {
        let texts = ["one key=42 done", "two\nkey=7", "three", ""];
        assert_eq!(
            found(r"\w+=\d+", &texts),
            Ok(vec![true, true, false, false])
        );
        assert_eq!(
            found(r"^key=\d$", &texts),
            Ok(vec![false, true, false, false])
        );
        assert_eq!(
            found("(?i)THREE", &texts),
            Ok(vec![false, false, true, false])
        );
        assert_eq!(found("x", &[]), Ok(vec![]));
    }

    #[test]
    fn a_pattern_that_backtracks_elsewhere_is_matched_to_the_end() {
        let text = format!("{} key=42 done", "lorem ipsum dolor sit amet, ".repeat(280));
        assert_eq!(found(r"(\w+\s*)+=\d+", &[&text]), Ok(vec![true]));
        assert_eq!(found("(a+)+$b", &[&"a".repeat(8_000)]), Ok(vec![false]));
    }

    #[test]
    fn a_usual_repetition_of_a_word_character_is_not_too_large() {
        assert_eq!(found(r"^\w{1,20}$", &["grün"]), Ok(vec![true]));
        assert_eq!(found(r"[0-9a-f]{64}", &[&"0f".repeat(32)]), Ok(vec![true]));
    }

    #[test]
    fn refuses_what_has_no_bound() {
        assert_eq!(found("(a{1,1000}){1,1000}", &["a"]), Err(Refused::TooLarge));
        assert_eq!(found(&"a".repeat(1_001), &["a"]), Err(Refused::TooLong));
        let recursive: String = (0..20).map(|n| format!("(?<n{n}>(?&n{n})|a)")).collect();
        for pattern in [
            "(",
            "*a",
            r"(a)\1",
            "(?=a)",
            r"\p{Foo}",
            &"(".repeat(900),
            &recursive,
        ] {
            let Err(refused) = found(pattern, &["a"]) else {
                panic!("{pattern} is taken");
            };
            assert!(
                matches!(refused, Refused::Invalid(_)),
                "{pattern}: {refused}"
            );
            assert_eq!(
                refused.to_string().lines().count(),
                1,
                "{pattern}: {refused}"
            );
        }
        assert_eq!(
            found("(", &[]),
            Err(Refused::Invalid("unclosed group".into()))
        );
    }

    #[test]
    fn ends_when_the_time_is_up() {
        assert_eq!(
            matches("a", [&b"a"[..]], Duration::ZERO),
            Err(Refused::TooSlow)
        );
    }

    proptest! {
        #[test]
        fn any_pattern_has_an_answer_for_every_text(
            pattern in r"[a-c()|*+?{}0-9\[\]^$.\\,-]{0,40}",
            texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8),
        ) {
            let slices = texts.iter().map(Vec::as_slice);
            if let Ok(found) = matches(&pattern, slices, Duration::from_secs(600)) {
                prop_assert_eq!(found.len(), texts.len());
            }
        }
    }
}
