//! Values that their surroundings give away: keys and separators, headers, command lines, SQL, markup, prose.

use super::engine::Scan;
use super::headers;
use super::judge::{Place, bare_is_secret, is_placeholder, quoted_is_secret};
use super::keys::{KeyClass, MAX_NAME, classify};
use super::literal::{
    Kind, Literal, Quote, Until, bare, bare_end, concatenated, decode_codes, marked, skip_blanks,
    skip_space,
};
use super::marks::mark_at;
use super::prose;
use super::rules::Rule;
use super::shape::*;

/// The bytes of a name.
const NAME: u16 = ALNUM | US | DASH | DOT;

/// What stands between a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Colon,
    Arrow,
    Equals,
    /// `==` and the like: only a literal can be secret.
    Compare,
    /// A tuple or a call's arguments.
    Comma,
    /// `KEY || "default"`, `${KEY:-default}`.
    Default,
    /// A command's option, netrc, `ENV KEY value`.
    Blank,
    /// `<key>value</key>`.
    Markup,
    /// A table's cells.
    Cell,
    /// "the password is …".
    Prose,
    /// `{"name": KEY, "value": …}`.
    Pair,
}

/// A key in the text.
pub(super) struct Key<'t> {
    pub(super) name: &'t [u8],
    pub(super) start: usize,
    /// Leading dashes of a command's option.
    pub(super) dashes: usize,
    pub(super) quote: Option<Quote>,
    pub(super) atom: bool,
}

/// A telling word occurs at `at`: reads the whole name, what follows it, and the value.
pub(crate) fn key(scan: &mut Scan, at: usize) {
    if at < scan.key_end {
        return;
    }
    let text = scan.text;
    let end = run_end_capped(text, at, NAME, MAX_NAME);
    let left = at
        - text[..at]
            .iter()
            .rev()
            .take(MAX_NAME)
            .take_while(|&&b| is(b, NAME))
            .count();
    scan.key_end = end;
    scan.spend(end - left);
    // The `n` of a written line break belongs to no name.
    let mut start = left + escape_letters(&text[left.saturating_sub(1)..end], left > 0);
    if start > at {
        start = left;
    }
    let dashes = text[start..end].iter().take_while(|&&b| b == b'-').count();
    start += text[start..end]
        .iter()
        .take_while(|&&b| matches!(b, b'-' | b'.' | b'_'))
        .count();
    let trail = text[start.min(end)..end]
        .iter()
        .rev()
        .take_while(|&&b| matches!(b, b'-' | b'.'))
        .count();
    let end = end - trail;
    if start >= end {
        return;
    }
    // `'$write_key'`: the dollar sign is no part of the name.
    let dollar = start > 1 && text[start - 1] == b'$' && matches!(text[start - 2], b'"' | b'\'');
    let quote = Quote::ending_at(text, start - usize::from(dollar) - dashes.min(start));
    let before = if start > 0 { text[start - 1] } else { b'\n' };
    let key = Key {
        name: &text[start..end],
        start,
        dashes,
        quote: quote.map(|(q, _)| q),
        atom: before == b':',
    };
    let Some((separator, value, tight)) = separator(text, &key, end) else {
        return;
    };
    if separator == Separator::Prose && prose::says_nothing(text, &key, value) {
        return;
    }
    // A quotation mark before a name that none closes began the string in which the key and its value stand.
    let closed = key.quote.is_some_and(|quote| match quote {
        Quote::Plain { .. } => Quote::open(text, end).is_some_and(|(mark, _)| mark == quote),
        Quote::Spelled { close } => text[end..].starts_with(close),
    });
    let key = Key {
        quote: key.quote.filter(|_| closed),
        ..key
    };
    // A mark's own letters are no name.
    if start > 0 && mark_at(text, start - 1).is_some() {
        return;
    }
    let mut class = scan.class_of(key.name);
    if class <= KeyClass::Weak {
        class = class.max(two_words(text, start, key.name));
    }
    if class == KeyClass::None {
        return;
    }
    // A URL's parameters are named tersely: `?key=…&sig=…`.
    if class == KeyClass::Weak && tight && matches!(before, b'?' | b'&') {
        class = KeyClass::Token;
    }
    scan.spend(64);
    judge_value(scan, &key, class, separator, value, tight);
}

/// How many letters and digits at the start of a name belong to an escape before it: `\n`, `\u0022`, `%22`.
fn escape_letters(text: &[u8], preceded: bool) -> usize {
    match text {
        [b'\\', b'u', hex @ ..] if preceded && hex.len() >= 4 && all(&hex[..4], HEX_ANY) => 5,
        [b'\\', b'x', hex @ ..] if preceded && hex.len() >= 2 && all(&hex[..2], HEX_ANY) => 3,
        [b'\\', b'n' | b't' | b'r', ..] if preceded => 1,
        [b'%', hex @ ..] if preceded && hex.len() >= 2 && all(&hex[..2], HEX_ANY) => 2,
        _ => 0,
    }
}

