//! What stands between a name and its value.

use super::html;
use super::literal::{Literal, Quote, skip_blanks, skip_space};
use super::name::{Key, NAME};
use super::shape::*;
use crate::word_list::WordList;

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
    /// A table's heading, with cells below.
    Heading,
    /// A command was asked for it, and answers on the next line.
    Answer,
}

/// A name's end, with what closes it: its own mark, brackets, a call.
#[derive(Clone, Copy)]
struct End {
    /// Where a sign may stand.
    at: usize,
    /// Where one stands, behind blanks.
    gap: usize,
    /// The name's quotation mark is closed.
    closed: bool,
    /// `["name"]`, `[:name]`
    indexed: bool,
    /// `get("name")`
    called: bool,
}

impl End {
    fn tight(&self) -> bool {
        self.gap == self.at
    }
}

/// What follows the key that ends at `end`: the separator, where the value may start, and whether
/// no blank stands between.
pub(super) fn separator(text: &[u8], key: &Key, end: usize) -> Option<(Separator, usize, bool)> {
    let (at, closed) = match closing_mark(text, key, end) {
        Some(after) => (after, true),
        None => (end, false),
    };
    let at = behind_marks(text, key, at);
    let bracketed = key.start > 0 && text[key.start - 1] == b'[';
    let indexed = (closed || bracketed || key.atom) && text.get(at) == Some(&b']');
    let at = at + usize::from(indexed);
    if let Some(value) = shown(text, key, at) {
        return Some((Separator::Arrow, value, false));
    }
    let called = text.get(at) == Some(&b')');
    let at = at + usize::from(called);
    // `(name)::text = '…'`
    let cast = called && text[at..].starts_with(b"::");
    let at = match cast {
        true => run_end_capped(text, at + 2, WORD, 24),
        false => at,
    };
    let end = End {
        at,
        gap: skip_blanks(text, at, 60),
        closed,
        indexed,
        called,
    };
    let sign = *text.get(end.gap)?;
    if called && !matches!(sign, b'|' | b'?' | b'o') && !(cast && sign == b'=') {
        return None;
    }
    let (separator, value) = match sign {
        b'=' | b':' | b'-' | b'%' | b'|' | b'?' | b'o' | 0xe2 | 0xef => operator(text, key, end),
        b',' | b'(' | b'"' | b'\'' | b'{' => argument(text, key, end),
        b'>' | b'<' | b'&' => element(text, key, end),
        b'\n' | b'\r' => next_line(text, key, end),
        _ => None,
    }
    .or_else(|| words(text, key, end, sign))?;
    let wide = text.get(value).is_none_or(|b| b.is_ascii_whitespace());
    Some((separator, value, end.tight() && !wide))
}

/// The end of the mark that closes the key's quotation mark.
fn closing_mark(text: &[u8], key: &Key, end: usize) -> Option<usize> {
    match (key.quote?, Quote::open(text, end)) {
        (Quote::Spelled { .. }, Some((_, after))) => Some(after),
        (Quote::Spelled { close }, None) => {
            text[end..].starts_with(close).then_some(end + close.len())
        }
        (quote, Some((mark, after))) => (mark == quote).then_some(after),
        (_, None) => None,
    }
}

/// Skips what may stand between a name and its sign: `<<"name">>`, `**Name**`, `{:db, :name} =>`.
fn behind_marks(text: &[u8], key: &Key, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with(b">>") {
        return at + 2;
    }
    if rest.starts_with(b"**") && text[..key.start].ends_with(b"**") {
        return at + 2;
    }
    if rest.starts_with(b"}") && text[skip_blanks(text, at + 1, 8)..].starts_with(b"=>") {
        return at + 1;
    }
    at
}

