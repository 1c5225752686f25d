//! Byte classes and the question "does this look random?".

/// Decimal digits.
pub(crate) const D: u16 = 1;
/// Lower-case letters.
pub(crate) const L: u16 = 2;
/// Upper-case letters.
pub(crate) const U: u16 = 4;
/// Lower-case hexadecimal letters.
pub(crate) const HL: u16 = 8;
/// Upper-case hexadecimal letters.
pub(crate) const HU: u16 = 16;
/// Underscore.
pub(crate) const US: u16 = 32;
/// Dash.
pub(crate) const DASH: u16 = 64;
/// Dot.
pub(crate) const DOT: u16 = 128;
/// Plus and slash, as in base64.
pub(crate) const B64: u16 = 256;
/// Equals sign.
pub(crate) const EQ: u16 = 512;
/// Tilde.
pub(crate) const TILDE: u16 = 1024;
/// Percent sign.
pub(crate) const PCT: u16 = 2048;
/// Colon.
pub(crate) const COLON: u16 = 4096;
/// Comma.
pub(crate) const COMMA: u16 = 8192;

/// What a word is made of that goes because nobody could judge it.
pub(crate) const UNJUDGED: u16 = 16384;

/// Letters.
pub(crate) const ALPHA: u16 = L | U;
/// Letters and digits.
pub(crate) const ALNUM: u16 = D | L | U;
/// Lower-case hexadecimal.
pub(crate) const HEX: u16 = D | HL;
/// Hexadecimal of either case.
pub(crate) const HEX_ANY: u16 = D | HL | HU;
/// URL-safe base64.
pub(crate) const URL64: u16 = ALNUM | US | DASH;
/// Standard base64 with padding.
pub(crate) const STD64: u16 = ALNUM | B64 | EQ;
/// Words as programmers write them.
pub(crate) const WORD: u16 = ALNUM | US;

static CLASS: [u16; 256] = classes();

const fn classes() -> [u16; 256] {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = match b as u8 {
            b'0'..=b'9' => D,
            b'a'..=b'f' => L | HL,
            b'g'..=b'z' => L,
            b'A'..=b'F' => U | HU,
            b'G'..=b'Z' => U,
            b'_' => US,
            b'-' => DASH,
            b'.' => DOT,
            b'+' | b'/' => B64,
            b'=' => EQ,
            b'~' => TILDE,
            b'%' => PCT,
            b':' => COLON,
            b',' => COMMA,
            _ => 0,
        };
        let ends = matches!(
            b as u8,
            0..=b' '
                | 0x7f
                | b'"'
                | b'\''
                | b'`'
                | b'\\'
                | b'<'
                | b'>'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'{'
                | b'}'
                | b','
                | b';'
        );
        if !ends {
            table[b] |= UNJUDGED;
        }
        b += 1;
    }
    table
}

/// Is `byte` in one of the classes of `mask`?
#[inline(always)]
pub(crate) fn is(byte: u8, mask: u16) -> bool {
    CLASS[byte as usize] & mask != 0
}

/// Is the byte at `at` there, and in `mask`?
#[inline(always)]
pub(crate) fn is_at(text: &[u8], at: usize, mask: u16) -> bool {
    text.get(at).is_some_and(|&b| is(b, mask))
}

/// Where the run of `mask` bytes that starts at `from` ends.
#[inline]
pub(crate) fn run_end(text: &[u8], from: usize, mask: u16) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .position(|&b| !is(b, mask))
        .unwrap_or(rest.len())
}

pub(crate) fn run_end_of(text: &[u8], from: usize, inside: impl Fn(u8) -> bool) -> usize {
    let rest = &text[from.min(text.len())..text.len().min(from + 64)];
    from + rest.iter().take_while(|&&b| inside(b)).count()
}

/// As [`run_end`], looking at no more than `cap` bytes.
#[inline]
pub(crate) fn run_end_capped(text: &[u8], from: usize, mask: u16, cap: usize) -> usize {
    let end = text.len().min(from.saturating_add(cap));
    run_end(&text[..end], from.min(end), mask)
}

/// What stands on the line before `start`, its last `most` bytes.
pub(crate) fn line_lead(text: &[u8], start: usize, most: usize) -> &[u8] {
    let lead = &text[start.saturating_sub(most)..start];
    let line = memchr::memrchr(b'\n', lead).map_or(0, |newline| newline + 1);
    &lead[line..]
}

/// Every byte in `mask`.
pub(crate) fn all(text: &[u8], mask: u16) -> bool {
    text.iter().all(|&b| is(b, mask))
}

/// At least one byte in `mask`.
pub(crate) fn any(text: &[u8], mask: u16) -> bool {
    text.iter().any(|&b| is(b, mask))
}