/// `API key`, `secret access key`: the word before a key in prose.
fn two_words(text: &[u8], start: usize, name: &[u8]) -> KeyClass {
    if start < 3 || text[start - 1] != b' ' || name.len() > 24 {
        return KeyClass::None;
    }
    let from = start
        - 1
        - text[..start - 1]
            .iter()
            .rev()
            .take(24)
            .take_while(|&&b| is(b, WORD))
            .count();
    let mut joined = [0u8; 64];
    let (first, length) = (&text[from..start - 1], start - 1 - from + 1 + name.len());
    if first.is_empty() || length > joined.len() {
        return KeyClass::None;
    }
    joined[..first.len()].copy_from_slice(first);
    joined[first.len()] = b'_';
    joined[first.len() + 1..length].copy_from_slice(name);
    classify(&joined[..length])
}

/// What follows the key that ends at `end`: the separator, where the value may start, and whether no blank stands between.
fn separator(text: &[u8], key: &Key, end: usize) -> Option<(Separator, usize, bool)> {
    let mut at = end;
    let mut closed = false;
    if let Some(quote) = key.quote {
        let (content, after, complete) = match Quote::open(text, at) {
            Some((mark, after)) if matches!(quote, Quote::Spelled { .. }) || mark == quote => {
                (at, after, true)
            }
            _ => {
                if let Quote::Spelled { close } = quote {
                    if text[at..].starts_with(close) {
                        (at, at + close.len(), true)
                    } else {
                        (at, at, false)
                    }
                } else {
                    (at, at, false)
                }
            }
        };
        if complete && content == at {
            at = after;
            closed = true;
        }
    }
    if text[at..].starts_with(b">>") {
        at += 2;
    }
    let bracketed = key.start > 0 && text[key.start - 1] == b'[';
    let indexed = (closed || bracketed || key.atom) && text.get(at) == Some(&b']');
    at += usize::from(indexed);
    if let Some(value) = answer(text, key, at) {
        return Some((Separator::Arrow, value, false));
    }
    let mut called = false;
    if text.get(at) == Some(&b')') {
        at += 1;
        called = true;
    }
    let gap = skip_blanks(text, at, 60);
    let tight = gap == at;
    let next = text.get(gap + 1).copied().unwrap_or(0);
    let b = *text.get(gap)?;
    if called && !matches!(b, b'|' | b'?' | b'o') {
        return None;
    }
    let found = match b {
        b'=' if next == b'>' => (Separator::Arrow, gap + 2),
        b'=' if next == b'=' => (
            Separator::Compare,
            gap + 2 + usize::from(text.get(gap + 2) == Some(&b'=')),
        ),
        b'=' if next == b'~' => return None,
        b'=' => (Separator::Equals, gap + 1),
        b':' if next == b'=' => (Separator::Equals, gap + 2),
        b':' if next == b':' => return None,
        b':' if next == b'-' => (Separator::Default, gap + 2),
        b':' if key.atom && tight && !closed => return None,
        b':' => (Separator::Colon, gap + 1),
        b'-' if next == b'>' => (Separator::Arrow, gap + 2),
        b'%' if tight && starts_ci(&text[gap..], b"%3d") => (Separator::Equals, gap + 3),
        b'|' if next == b'|' => (Separator::Default, gap + 2),
        b'|' => (Separator::Cell, gap + 1),
        b'?' if next == b'?' => (Separator::Default, gap + 2),
        b'o' if called && next == b'r' => (Separator::Default, gap + 2),
        b',' => {
            let erlang = key.start > 0
                && (text[key.start - 1] == b'{' || text[..key.start].ends_with(b"define("));
            let row = text[..key.start].trim_ascii_end().ends_with(b",");
            // `["pwd"], ["date"]`: two lists, not a key and its value.
            if indexed || !closed && !key.atom && !erlang && !row {
                return None;
            }
            match pair_value(text, gap + 1) {
                Some(value) => (Separator::Pair, value),
                None => (Separator::Comma, gap + 1),
            }
        }
        b'>' if closed => (Separator::Markup, gap + 1),
        b'(' if tight && is_setter(key.name) => (Separator::Comma, last_argument(text, gap + 1)),
        b'>' if key.start > 0 && matches!(text[key.start - 1], b'<' | b':') => {
            (Separator::Markup, gap + 1)
        }
        b'<' if next == b'/' => (Separator::Pair, pair_value(text, gap)?),
        b'\n' | b'\r' => (Separator::Pair, pair_value(text, gap)?),
        _ if !tight && key.dashes > 0 => (Separator::Blank, gap),
        _ if !tight && closed => (Separator::Pair, pair_value(text, gap)?),
        _ if !tight => (Separator::Prose, gap),
        b'\'' if &text[key.start..end] == b"PASSWORD" => (Separator::Blank, gap),
        _ => return None,
    };
    let wide = text.get(found.1).is_none_or(|b| b.is_ascii_whitespace());
    Some((found.0, found.1, tight && !wide))
}

/// `setApiToken("…")`, `set_cookie(node(), …)`.
fn is_setter(name: &[u8]) -> bool {
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    starts_ci(last, b"set") || starts_ci(last, b"with")
}

/// Where the last of at most two plain arguments starts.
fn last_argument(text: &[u8], at: usize) -> usize {
    let first = run_end_capped(text, at, WORD | DOT | COLON, 40);
    let first = if text[first..].starts_with(b"()") {
        first + 2
    } else {
        first
    };
    if first > at && text.get(first) == Some(&b',') {
        skip_blanks(text, first + 1, 8)
    } else {
        at
    }
}