/// Signs of assignment, of defaults, of a table's cells.
fn operator(text: &[u8], key: &Key, end: End) -> Option<(Separator, usize)> {
    let gap = end.gap;
    let rest = &text[gap..];
    let escaped = |code: &[u8]| end.tight() && starts_ci(rest, code);
    Some(match rest {
        [b'=', b'>', ..] | [b'-', b'>', ..] => (Separator::Arrow, gap + 2),
        [b'=', b'=', b'=', ..] => (Separator::Compare, gap + 3),
        [b'=', b'=', ..] => (Separator::Compare, gap + 2),
        [b'=', b'~', ..] | [b':', b':', ..] => return None,
        [b'=', ..] => (Separator::Equals, gap + 1),
        [b':', b'=', ..] => (Separator::Equals, gap + 2),
        [b':', b'-', ..] if !end.closed => (Separator::Default, gap + 2),
        [b'|', b'|', ..] | [b'?', b'?', ..] => (Separator::Default, gap + 2),
        [b':', ..] if key.atom && end.tight() && !end.closed => return None,
        [b':', ..] => (Separator::Colon, gap + 1),
        [b'|', ..] => (Separator::Cell, gap + 1),
        [b'o', b'r', ..] if end.called => (Separator::Default, gap + 2),
        [b'%', ..] if escaped(b"%3d") => (Separator::Equals, gap + 3),
        [b'%', ..] if escaped(b"%3a") => (Separator::Colon, gap + 3),
        _ if rest.starts_with("：".as_bytes()) => (Separator::Colon, gap + 3),
        _ if rest.starts_with("＝".as_bytes()) => (Separator::Equals, gap + 3),
        _ if rest.starts_with("→".as_bytes()) => (Separator::Colon, gap + 3),
        _ if rest.starts_with("│".as_bytes()) => (Separator::Cell, gap + 3),
        _ if rest.starts_with(b"--value") => {
            let after = gap + b"--value".len();
            let glued = usize::from(text.get(after) == Some(&b'='));
            (Separator::Blank, after + glued)
        }
        _ => return None,
    })
}

/// A call's, a tuple's or a list's next element, a block's beginning.
fn argument(text: &[u8], key: &Key, end: End) -> Option<(Separator, usize)> {
    let (gap, tight) = (end.gap, end.tight());
    let next = text.get(gap + 1).copied().unwrap_or(0);
    let screamed = key.name == b"PASSWORD" && tight;
    match text[gap] {
        b',' if text[gap..].starts_with(b", do: ") => Some((Separator::Equals, gap + 6)),
        b',' => {
            let lead = &text[..key.start];
            let erlang = lead.ends_with(b"{") || lead.ends_with(b"define(");
            let row = lead.trim_ascii_end().ends_with(b",");
            // `["pwd"], ["date"]`: two lists, not a key and its value.
            if end.indexed || !end.closed && !key.atom && !erlang && !row {
                return None;
            }
            Some(match pair_value(text, gap + 1) {
                Some(value) => (Separator::Pair, value),
                None => (Separator::Comma, gap + 1),
            })
        }
        // `defp api_key(:prod), do: "…"`
        b'(' if tight && one_liner(text, gap).is_some() => {
            one_liner(text, gap).map(|value| (Separator::Equals, value))
        }
        b'(' if tight && is_setter(key.name) => {
            Some((Separator::Comma, last_argument(text, gap + 1)))
        }
        b'(' if screamed && matches!(next, b'\'' | b'"') => Some((Separator::Blank, gap + 1)),
        b'\'' if screamed => Some((Separator::Blank, gap)),
        // `"…/db_password"`: the end of a path that is a parameter's name.
        b'"' if tight && key.quote.is_none() && is_path_end(text, key) => {
            pair_value(text, gap + 1).map(|value| (Separator::Pair, value))
        }
        b'"' if !tight && end.closed => match label(text, gap) {
            Some(brace) => Some((Separator::Equals, brace)),
            None => quoted_row(text, key).then_some((Separator::Comma, gap)),
        },
        b'{' if !tight && end.closed => Some((Separator::Equals, gap)),
        _ => None,
    }
}

/// An element's text, or that of the next one.
fn element(text: &[u8], key: &Key, end: End) -> Option<(Separator, usize)> {
    let (gap, lead) = (end.gap, &text[..key.start]);
    match &text[gap..] {
        [b'>', ..] if end.closed || lead.ends_with(b"<") || lead.ends_with(b":") => {
            Some((Separator::Markup, gap + 1))
        }
        [b'<', b'/', ..] if html::heads_column(text, gap) => Some((Separator::Heading, gap)),
        [b'<', b'/', ..] => match pair_value(text, gap) {
            Some(value) => Some((Separator::Pair, value)),
            None => next_element(text, gap).map(|value| (Separator::Markup, value)),
        },
        rest if rest.starts_with(b"&gt;") && lead.ends_with(b"&lt;") => {
            Some((Separator::Markup, gap + 4))
        }
        _ => None,
    }
}

