//! Hexadecimal dumps as `xxd` prints them: read as the bytes they show.

use super::scan::Scan;
use super::shape::*;

/// The most lines of a dump that are read together.
const MAX_LINES: usize = 4096;

/// A line of a dump: how many bytes were shown up to its end, and where what stands behind the
/// offset begins and ends.
pub(crate) struct Line {
    pub(crate) shown: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Reads the dump whose first offset ends with the `000:` at `at`, into `shown` and the list of its
/// lines.
pub(crate) fn read(scan: &mut Scan, at: usize, shown: &mut Vec<u8>) -> Vec<Line> {
    let text = scan.text;
    let mut lines = Vec::new();
    shown.clear();
    let Some(mut start) = (at + 3).checked_sub(8) else {
        return lines;
    };
    if start < scan.dump_until || start > 0 && text[start - 1] != b'\n' {
        return lines;
    }
    while lines.len() < MAX_LINES {
        let Some((content, end)) = line(text, start, shown) else {
            break;
        };
        lines.push(Line {
            shown: shown.len(),
            start: content,
            end,
        });
        start = end + 1;
    }
    scan.spend(start.min(text.len()) - at.min(start));
    scan.dump_until = start;
    lines
}

/// Reads one line: an offset of eight digits, up to sixteen bytes, and their characters, which are
/// not looked at.
fn line(text: &[u8], start: usize, shown: &mut Vec<u8>) -> Option<(usize, usize)> {
    let rest = text.get(start..text.len().min(start + 100))?;
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = &rest[..end];
    if line.len() < 12 || !all(&line[..8], HEX_ANY) || line[8] != b':' || line[9] != b' ' {
        return None;
    }
    let first = 9 + line[9..].iter().take_while(|&&b| b == b' ').count();
    let (mut at, mut count) = (first, 0);
    while count < 16 {
        let pair = line.get(at..at + 2).filter(|pair| all(pair, HEX_ANY));
        let Some(byte) = pair
            .and_then(|p| std::str::from_utf8(p).ok())
            .and_then(|p| u8::from_str_radix(p, 16).ok())
        else {
            break;
        };
        shown.push(byte);
        count += 1;
        at += 2;
        // One blank between groups, two in the middle; more before the characters.
        let blanks = line[at..].iter().take_while(|&&b| b == b' ').count();
        if blanks > 2 || blanks == 2 && count != 8 {
            break;
        }
        at += blanks;
    }
    (count > 0).then_some((start + first, start + end))
}