/// `iex> System.get_env("KEY")`, and the value on the next line; `secret #=> "…"`, as a debugger prints it.
fn answer(text: &[u8], key: &Key, from: usize) -> Option<usize> {
    let closers = text[from..]
        .iter()
        .take(4)
        .take_while(|&&b| matches!(b, b'(' | b')' | b']' | b'}' | b'.'))
        .count();
    let at = skip_blanks(text, from + closers, 40);
    match text.get(at)? {
        b'#' => {
            let arrow = skip_blanks(text, at + 1, 4);
            text[arrow..].starts_with(b"=>").then_some(arrow + 2)
        }
        b'\n' if matches!(text.get(at + 1), Some(b'"' | b'~' | b'\'' | b'<' | b':')) => {
            let lead = line_lead(text, key.start, 160).trim_ascii_start();
            (lead.starts_with(b"iex") || memchr::memmem::find(lead, b"> ").is_some())
                .then_some(at + 1)
        }
        _ => None,
    }
}

/// Is a name with a comma and a literal behind it a pair, not two elements of a longer list?
fn is_pair(text: &[u8], key: &Key, literal: &Literal) -> bool {
    let quote = key.quote.map_or(0, |quote| match quote {
        Quote::Plain { slashes, .. } => slashes + 1,
        Quote::Spelled { close } => close.len(),
    });
    let quote = quote + usize::from(key.start > 0 && text[key.start - 1] == b'$');
    let open = key
        .start
        .saturating_sub(quote.max(usize::from(key.atom)) + key.dashes);
    let mut before = text[..open]
        .iter()
        .rev()
        .take(60)
        .filter(|b| !b.is_ascii_whitespace() && **b != b'<');
    let first = before.next().copied().unwrap_or(b'\n');
    let mut next = skip_space(text, literal.after, 60);
    // `<<"…"/utf8>>`
    if text.get(next) == Some(&b'/') {
        next = run_end_capped(text, next + 1, ALNUM, 12);
    }
    let next = if text[next..].starts_with(b">>") {
        skip_space(text, next + 2, 60)
    } else {
        next
    };
    let last = text.get(next).copied().unwrap_or(b'\n');
    // In a longer row of words the next one is a value only if it is no word.
    let word = all(&text[literal.start..literal.end], L | US | DASH);
    match first {
        b'{' => last == b'}' || !word,
        b'[' => last == b']',
        b'(' => last == b')',
        b',' => last == b')' && !word,
        _ => false,
    }
}

/// The value's place in a pair of members `name` and `value`, from behind the name on.
fn pair_value(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    if text[at..].starts_with(b"</") {
        at = run_end_capped(text, at + 2, NAME | COLON, 40);
        if text.get(at) != Some(&b'>') {
            return None;
        }
        at += 1;
    }
    let limit = text.len().min(at + 160);
    while at < limit {
        match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b'<' | b':' | b'"' | b'\'' | b'-' | b'%'
            | b'{' | b'}' | b'@' => at += 1,
            b'\\' => {
                at += if matches!(text.get(at + 1), Some(b'n' | b't' | b'r')) {
                    2
                } else {
                    1
                }
            }
            _ => break,
        }
    }
    let mut end = run_end_capped(text, at, ALPHA | US, 24);
    // Other attributes of the same element may stand between.
    for _ in 0..4 {
        let other = matches!(
            &text[at..end],
            b"name" | b"id" | b"class" | b"placeholder" | b"type" | b"autocomplete"
        );
        let Some((quote, start)) =
            Quote::open(text, end + 1).filter(|_| other && text.get(end) == Some(&b'='))
        else {
            break;
        };
        let (_, after, _) = quote.close(text, start);
        at = skip_blanks(text, after.min(start + 80), 8);
        end = run_end_capped(text, at, ALPHA | US, 24);
    }
    let word = &text[at..end];
    const NAMES: &[&[u8]] = &[
        b"value",
        b"val",
        b"content",
        b"secret_value",
        b"plaintext",
        b"default",
        b"string",
        b"defaultvalue",
        b"default_value",
        b"secretvalue",
        b"secretstring",
    ];
    if !NAMES.iter().any(|name| word.eq_ignore_ascii_case(name)) {
        return None;
    }
    let mut at = end;
    if let Some((_, after)) = Quote::open(text, at) {
        at = after;
    }
    at = skip_blanks(text, at, 20);
    match text.get(at)? {
        b'=' if text.get(at + 1) == Some(&b'>') => Some(at + 2),
        // `field :password, :string, …` is a type; only a property list has `<string>`.
        b':' | b'=' | b',' if !word.eq_ignore_ascii_case(b"string") => Some(at + 1),
        b'>' => Some(at + 1),
        _ => None,
    }
}