/// What may stand below a name.
fn next_line(text: &[u8], key: &Key, end: End) -> Option<(Separator, usize)> {
    let gap = end.gap;
    if end.indexed && is_section(text, key) {
        return Some((Separator::Colon, gap));
    }
    if end.closed
        && let Some(value) = form_data(text, key, gap).or_else(|| numbered(text, gap))
    {
        return Some((Separator::Answer, value));
    }
    if asked(text, key) {
        return Some((Separator::Answer, skip_space(text, gap, 4)));
    }
    pair_value(text, gap).map(|value| (Separator::Pair, value))
}

/// No sign: an option's argument, a pair, or a sentence.
fn words(text: &[u8], key: &Key, end: End, sign: u8) -> Option<(Separator, usize)> {
    let signs = matches!(sign, b'=' | b':' | b',' | b'\n' | b'\r');
    if end.tight() || signs && key.dashes == 0 {
        return None;
    }
    if key.dashes > 0 {
        return Some((Separator::Blank, end.gap));
    }
    if end.closed {
        return pair_value(text, end.gap).map(|value| (Separator::Pair, value));
    }
    Some((Separator::Prose, end.gap))
}

/// Where the body of a function starts that stands on the line of its head.
fn one_liner(text: &[u8], open: usize) -> Option<usize> {
    let near = &text[open..text.len().min(open + 80)];
    let close = memchr::memchr2(b')', b'\n', near)?;
    near[close..]
        .starts_with(b"), do: \"")
        .then_some(open + close + 6)
}

