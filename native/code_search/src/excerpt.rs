//! Bytes of a file as text that is safe to show: whole characters, bounded length.

use std::fmt::Write;
use std::ops::Range;

/// `line` as text of about `limit` bytes at most. A longer line is cut around `hit`, and the counts
/// of the bytes left out stand in brackets. Says whether it was cut.
pub(crate) fn excerpt(line: &[u8], hit: Option<Range<usize>>, limit: usize) -> (String, bool) {
    if line.len() <= limit {
        return (shown(line), false);
    }
    let hit = hit.map_or(0, |range| range.start.min(line.len()));
    // A third of the window lies before the match, unless the line's end is near.
    let start = hit.saturating_sub(limit / 3).min(line.len() - limit);
    let start = boundary(line, start);
    let end = boundary(line, start + limit);
    let mut text = String::with_capacity(limit + 40);
    if start > 0 {
        let _ = write!(text, "[{start} bytes] ");
    }
    text.push_str(&shown(&line[start..end]));
    if end < line.len() {
        let _ = write!(text, " [{} bytes]", line.len() - end);
    }
    (text, true)
}

/// The start of the character that `at` lies in, when it lies in one.
fn boundary(line: &[u8], at: usize) -> usize {
    if at >= line.len() {
        return line.len();
    }
    let back = (0..4)
        .take_while(|back| at >= *back)
        .find(|back| line[at - back] & 0xC0 != 0x80);
    back.map_or(at, |back| at - back)
}

/// All of `bytes` as text: what is no UTF-8, and control characters other than the tab, as `\xNN`.
pub(crate) fn shown(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.chars().any(is_unsafe)
    {
        return text.to_string();
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unsafe(c) {
                let mut encoded = [0; 4];
                escape(&mut out, c.encode_utf8(&mut encoded).as_bytes());
            } else {
                out.push(c);
            }
        }
        escape(&mut out, chunk.invalid());
    }
    out
}

fn escape(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "\\x{byte:02X}");
    }
}

fn is_unsafe(c: char) -> bool {
    c != '\t' && c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_stay_as_they_are() {
        assert_eq!(
            excerpt("\tschön".as_bytes(), None, 100),
            ("\tschön".to_string(), false)
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(
            shown(b"caf\xE9 \x1B[31m\xC2\x85"),
            "caf\\xE9 \\x1B[31m\\xC2\\x85"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let mut line = vec![b'-'; 10_000];
        line[5_000..5_006].copy_from_slice(b"needle");
        let (text, cut) = excerpt(&line, Some(5_000..5_006), 90);
        assert!(cut);
        assert!(text.contains("needle"));
        assert!(text.starts_with("[4970 bytes] "), "{text}");
        assert!(text.ends_with(" [4940 bytes]"), "{text}");
    }

    #[test]
    fn the_ends_of_a_line_are_not_counted_twice() {
        let (text, _) = excerpt(&[b'a'; 100], None, 90);
        assert_eq!(text, format!("{} [10 bytes]", "a".repeat(90)));
        let (text, _) = excerpt(&[b'a'; 100], Some(99..100), 90);
        assert_eq!(text, format!("[10 bytes] {}", "a".repeat(90)));
    }

    #[test]
    fn characters_are_never_split() {
        let line = "é€😀".repeat(100);
        for hit in 0..line.len() {
            for limit in 8..20 {
                let (text, _) = excerpt(line.as_bytes(), Some(hit..hit + 1), limit);
                assert!(!text.contains("\\x"), "hit {hit} limit {limit}: {text}");
            }
        }
    }

    #[test]
    fn a_run_of_continuation_bytes_ends() {
        let (text, cut) = excerpt(&[0x80; 1_000], Some(500..501), 30);
        assert!(cut && text.contains("\\x80"));
    }
}