/// The value of a key whose class is known.
fn judge_value(
    scan: &mut Scan,
    key: &Key,
    class: KeyClass,
    separator: Separator,
    from: usize,
    tight: bool,
) {
    let text = scan.text;
    let mut at = skip_blanks(text, from, 80);
    if matches!(text.get(at), Some(b'\n' | b'\r' | b'\\'))
        && !matches!(
            separator,
            Separator::Prose | Separator::Blank | Separator::Cell
        )
    {
        // The formatter puts a long literal on a line of its own.
        let below = skip_space(text, at, 120);
        if below > at
            && (Quote::open(text, below).is_some()
                || matches!(text.get(below), Some(b'~' | b'<'))
                || text[below..].starts_with(b"string("))
        {
            at = below;
        }
    }
    if at >= text.len() {
        return;
    }
    if closes(text, at, key.quote) {
        return;
    }
    let call = separator == Separator::Comma && key.quote.is_none();
    if headers::is_cookie(key.name)
        && key.dashes == 0
        && !call
        && !matches!(separator, Separator::Prose | Separator::Cell)
    {
        return headers::cookies(scan, key, at);
    }
    if class == KeyClass::Auth {
        return headers::authorization(scan, key, separator, at, tight);
    }
    if class == KeyClass::Url {
        return address(scan, key, at);
    }
    if separator == Separator::Markup {
        let end = at + memchr::memchr(b'<', &text[at..text.len().min(at + 4096)]).unwrap_or(0);
        let value = &text[at..end];
        if text[end..].starts_with(b"</") && quoted_is_secret(class, key.name, value) {
            let lead = value.iter().take_while(|b| b.is_ascii_whitespace()).count();
            let trail = value[lead..]
                .iter()
                .rev()
                .take_while(|b| b.is_ascii_whitespace())
                .count();
            secret(scan, key, class, at + lead, end - trail);
        }
        return;
    }
    // `password: &str = "…"`, `var password string = "…"`: a type stands before the literal.
    if matches!(separator, Separator::Colon | Separator::Prose)
        && let Some(value) = typed(text, at)
    {
        at = value;
    }
    let listed = !matches!(
        separator,
        Separator::Prose | Separator::Blank | Separator::Cell
    );
    if listed && text[at] == b'[' && !is_at(text, skip_space(text, at + 1, 60), D) {
        elements(scan, key, class, at);
    }
    // `**Password:** …`
    if separator == Separator::Colon && key.quote.is_none() {
        at += text[at..]
            .iter()
            .take(2)
            .take_while(|&&b| b == b'*')
            .count();
        at = skip_blanks(text, at, 8);
    }
    if let Some(block) = block_scalar(text, at, separator) {
        let end = text[block..]
            .iter()
            .take(4096)
            .position(|&b| b == b'\n' || b == b'\r')
            .map_or(text.len().min(block + 4096), |n| block + n);
        scan.spend(end - block);
        if quoted_is_secret(class, key.name, &text[block..end])
            && !text[block..end]
                .iter()
                .any(|b| matches!(b, b'"' | b'\'' | b'\\'))
        {
            secret(scan, key, class, block, end);
        }
        return;
    }
    let comparison = separator == Separator::Compare;
    let class = if comparison && class > KeyClass::Token {
        KeyClass::Token
    } else {
        class
    };
    if at >= text.len() {
        return;
    }
    let Some(literal) = marked(text, at).or_else(|| wrapped(text, at)) else {
        return bare_value(scan, key, class, separator, at, tight);
    };
    // Judging reads a value several times.
    scan.spend(4 * (literal.end - literal.start));
    // As above, with a type, a call or letters before the mark: `"password: $=", …`.
    if let Kind::Quoted(quote) = literal.kind
        && key.quote != Some(quote)
        && follows_string(text, literal.start)
    {
        return;
    }
    match literal.kind {
        Kind::Codes => codes(scan, key, class, literal),
        Kind::Quoted(_) | Kind::Fenced => {
            // "password "x"" is prose, `@password "x"` an attribute of a module.
            let attribute = key.start > 0 && text[key.start - 1] == b'@';
            let words = separator == Separator::Prose && !attribute;
            if words && (text[at] == b'`' || key.name.eq_ignore_ascii_case(b"pass")) {
                return;
            }
            let value = &text[literal.start..literal.end];
            let phrase = contains_ci(key.name, b"phrase")
                && value.iter().filter(|&&b| b == b' ').count() >= 2;
            if words && !any(value, D) && !phrase {
                return;
            }
            if separator == Separator::Comma
                && key.dashes == 0
                && !(key.quote.is_none() && is_setter(key.name))
                && !is_pair(text, key, &literal)
            {
                return;
            }
            let whole = concatenated(text, literal);
            let joined = whole.end > literal.end
                && quoted_is_secret(class, key.name, &text[literal.end..whole.end]);
            if quoted_is_secret(class, key.name, value) || joined {
                secret(scan, key, class, whole.start, whole.end);
            }
        }
        Kind::Bare => {}
    }
}

/// `key: |` or `key: >-`, and the value on the next line: where that line's text starts.
fn block_scalar(text: &[u8], at: usize, separator: Separator) -> Option<usize> {
    if separator != Separator::Colon || !matches!(text.get(at)?, b'|' | b'>') {
        return None;
    }
    let end = at
        + 1
        + text[at + 1..]
            .iter()
            .take(2)
            .take_while(|&&b| matches!(b, b'-' | b'+' | b'0'..=b'9'))
            .count();
    (text.get(end) == Some(&b'\n'))
        .then(|| skip_blanks(text, end + 1, 80))
        .filter(|&start| start > end + 1)
}

