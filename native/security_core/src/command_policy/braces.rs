//! Brace expansion: `{a,b}` and `{1..3}`, on a word whose quotes still stand, as a shell does it
//! before anything else.

use std::ops::Range;

/// The most words that one word may become.
const MAX_WORDS: usize = 1024;

/// The words that a word becomes, in order; none when they are too many.
pub(super) fn expand(raw: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    // What is still to be looked at: the word, and the byte up to which nothing expands. The next
    // one is on top.
    let mut todo = vec![(raw.to_owned(), 0)];
    while let Some((word, from)) = todo.pop() {
        if done.len() + todo.len() > MAX_WORDS {
            return None;
        }
        match find(&word, from) {
            None => done.push(word),
            Some((whole, alternatives)) => {
                if alternatives.len() > MAX_WORDS {
                    return None;
                }
                let (before, after) = (&word[..whole.start], &word[whole.end..]);
                for alternative in alternatives.iter().rev() {
                    todo.push((format!("{before}{alternative}{after}"), whole.start));
                }
            }
        }
    }
    Some(done)
}

/// The first group at or behind `from`, and what may stand in its place.
fn find(word: &str, from: usize) -> Option<(Range<usize>, Vec<String>)> {
    let live = live(word);
    let mut starts = live.iter().filter(|(at, c)| *at >= from && *c == '{');
    starts.find_map(|&(start, _)| {
        // `${NAME}` is a variable.
        if word[..start].ends_with('$') {
            return None;
        }
        let (end, commas) = close(&live, start)?;
        let inner = &word[start + 1..end];
        let alternatives = if commas.is_empty() {
            range(inner)?
        } else {
            split(word, start, end, &commas)
        };
        Some((start..end + 1, alternatives))
    })
}

/// The characters outside quotes, with their places.
fn live(word: &str) -> Vec<(usize, char)> {
    let mut live = Vec::new();
    let mut open = None;
    let mut chars = word.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, open) {
            ('\\', None | Some('"')) => {
                chars.next();
            }
            ('\'' | '"', None) => open = Some(c),
            (c, Some(quote)) if c == quote => open = None,
            (_, None) => live.push((at, c)),
            _ => {}
        }
    }
    live
}

/// Where the group ends that begins at `start`, and its commas.
fn close(live: &[(usize, char)], start: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0usize;
    let mut commas = Vec::new();
    for &(at, c) in live.iter().filter(|(at, _)| *at >= start) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Some((at, commas)),
            '}' => depth -= 1,
            ',' if depth == 1 => commas.push(at),
            _ => {}
        }
    }
    None
}

fn split(word: &str, start: usize, end: usize, commas: &[usize]) -> Vec<String> {
    let starts = std::iter::once(start).chain(commas.iter().copied());
    let ends = commas.iter().copied().chain(std::iter::once(end));
    starts
        .zip(ends)
        .map(|(from, to)| word[from + 1..to].to_owned())
        .collect()
}

/// `1..3`, `03..1`, `a..e`, `1..9..2`.
fn range(inner: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = inner.split("..").collect();
    let (low, high, step) = match parts.as_slice() {
        [low, high] => (*low, *high, 1),
        [low, high, step] => (*low, *high, step.parse::<i64>().ok()?.abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| match text.as_bytes() {
        [b] if b.is_ascii_alphabetic() => Some(i64::from(*b)),
        _ => None,
    };
    if let (Some(low), Some(high)) = (letter(low), letter(high)) {
        let texts = steps(low, high, step)?.into_iter();
        return texts
            .map(|n| Some(char::from(u8::try_from(n).ok()?).to_string()))
            .collect();
    }
    let number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain {
            text.parse::<i32>().ok().map(i64::from)
        } else {
            None
        }
    };
    let padded = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.len() > 1 && digits.starts_with('0')
    };
    let width = if padded(low) || padded(high) {
        low.len().max(high.len())
    } else {
        0
    };
    let texts = steps(number(low)?, number(high)?, step)?.into_iter();
    Some(texts.map(|n| format!("{n:0width$}")).collect())
}

fn steps(low: i64, high: i64, step: i64) -> Option<Vec<i64>> {
    let count = usize::try_from((high - low).abs() / step).ok()?;
    let step = if high < low { -step } else { step };
    // Too many are cut off where the caller counts.
    Some(
        (0..=count.min(MAX_WORDS))
            .map(|n| low + step * i64::try_from(n).unwrap_or(0))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_what_a_shell_makes_of_them() {
        for (raw, words) in [
            ("a", vec!["a"]),
            ("{a,b}", vec!["a", "b"]),
            ("x{a,b}y{1..2}", vec!["xay1", "xay2", "xby1", "xby2"]),
            ("{a,b{1,2}}", vec!["a", "b1", "b2"]),
            ("{}", vec!["{}"]),
            ("{a}", vec!["{a}"]),
            ("{{a,b}}", vec!["{a}", "{b}"]),
            ("stash@{0}", vec!["stash@{0}"]),
            ("'{a,b}'", vec!["'{a,b}'"]),
            ("\\{a,b}", vec!["\\{a,b}"]),
            ("{a\\,b}", vec!["{a\\,b}"]),
            ("${a,b}", vec!["${a,b}"]),
            ("{,x}", vec!["", "x"]),
            ("{08..10}", vec!["08", "09", "10"]),
            ("{3..1}", vec!["3", "2", "1"]),
            ("{c..a..2}", vec!["c", "a"]),
            ("{a,b", vec!["{a,b"]),
            ("{a,\"b,c\"}", vec!["a", "\"b,c\""]),
        ] {
            assert_eq!(expand(raw).unwrap_or_default(), words, "{raw}");
        }
        assert!(expand("{1..100000}").is_none());
        assert!(expand(&"{a,b}".repeat(20)).is_none());
    }
}
