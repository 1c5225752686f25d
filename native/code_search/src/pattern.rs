//! From a caller's pattern to a matcher, or to an explanation of what is wrong with it.

use crate::error::{Error, PatternFault};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{self, ErrorKind};

const MAX_LENGTH: usize = 10_000;

/// The compiled machine and each thread's cache for it. The engine's own defaults (100 MB and 1 GB)
/// suit a command that owns its process; here a hostile pattern must stay small, in memory and in
/// the time that its worst case costs per byte.
const MACHINE_SIZE: usize = 10 << 20;
const CACHE_SIZE: usize = 8 << 20;
const NESTING: u32 = 200;

pub(crate) fn compile(
    pattern: &str,
    case_insensitive: bool,
    multiline: bool,
) -> Result<RegexMatcher, Error> {
    if pattern.is_empty() {
        return Err(fault(PatternFault::Empty, "the pattern is empty"));
    }
    if pattern.len() > MAX_LENGTH {
        return Err(fault(
            PatternFault::TooLong,
            &format!("the pattern is longer than {MAX_LENGTH} bytes"),
        ));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(true)
        .case_insensitive(case_insensitive)
        .size_limit(MACHINE_SIZE)
        .dfa_size_limit(CACHE_SIZE)
        .nest_limit(NESTING);
    if multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder
        .build(pattern)
        .map_err(|error| explain(pattern, &error))
}

fn explain(pattern: &str, error: &grep_regex::Error) -> Error {
    if matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_)) {
        return fault(
            PatternFault::LineEnd,
            "a line end cannot match while the search goes line by line",
        );
    }
    match regex_syntax::ParserBuilder::new()
        .nest_limit(NESTING)
        .utf8(false)
        .build()
        .parse(pattern)
    {
        Err(regex_syntax::Error::Parse(error)) => Error::Pattern {
            fault: classify(error.kind(), pattern, error.span()),
            detail: error.kind().to_string(),
            position: Some(position(pattern, error.span().start.offset)),
        },
        Err(regex_syntax::Error::Translate(error)) => Error::Pattern {
            fault: PatternFault::Syntax,
            detail: error.kind().to_string(),
            position: Some(position(pattern, error.span().start.offset)),
        },
        Err(other) => fault(PatternFault::Syntax, &first_line(&other.to_string())),
        Ok(_) => {
            let detail = error.to_string();
            let class = if detail.contains("size limit") {
                PatternFault::TooBig
            } else {
                PatternFault::Syntax
            };
            fault(class, &first_line(&detail))
        }
    }
}

fn classify(kind: &ErrorKind, pattern: &str, span: &ast::Span) -> PatternFault {
    match kind {
        ErrorKind::UnsupportedLookAround => PatternFault::LookAround,
        ErrorKind::UnsupportedBackreference => PatternFault::Backreference,
        ErrorKind::RepetitionCountInvalid
        | ErrorKind::RepetitionCountDecimalEmpty
        | ErrorKind::RepetitionCountUnclosed
        | ErrorKind::DecimalEmpty
        | ErrorKind::DecimalInvalid => PatternFault::Brace,
        ErrorKind::RepetitionMissing if pattern[span.start.offset..].starts_with('{') => {
            PatternFault::Brace
        }
        ErrorKind::RepetitionMissing => PatternFault::NothingToRepeat,
        ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened | ErrorKind::ClassUnclosed => {
            PatternFault::Unbalanced
        }
        _ => PatternFault::Syntax,
    }
}

fn position(pattern: &str, offset: usize) -> usize {
    pattern
        .char_indices()
        .take_while(|(at, _)| *at < offset)
        .count()
        + 1
}

fn fault(fault: PatternFault, detail: &str) -> Error {
    Error::Pattern {
        fault,
        detail: detail.to_string(),
        position: None,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn refused(pattern: &str) -> (PatternFault, Option<usize>) {
        match compile(pattern, false, false).unwrap_err() {
            Error::Pattern {
                fault, position, ..
            } => (fault, position),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_engine_lacks_is_named_with_its_position() {
        assert_eq!(refused("foo(?=bar)"), (PatternFault::LookAround, Some(4)));
        assert_eq!(refused("foo(?<!bar)"), (PatternFault::LookAround, Some(4)));
        assert_eq!(refused(r"(a)\1"), (PatternFault::Backreference, Some(4)));
    }

    #[test]
    fn code_typed_as_a_pattern_is_recognised() {
        assert_eq!(refused("{:ok, x}"), (PatternFault::Brace, Some(1)));
        assert_eq!(refused("%{name: x}").0, PatternFault::Brace);
        assert_eq!(refused("foo(").0, PatternFault::Unbalanced);
        assert_eq!(refused("foo)").0, PatternFault::Unbalanced);
        assert_eq!(refused("[a").0, PatternFault::Unbalanced);
        assert_eq!(refused("*.ex"), (PatternFault::NothingToRepeat, Some(1)));
    }

    #[test]
    fn positions_count_characters() {
        assert_eq!(refused("äöü("), (PatternFault::Unbalanced, Some(4)));
    }

    #[test]
    fn a_line_end_needs_multiline() {
        assert_eq!(refused(r"a\nb"), (PatternFault::LineEnd, None));
        assert!(compile(r"a\nb", false, true).is_ok());
    }

    #[test]
    fn nothing_too_long_and_too_big_are_refused() {
        assert_eq!(refused("").0, PatternFault::Empty);
        assert_eq!(
            refused(&"a".repeat(MAX_LENGTH + 1)).0,
            PatternFault::TooLong
        );
        assert_eq!(refused(r"(\w{100}){100}").0, PatternFault::TooBig);
        assert_eq!(
            refused(&format!("{}{}", "(".repeat(4_000), ")".repeat(4_000))).0,
            PatternFault::Syntax
        );
    }
}