/// Does a quotation mark at `at` end the string in which the key stands, rather than begin a value? `"password: ", …`,
/// `"'password' => ", …`
fn closes(text: &[u8], at: usize, own: Option<Quote>) -> bool {
    Quote::open(text, at)
        .is_some_and(|(quote, after)| own != Some(quote) && follows_string(text, after))
}

/// Does what stands at `at` follow a string's closing mark?
fn follows_string(text: &[u8], at: usize) -> bool {
    let rest = &text[at..];
    let ends = matches!(
        rest.first(),
        Some(b',' | b'}' | b']' | b')' | b';' | b':' | b'\n' | b'\r')
    );
    ends || [&b"++"[..], b" ++", b"<>", b" <>", b" +", b" .", b" |"]
        .iter()
        .any(|glue| rest.starts_with(glue))
}

/// Reports a value, under the rule that its key or its form calls for.
pub(super) fn secret(scan: &mut Scan, key: &Key, class: KeyClass, start: usize, end: usize) {
    let value = &scan.text[start..end];
    let rule = if value.starts_with(b"$2") || value.starts_with(b"$argon2") {
        Rule::PasswordHash
    } else if contains_ci(key.name, b"aws") && value.len() == 40 {
        Rule::AwsSecret
    } else if contains_ci(key.name, b"accountkey") || contains_ci(key.name, b"sharedaccesskey") {
        Rule::Azure
    } else if value.starts_with(b"django-insecure-") {
        Rule::Django
    } else if class == KeyClass::Password {
        Rule::Password
    } else if class == KeyClass::Field {
        Rule::Field
    } else if key.start > 0 && matches!(scan.text[key.start - 1], b'?' | b'&') {
        Rule::UrlQuery
    } else {
        Rule::Secret
    };
    scan.add(start, end, rule, 1);
    scan.value_until = scan.value_until.max(end);
}

/// `["a", "b"]` under a telling key.
fn elements(scan: &mut Scan, key: &Key, class: KeyClass, from: usize) {
    let text = scan.text;
    let mut at = from + 1;
    for _ in 0..32 {
        at = skip_space(text, at, 120);
        let Some(literal) = marked(text, at) else {
            return;
        };
        scan.spend(literal.end - literal.start);
        if matches!(literal.kind, Kind::Quoted(_))
            && quoted_is_secret(class, key.name, &text[literal.start..literal.end])
        {
            secret(scan, key, class, literal.start, literal.end);
        }
        at = skip_space(text, literal.after, 120);
        if text.get(at) != Some(&b',') {
            return;
        }
        at += 1;
    }
}

/// Skips a type and an equals sign: `&'static str = `.
fn typed(text: &[u8], from: usize) -> Option<usize> {
    let end = text.len().min(from + 48);
    let equals = from
        + text[from..end]
            .iter()
            .position(|&b| matches!(b, b'=' | b'"' | b'\n' | b',' | b';' | b'{'))?;
    if text[equals] != b'='
        || equals == from
        || matches!(text.get(equals + 1), Some(b'=' | b'>'))
        || matches!(text[equals - 1], b'!' | b'=')
    {
        return None;
    }
    let value = skip_space(text, equals + 1, 80);
    Quote::open(text, value).map(|_| value)
}

/// `Base.decode64!("…")`, `Some("…")`, `~c` and the like: calls that only wrap the literal.
fn wrapped(text: &[u8], at: usize) -> Option<Literal> {
    let end = run_end_capped(text, at, WORD | DOT | COLON, 48);
    let end = end + usize::from(text.get(end) == Some(&b'!'));
    if end == at || text.get(end) != Some(&b'(') {
        return None;
    }
    // PHP's dump: `string(14) "…"`.
    if &text[at..end] == b"string" {
        let close = run_end_capped(text, end + 1, D, 8);
        return if text[close..].starts_with(b") ") {
            marked(text, close + 2)
        } else {
            None
        };
    }
    let name = text[at..end].rsplit(|&b| b == b'.' || b == b':').next()?;
    const WRAPPERS: &[&[u8]] = &[
        b"decode",
        b"charlist",
        b"to_atom",
        b"from",
        b"new",
        b"some",
        b"ok",
        b"just",
        b"bytes",
        b"secretstr",
        b"sensitive",
        b"wrap",
        b"of",
        b"b64",
        b"unhex",
        b"fromhex",
        b"a2b",
        b"raw",
    ];
    let known = WRAPPERS.iter().any(|w| {
        starts_ci(name, w)
            || name.len() > w.len() && name[name.len() - w.len()..].eq_ignore_ascii_case(w)
    }) || contains_ci(name, b"decode")
        || contains_ci(name, b"secret");
    if !known {
        return None;
    }
    marked(text, skip_space(text, end + 1, 60))
        .filter(|literal| matches!(literal.kind, Kind::Quoted(_)))
}

fn codes(scan: &mut Scan, key: &Key, class: KeyClass, literal: Literal) {
    let mut decoded = std::mem::take(&mut scan.scratch);
    if decode_codes(&scan.text[literal.start..literal.end], &mut decoded).is_some()
        && quoted_is_secret(class, key.name, &decoded)
    {
        scan.add(literal.start, literal.end, Rule::Integers, 1);
        scan.value_until = literal.end;
    }
    scan.scratch = decoded;
}