/// How many bytes are in `mask`.
pub(crate) fn count(text: &[u8], mask: u16) -> usize {
    text.iter().filter(|&&b| is(b, mask)).count()
}

/// How many different ASCII bytes occur.
pub(crate) fn distinct(text: &[u8]) -> u32 {
    text.iter()
        .fold(0u128, |set, &b| set | 1 << (b & 127))
        .count_ones()
}

/// Is `needle` (lower case) in `text`, whatever the case there?
pub(crate) fn contains_ci(text: &[u8], needle: &[u8]) -> bool {
    let Some(first) = needle.first() else {
        return true;
    };
    let last = (text.len() + 1).saturating_sub(needle.len());
    memchr::memchr2_iter(*first, first.to_ascii_uppercase(), &text[..last])
        .any(|at| text[at..at + needle.len()].eq_ignore_ascii_case(needle))
}

/// Does `text` start with `prefix` (lower case), whatever the case there?
pub(crate) fn starts_ci(text: &[u8], prefix: &[u8]) -> bool {
    text.len() >= prefix.len() && text[..prefix.len()].eq_ignore_ascii_case(prefix)
}

/// How unlike words and identifiers a value is, in tenths of a bit: the sum over neighbouring bytes
/// of how much more likely the pair is in a random string than in a word. Words and identifiers
/// come out below zero, a random run of letters and digits gains 10 to 20 a byte.
pub(crate) fn surprise(value: &[u8]) -> i32 {
    let mut sum = 0i32;
    for pair in value.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        sum += match (kind(a), kind(b)) {
            // A capital after a small letter starts a word in camel case; only mildly surprising.
            (Kind::Lower, Kind::Upper) => 10,
            (Kind::Lower | Kind::Upper, Kind::Lower) | (Kind::Upper, Kind::Upper) => {
                -i32::from(PAIRS[(a & 31) as usize - 1][(b & 31) as usize - 1])
            }
            (Kind::Digit, Kind::Digit) => 0,
            (Kind::Digit, Kind::Lower | Kind::Upper) | (Kind::Lower | Kind::Upper, Kind::Digit) => {
                30
            }
            // Dashes, dots, underscores and spaces join words.
            (Kind::Joint, _) | (_, Kind::Joint) => -10,
            (Kind::Other, _) | (_, Kind::Other) => 5,
        };
    }
    sum
}

#[derive(Clone, Copy)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Joint,
    Other,
}

fn kind(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' => Kind::Lower,
        b'A'..=b'Z' => Kind::Upper,
        b'0'..=b'9' => Kind::Digit,
        b'_' | b'-' | b'.' | b' ' | b'/' | b':' => Kind::Joint,
        _ => Kind::Other,
    }
}

/// Is `value` random enough for a token under a telling name? `strict` is for names that tell
/// little.
pub(crate) fn looks_random(value: &[u8], strict: bool) -> bool {
    let (length, bits) = if strict { (16, 140) } else { (8, 60) };
    let value = &value[..value.len().min(256)];
    value.len() >= length
        && value.iter().all(|b| b.is_ascii_graphic())
        && distinct(value) >= 6.min(value.len() as u32 / 2)
        && surprise(value) >= bits
}

/// Letters only, yet no words: for token bodies that carry no digit.
pub(crate) fn random_letters(value: &[u8]) -> bool {
    let value = &value[..value.len().min(256)];
    distinct(value) >= 8 && surprise(value) > 3 * value.len() as i32
}