/// `setApiToken("…")`, `set_cookie(node(), …)`.
pub(super) fn is_setter(name: &[u8]) -> bool {
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

/// `iex> System.get_env("KEY")`, and the value on the next line; `secret #=> "…"`, as a debugger
/// prints it.
fn shown(text: &[u8], key: &Key, from: usize) -> Option<usize> {
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
pub(super) fn is_pair(text: &[u8], key: &Key, literal: &Literal) -> bool {
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
    let value = &text[literal.start..literal.end];
    let word = all(value, L | US | DASH);
    match first {
        b'{' => last == b'}' || !word,
        b'[' => last == b']' && !word,
        b'(' => last == b')',
        b',' => {
            // `"email","ann","password","…"`: fields in a row, with nothing between.
            let row = text[..open].ends_with(b",");
            last == b')' && !word || row && any(value, D) && !word && last != b']'
        }
        b'"' => any(value, D),
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
    // Other attributes of the same element, or members of the same object, may stand between.
    for _ in 0..4 {
        if let Some(next) = member_beside(text, at, end) {
            at = next;
            end = run_end_capped(text, at, ALPHA | US, 24);
            continue;
        }
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
    /// What exporters call the value of the name beside it.
    #[rustfmt::skip]
    static NAMES: WordList = WordList::new(&[
        "content", "default", "default_value", "defaultvalue", "plaintext", "secret_value",
        "secretstring", "secretvalue", "string", "val", "value",
    ]);
    if !NAMES.has_in_any_case(word) {
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

/// `$ echo $DB_PASSWORD`, `$ printenv API_TOKEN`, `$ env | grep TOKEN`: the answer is the value.
fn asked(text: &[u8], key: &Key) -> bool {
    let lead = line_lead(text, key.start, 160);
    let prompt = lead.trim_ascii_start();
    let typed = matches!(prompt.first(), Some(b'$' | b'#' | b'>' | b'%' | b'+'))
        || memchr::memmem::find(prompt, b"$ ").is_some();
    /// What prints a variable or the value of a key on the next line.
    #[rustfmt::skip]
    static COMMANDS: WordList = WordList::new(&[
        "GET ", "echo \"$", "echo $", "echo ${", "get ", "print $", "printenv ",
    ]);
    let end = key.start + key.name.len();
    let line = skip_space(text, end, 4);
    let word = line
        + text[line..]
            .iter()
            .take(200)
            .take_while(|b| b.is_ascii_graphic() || **b >= 0x80)
            .count();
    let alone = matches!(text.get(word), None | Some(b'\n' | b'\r')) && word >= line + 8;
    let generated = key.name.ends_with(b"gen.secret")
        || key.name.ends_with(b"SecretString")
        || key.name.ends_with(b"initial-password");
    typed
        && (COMMANDS.bytes().any(|command| lead.ends_with(command))
            || alone && prompt.contains(&b' '))
        || generated && alone
}

/// `"hset" "u" "password" "…"`: the arguments of a command as a monitor prints them.
fn quoted_row(text: &[u8], key: &Key) -> bool {
    let lead = &text[..key.start.saturating_sub(1)];
    lead.ends_with(b"\" ")
}

/// Members that stand between a name and its value.
#[rustfmt::skip]
static OTHERS: WordList = WordList::new(&[
    "category", "description", "enabled", "encrypted", "environment_scope", "hcl", "id", "kind",
    "masked", "protected", "raw", "sensitive", "type", "variable_type", "version",
]);

/// `"Type": "String", `: a member between a name and its value. Where the next one's name starts.
fn member_beside(text: &[u8], at: usize, end: usize) -> Option<usize> {
    if !OTHERS.has_in_any_case(&text[at..end]) {
        return None;
    }
    let (quote, colon) = Quote::open(text, end)?;
    let colon = skip_blanks(text, colon, 8);
    let value = skip_blanks(text, colon + 1, 8);
    if text.get(colon) != Some(&b':') {
        return None;
    }
    let after = match Quote::open(text, value) {
        Some((again, start)) if again == quote => quote.close(text, start).1.min(start + 160),
        _ => run_end_capped(text, value, ALNUM | DOT | DASH, 24),
    };
    let next = skip_space(text, after, 8);
    let next = skip_space(text, next + usize::from(text.get(next) == Some(&b',')), 80);
    Quote::open(text, next).map(|(_, start)| start)
}

/// Is the name the last part of a path in quotation marks?
fn is_path_end(text: &[u8], key: &Key) -> bool {
    let lead = &text[key.start.saturating_sub(96)..key.start];
    let path = |&&b: &&u8| is(b, WORD | DOT | DASH) || b == b'/';
    let length = lead.iter().rev().take_while(path).count();
    length > 0
        && lead.ends_with(b"/")
        && lead.len() > length
        && lead[lead.len() - length - 1] == b'"'
}

/// `"random_password" "db" {`: where the block of a resource begins.
fn label(text: &[u8], at: usize) -> Option<usize> {
    let (quote, start) = Quote::open(text, at)?;
    let end = run_end_capped(text, start, WORD | DASH, 64);
    let (close, after) = Quote::open(text, end)?;
    let brace = skip_blanks(text, after, 4);
    (close == quote && text.get(brace) == Some(&b'{')).then_some(brace)
}

/// `[users.secrets]`, alone on its line.
fn is_section(text: &[u8], key: &Key) -> bool {
    line_lead(text, key.start, 120)
        .trim_ascii_start()
        .starts_with(b"[")
}

/// `Content-Disposition: form-data; name="password"`: the part's text, behind an empty line.
fn form_data(text: &[u8], key: &Key, at: usize) -> Option<usize> {
    let lead = line_lead(text, key.start, 120);
    memchr::memmem::find(lead, b"form-data")?;
    let rest = &text[at..text.len().min(at + 200)];
    let crlf = memchr::memmem::find(rest, b"\r\n\r\n").map(|n| at + n + 4);
    crlf.or_else(|| memchr::memmem::find(rest, b"\n\n").map(|n| at + n + 2))
}

/// `3) "password"`, and `4) "…"` on the next line: what a hash's fields look like in a client.
fn numbered(text: &[u8], at: usize) -> Option<usize> {
    let line = skip_space(text, at, 16);
    let digits = run_end_capped(text, line, D, 6);
    let value = digits + 2;
    (digits > line && text[digits..].starts_with(b") \"")).then_some(value)
}

/// `<td>Password</td><td>…</td>`: where the text of the element behind the name's starts.
fn next_element(text: &[u8], at: usize) -> Option<usize> {
    let limit = text.len().min(at + 160);
    let mut at = at;
    for _ in 0..4 {
        if text.get(at) != Some(&b'<') {
            break;
        }
        at += memchr::memchr2(b'>', b'\n', &text[at..limit])? + 1;
        at = skip_space(text, at, 40);
    }
    (text[at - 1] == b'>' || text[at - 1].is_ascii_whitespace()).then_some(at)
}