/// A value without quotation marks.
fn bare_value(
    scan: &mut Scan,
    key: &Key,
    class: KeyClass,
    separator: Separator,
    at: usize,
    tight: bool,
) {
    let text = scan.text;
    if separator == Separator::Prose {
        return prose::value(scan, key, class, at);
    }
    let mut place = place(text, key, tight);
    let bracketed = separator == Separator::Arrow
        && key.start > 0
        && text[key.start - 1] == b'['
        && key.quote.is_none();
    if separator == Separator::Colon {
        // Only an equals sign makes a line of a dotenv file.
        place.tight = false;
    }
    if separator == Separator::Pair || bracketed {
        place = Place {
            tight: true,
            data: true,
            ..place
        };
    }
    // Java prints a header's values as a list.
    let listed = text[at] == b'['
        && tight
        && class >= KeyClass::Token
        && is_at(text, at + 1, ALNUM)
        && mark_at(text, at).is_none();
    let at = at + usize::from(listed);
    let flag = key.dashes > 0;
    let until = match separator {
        Separator::Equals if tight && place.data && !flag && !in_settings(text, key.start) => {
            Until::Blank
        }
        Separator::Colon if place.data && key.quote.is_none() => Until::Blank,
        Separator::Blank => Until::Blank,
        _ => Until::Punctuation,
    };
    // ODBC quotes with braces.
    if tight && text[at] == b'{' && separator == Separator::Equals {
        let end =
            at + memchr::memchr2(b'}', b'\n', &text[at..text.len().min(at + 256)]).unwrap_or(0);
        if text.get(end) == Some(&b'}')
            && text[at..].get(1) != Some(&b'{')
            && !text[at + 1..end]
                .iter()
                .any(|b| matches!(b, b'"' | b'\'' | b'{'))
            && quoted_is_secret(class, key.name, &text[at + 1..end])
            && in_settings(text, key.start)
        {
            secret(scan, key, class, at + 1, end);
        }
        return;
    }
    let mut literal = bare(text, at, until);
    scan.spend(4 * (literal.end - literal.start));
    // In a dotenv file a value may hold a semicolon; a token does not, nor does a password with another setting behind it.
    if until == Until::Blank {
        let value = &text[at..literal.end];
        if let Some(cut) = memchr::memchr3(b';', b'&', b',', value) {
            let next = run_end_capped(value, cut + 1, NAME | US, 40);
            if class < KeyClass::Secret || next > cut + 1 && value.get(next) == Some(&b'=') {
                literal.end = at + cut;
            }
        }
    }
    while until == Until::Blank && literal.end > at && text[literal.end - 1] == b',' {
        literal.end -= 1;
    }
    // A sentence ends with a mark that is no part of the value.
    if matches!(
        separator,
        Separator::Prose | Separator::Colon | Separator::Cell
    ) {
        while literal.end > at
            && matches!(text[literal.end - 1], b'.' | b',' | b')' | b';')
            && text
                .get(literal.end)
                .is_none_or(|b| b.is_ascii_whitespace())
        {
            literal.end -= 1;
        }
    }
    // The rest of a form's encoding: `password%3Dx%26user%3Dy`.
    if at >= 3
        && starts_ci(&text[at - 3..], b"%3d")
        && let Some(cut) = memchr::memmem::find(&text[at..literal.end], b"%26")
    {
        literal.end = at + cut;
    }
    place.ends = text
        .get(literal.end)
        .is_none_or(|&b| matches!(b, b'\n' | b'\r' | b'"' | b'\\' | b'\'' | b']'))
        || text[literal.end..].starts_with(b" \n")
        || place.tight;
    // An application's token in two parts: `123456789012345|…`.
    if text.get(literal.end) == Some(&b'|')
        && literal.end - at >= 13
        && all(&text[at..literal.end], D)
    {
        literal.end = run_end_capped(text, literal.end + 1, URL64, 64);
    }
    let value = &text[at..literal.end];
    let call = matches!(text.get(literal.end), Some(b'(' | b'[' | b'{'));
    let hit = match separator {
        Separator::Compare | Separator::Markup | Separator::Comma => {
            // `{password, hunter2}` may be a variable; an atom that looks random is a cookie.
            value.first() == Some(&b':')
                && bare_is_secret(
                    class,
                    key.name,
                    &value[1..],
                    Place {
                        tight: true,
                        data: true,
                        screaming: true,
                        ends: true,
                    },
                )
                && looks_random(&value[1..], false)
        }
        Separator::Cell => {
            let next = skip_blanks(text, literal.end, 80);
            !call
                && matches!(text.get(next), Some(b'|' | b'\n') | None)
                && bare_is_secret(
                    class,
                    key.name,
                    value,
                    Place {
                        tight: false,
                        data: true,
                        screaming: false,
                        ends: true,
                    },
                )
        }
        Separator::Blank => {
            !call && !value.starts_with(b"-") && argument_is_secret(class, key.name, value, flag)
        }
        _ if flag && tight => !call && argument_is_secret(class, key.name, value, true),
        _ if value.first() == Some(&b':') => {
            !call
                && looks_random(&value[1..], false)
                && bare_is_secret(class, key.name, &value[1..], place)
        }
        _ => !call && bare_is_secret(class, key.name, value, place),
    };
    if hit {
        let mut end = literal.end;
        if value.len() >= 200 {
            end = end.max(bare_end(text, at, until));
        }
        // A backslash at the line's end continues the value.
        for _ in 0..8 {
            if !text[end..].starts_with(b"\\\n") {
                break;
            }
            let next = skip_blanks(text, end + 2, 40);
            end = bare(text, next, until).end.max(next);
        }
        secret(scan, key, class, at, end);
    }
}