/// Tenths of a bit by which a letter is likelier after another in English and in identifiers than
/// by chance, counted over the words of about 150 MB of Rust and Python sources and their
/// documentation.
#[rustfmt::skip]
static PAIRS: [[i8; 26]; 26] = [
    [-27, 2, 10, 4, -40, -24, -4, -43, -2, -53, -17, 16, 6, 13, -60, 2, -60, 16, 8, 21, -11, -18, -26, -23, -15, -42],
    [16, -8, 2, -14, 13, -21, -31, -40, 14, -3, -33, 21, -15, -23, 11, -13, -60, 3, 7, -13, 15, -31, -38, -44, -2, -42],
    [15, -19, -5, -20, 15, -22, -38, 14, -2, -60, 9, 4, -15, -24, 24, -19, -43, 1, -8, 15, -3, -27, -40, -47, -22, -60],
    [11, -14, -17, 2, 30, -13, -22, -30, 22, -35, -40, 3, -22, -21, 6, -19, -45, 4, 4, -12, -1, -20, -7, -32, -19, -60],
    [3, -24, 7, 15, -8, -6, -13, -35, -21, -56, -38, 2, -1, 16, -25, -7, -19, 22, 17, 10, -32, -11, -21, 2, -23, -55],
    [10, -27, -10, -4, 12, 16, -14, -41, 24, -56, -60, 8, -17, -16, 17, -15, -51, 6, 4, -5, 3, -49, -29, -43, -15, -60],
    [3, -31, -16, -18, 30, -22, -7, 6, 12, -60, -50, 2, -12, 8, 0, -19, -42, 14, 10, -6, 4, -28, -36, -53, -33, -37],
    [25, -22, -12, -6, 26, -28, -34, -37, 16, -60, -32, -10, -7, -15, 18, -20, -48, 3, -9, 1, -5, -36, -23, -60, -15, -41],
    [-5, -9, 7, 5, -3, -5, -1, -55, -45, -54, -32, 5, 3, 27, 12, -6, -55, -4, 9, 13, -56, -6, -60, -20, -60, -3],
    [15, -41, -16, -32, 30, -24, -55, -27, 6, -43, -3, -30, -47, -38, 23, -6, -50, -29, 4, -8, 19, -58, -25, -46, -31, -60],
    [7, -25, -12, -7, 30, -17, -11, -29, 17, -43, -46, 2, -28, -3, -7, -14, -27, -12, 17, -3, -11, -21, -9, -60, -19, -51],
    [14, -25, -20, -2, 26, -19, -29, -40, 22, -56, -32, 13, -30, -24, 16, -3, -60, -32, -1, 0, -4, -29, -43, -58, 5, -53],
    [23, -2, -22, -14, 28, -28, -31, -40, 13, -60, -27, -13, -2, -23, 11, 16, -44, -26, 5, -12, 1, -42, -48, -50, -22, -60],
    [11, -29, 8, 14, 14, -2, 19, -29, 4, -51, -13, -13, -27, -12, 3, -18, -46, -27, 12, 21, -7, -13, -39, -57, -28, -51],
    [-18, -7, 6, 4, -31, -10, -9, -45, -14, -43, -13, 5, 7, 25, -3, 5, -60, 19, 2, 0, 8, -7, -1, -25, -42, -49],
    [19, -23, -9, -14, 19, -19, -26, -8, 8, -60, -28, 10, -26, -25, 12, 4, -48, 19, 4, 8, -2, -24, -23, -45, -10, -60],
    [-23, -16, -21, -9, -10, -32, -18, -35, -22, -60, -60, -6, -25, -4, -18, -16, -33, -5, -2, -21, 30, -25, -18, -44, -60, -60],
    [16, -27, -5, -5, 28, -17, -9, -42, 15, -60, -16, -11, -3, -7, 14, -16, -56, -3, 8, 5, -6, -16, -30, -50, -7, -60],
    [-2, -32, 2, -23, 22, -26, -17, 4, 15, -59, -16, -11, -17, -19, 1, 4, -36, -20, 9, 25, 6, -29, -23, -44, -7, -13],
    [13, -29, -6, -18, 24, -18, -38, 7, 22, -60, -42, -9, -16, -26, 7, -12, -60, 14, 6, 0, -5, -33, -27, -29, 0, -41],
    [-2, 5, 1, -13, 4, -2, -12, -55, 2, -60, -57, 11, 7, 21, -19, 5, -60, 14, 13, 16, -33, -55, -60, -23, -60, -42],
    [23, -29, -11, -23, 30, -18, -30, -36, 21, -60, -60, -21, -8, -25, 1, -17, -50, -23, -12, -23, -41, -41, -43, -32, -46, -54],
    [21, -20, -8, -2, 14, -13, -30, 6, 21, -60, -30, -5, -17, 9, 13, -12, -42, 11, 9, -11, -35, -32, -21, -37, -44, -33],
    [8, -13, 10, -4, 16, -1, -52, -12, 10, -60, -49, -12, -6, -27, -12, 19, -40, -19, -9, 25, -24, -22, -27, 4, -8, -44],
    [-7, -6, 0, -9, 1, -14, -23, -21, 3, -59, -32, 4, 7, 14, -1, 24, -54, -13, 18, 12, -28, -14, -12, -33, -12, -16],
    [8, -27, -10, -8, 30, -11, -41, -32, 14, -60, -35, -19, -16, -20, 2, -6, -60, -17, -5, -16, -14, -22, -46, -54, -19, 4],
];

/// Where the window begins of at most four bytes of a prefix that ordinary text has least:
/// capitals, digits and signs over letters.
pub(crate) fn rarest(prefix: &[u8]) -> usize {
    let cost = |window: &[u8]| -> u32 {
        window
            .iter()
            .map(|&b| match b {
                b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b' ' => 8,
                b'a'..=b'z' | b'_' | b'-' | b'.' => 5,
                _ => 2,
            })
            .sum()
    };
    let size = prefix.len().min(4);
    (0..=prefix.len() - size)
        .min_by_key(|&i| cost(&prefix[i..i + size]))
        .unwrap_or(0)
}