/// The argument of `--password`: a word of small letters only may be a usage text's.
pub(super) fn argument_is_secret(class: KeyClass, key: &[u8], value: &[u8], flag: bool) -> bool {
    // A word of its own on a command line says as much as a setting does.
    let place = Place {
        tight: true,
        data: true,
        screaming: true,
        ends: true,
    };
    if class == KeyClass::Weak {
        return flag
            && matches!(value.len(), 32 | 64)
            && all(value, HEX)
            && any(value, D)
            && any(value, L)
            || bare_is_secret(class, key, value, place);
    }
    let kept = value
        .iter()
        .rev()
        .take_while(|b| matches!(b, b']' | b')' | b'}' | b','))
        .count();
    let value = &value[..value.len() - kept];
    if all(value, U | US | DASH) && surprise(value) < 40 || value.len() < 3 {
        return false;
    }
    if class >= KeyClass::Secret && flag {
        return !is_placeholder(value)
            && !value.iter().any(|b| matches!(b, b'[' | b'<' | b'{' | b'('))
            && (any(value, D)
                || value.iter().any(|b| {
                    b.is_ascii_punctuation()
                        && !matches!(b, b'-' | b'_' | b'.' | b'/' | b',' | b'=')
                })
                || surprise(value) > 3 * value.len() as i32);
    }
    bare_is_secret(class, key, value, place)
}

/// Where a key stands in its line.
fn place(text: &[u8], key: &Key, tight: bool) -> Place {
    let mut lead = line_lead(text, key.start, 60);
    // Sixty bytes are searched faster than a searcher is built.
    if let Some(at) = lead.windows(2).rposition(|pair| pair == b"\\n") {
        lead = &lead[at + 2..];
    }
    let lead = lead.trim_ascii();
    let lead = lead.strip_suffix(b"$env:").unwrap_or(lead);
    // Gutters: line numbers, diff signs, list dashes, comment signs, `path:12:`.
    let gutter = lead.iter().all(|&b| {
        matches!(
            b,
            b'+' | b'-' | b'>' | b'#' | b'|' | b'*' | b':' | b' ' | b'\t' | b'0'
                ..=b'9' | b'"' | b'\'' | b'$' | b';'
        )
    }) || lead.last().is_some_and(|&b| matches!(b, b':' | b'-'))
        && lead.len() > 4
        && lead[..lead.len() - 1]
            .last()
            .is_some_and(u8::is_ascii_digit);
    let word = lead
        .rsplit(|b| b.is_ascii_whitespace())
        .next()
        .unwrap_or_default();
    let exported = matches!(
        word,
        b"export"
            | b"-x"
            | b"set"
            | b"SET"
            | b"setenv"
            | b"ENV"
            | b"ARG"
            | b"env"
            | b"-e"
            | b"--env"
            | b"--build-arg"
            | b"$"
            | b"%"
            | b"&&"
            | b";"
            | b"run"
            | b"--set"
            | b"Environment="
            | b"\"Environment="
            | b"environment:"
            | b"-D"
            | b"--build-arg="
    );
    // Another setting of the same form right before: `A=1 B=2 cmd`, `host=x password=y`.
    let chained = tight && word.contains(&b'=') && !word.ends_with(b",") && !word.ends_with(b"=");
    let name = key.name;
    let screaming = !name.iter().any(u8::is_ascii_lowercase) && any(name, U);
    let data = gutter
        || exported
        || chained
        || in_settings(text, key.start)
        || screaming
            && tight
            && (lead.is_empty()
                || key.start > 0
                    && matches!(text[key.start - 1], b'"' | b'\'' | b' ' | b'[' | b','));
    Place {
        tight,
        data,
        screaming,
        ends: true,
    }
}

/// Among `key=value` settings joined by semicolons or ampersands: a connection string or a URL's parameters.
fn in_settings(text: &[u8], start: usize) -> bool {
    start > 0 && matches!(text[start - 1], b';' | b'&' | b'?')
        || start > 1 && text[start - 1] == b' ' && text[start - 2] == b';'
}

/// A webhook's address of a host that is not known: the last part of its path, if it looks random.
fn address(scan: &mut Scan, key: &Key, from: usize) {
    let text = scan.text;
    let (start, end) = match marked(text, from) {
        Some(literal) if matches!(literal.kind, Kind::Quoted(_)) => (literal.start, literal.end),
        _ => (from, bare(text, from, Until::Blank).end),
    };
    let value = &text[start..end];
    scan.spend(value.len());
    // The parts of a URI that a struct shows one by one.
    if matches!(key.name, b"userinfo" | b"authority") {
        if Quote::open(text, from).is_none() {
            return;
        }
        let end = memchr::memrchr(b'@', value).unwrap_or(if key.name == b"userinfo" {
            value.len()
        } else {
            0
        });
        let Some(colon) = memchr::memchr(b':', &value[..end]) else {
            return;
        };
        if !is_placeholder(&value[colon + 1..end]) {
            scan.add(start + colon + 1, start + end, Rule::UrlAuth, 1);
        }
        return;
    }
    if !starts_ci(value, b"http") {
        return;
    }
    let Some(path) = memchr::memmem::find(value, b"://")
        .and_then(|s| memchr::memchr(b'/', &value[s + 3..]).map(|p| s + 3 + p))
    else {
        return;
    };
    let Some(last) = memchr::memrchr(b'/', value) else {
        return;
    };
    let tail = &value[last + 1..];
    if last >= path && looks_random(tail, true) && any(tail, D) {
        scan.add(start + last + 1, end, Rule::Webhook, 1);
    }
}

/// A list of codes with no key: secret if what it spells is.
pub(crate) fn code_list(scan: &mut Scan, at: usize) -> Option<(usize, usize)> {
    let text = scan.text;
    let literal = marked(text, at).filter(|l| l.kind == Kind::Codes)?;
    scan.spend(literal.end - literal.start);
    let mut decoded = std::mem::take(&mut scan.scratch);
    let text_codes = literal.end - literal.start >= 30
        && decode_codes(&text[literal.start..literal.end], &mut decoded).is_some()
        && decoded.len() >= 12;
    scan.scratch = decoded;
    text_codes.then_some((literal.start, literal.end))
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::tests::{clean, redacts};

    #[test]
    fn assignments_of_many_languages() {
        redacts("config :app, Repo, password: \"§hunter2§\"");
        redacts("%{\"password\" => \"§hunter2§\", a: 1}");
        redacts("[hostname: \"x\", password: \"§pg-S3cret§\", pool: 10]");
        redacts("{:password, \"§hunter2§\"}");
        redacts("{password,<<\"§hunter2§\">>}");
        redacts("{\"password\":\"§hun\\\"ter2§\",\"a\":1}");
        redacts("\"{\\\"password\\\":\\\"§hunter2§\\\"}\"");
        redacts("DB_PASSWORD=§hunter,2#x§\nA=1");
        redacts("export DB_PASSWORD='§hunter2 x§'");
        redacts("const password: string = \"§hunter2§\";");
        redacts("secret_key_base:\n    \"§qXzPb7VtN0fKcW3sLdRm9hYg§\"");
        redacts("{\"name\":\"DB_PASSWORD\",\"value\":\"§hunter2§\"}");
        redacts("- name: DB_PASSWORD\n  value: §hunter2§\n");
        redacts("<add key=\"DbPassword\" value=\"§hunter2§\" />");
        redacts("<password>§hunter2§</password>");
        redacts("System.get_env(\"DB_PASSWORD\") || \"§hunter2§\"");
        redacts("password: ~c\"§hunter2§\"");
        redacts("Server=a;Uid=b;Pwd=§hun!ter2§;Pooling=true");
        redacts("host=x user=y password=§hunter§ dbname=z");
        redacts("password: [§104, 117, 110, 116, 101, 114, 50§]");
    }

    #[test]
    fn headers_commands_and_prose() {
        redacts("Authorization: Bearer §abcDEF123456§\r\nHost: x");
        redacts("{\"authorization\", \"Basic §dXNlcjpwYXNzd29yZA==§\"}");
        redacts("X-Api-Key: §k9Xv2Lq8Rt4Zw1§\n");
        redacts("Cookie: _app_key=§SFMxMjM0NTY3ODkwYWJj§; theme=dark");
        redacts("curl -u admin:§hunter2§ https://x");
        redacts("mysql -uroot -p§hunter2§ db");
        redacts("sshpass -p §hunter2§ ssh x");
        redacts("cmd --password §hunter2§ --verbose");
        redacts("CREATE USER a WITH PASSWORD '§hunter2§';");
        redacts("CREATE USER a IDENTIFIED BY '§hunter2§';");
        redacts("the password is §hunter2§.");
        redacts("machine x login y password §hunter2§");
        redacts("db.example.com:5432:shop:bob:§hunter2§\n");
    }

    #[test]
    fn code_and_references_stay() {
        for text in [
            "password = user.password",
            "password: password",
            "password: nil",
            "@spec password(String.t()) :: binary()",
            "def f(password=None, token=None):",
            "bypass: true, max_token: 5",
            "password: System.fetch_env!(\"DB_PASSWORD\")",
            "{:system, \"DB_PASSWORD\"}",
            "DB_PASSWORD=${DB_PASSWORD}",
            "DB_PASSWORD=$(cat x)",
            "password: {\"can't be blank\", [validation: :required]}",
            "token: token_type",
            "cookie: :nocookie",
            "password is required",
            "Bearer token is missing",
            "PWD=/home/x",
            "key: :value",
            "t.string :password_digest",
            "password VARCHAR(255) NOT NULL",
            "--password string   the password",
            "--password-stdin",
            "Authorization: Bearer $TOKEN",
            "field :password, :string, redact: true",
            "<input type=\"password\" name=\"password\">",
            "token = lexer.next_token()",
            "assert password == other",
        ] {
            clean(text);
        }
    }
}
