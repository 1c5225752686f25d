//! The value under a telling name, where marks stand round it: strings, lists, codes, elements of
//! markup.

use super::bare::bare_value;
use super::cell;
use super::dump::Line;
use super::headers;
use super::html;
use super::judge::{quoted_is_secret, token_is_secret};
use super::keys::KeyClass;
use super::literal::{
    Kind, Literal, Quote, Until, bare, concatenated, count_codes, decode_codes, marked,
    skip_blanks, skip_space,
};
use super::name::Key;
use super::nested;
use super::prose;
use super::rules::Rule;
use super::scan::Scan;
use super::secret::{JUDGED, secret};
use super::separator::{Separator, is_pair, is_setter};
use super::shape::*;
use super::statement;
use super::token::{broken_off, continuation};
use super::url::address;
use crate::word_list::WordList;

/// The value of a key whose class is known.
pub(super) fn judge_value(
    scan: &mut Scan,
    key: &Key,
    class: KeyClass,
    separator: Separator,
    from: usize,
    tight: bool,
) {
    let text = scan.text;
    let at = skip_blanks(text, from, 80);
    if separator == Separator::Heading {
        return html::column(scan, key, class);
    }
    let at = if in_words(separator) {
        at
    } else {
        below(text, at).unwrap_or(at)
    };
    if at >= text.len() || closes(text, at, key.quote) {
        return;
    }
    let call = separator == Separator::Comma && key.quote.is_none();
    // `"set-cookie" => ["sid=…"]`
    let listed =
        headers::is_cookie(key.name) && text[at] == b'[' && Quote::open(text, at + 1).is_some();
    let at = at + usize::from(listed);
    // Under a quoted name a value without marks is a number or a list of JSON.
    let marked_value =
        marked(text, at).is_some_and(|l| matches!(l.kind, Kind::Quoted(_) | Kind::Fenced));
    let data = key.quote.is_some() && !marked_value;
    if headers::is_cookie(key.name)
        && key.dashes == 0
        && !call
        && !data
        && !matches!(separator, Separator::Prose | Separator::Cell)
    {
        return headers::cookies(scan, key, at);
    }
    match class {
        KeyClass::Auth => headers::authorization(scan, key, separator, at, tight),
        KeyClass::Url => address(scan, key, at),
        _ if separator == Separator::Markup => markup(scan, key, class, at),
        _ if statement::compared(scan, class, at) => {}
        _ => {
            let at = behind_type(text, key, separator, at);
            if at < text.len() && !container(scan, key, class, separator, at) {
                plain_value(scan, key, class, separator, at, tight);
            }
        }
    }
}

/// Words stand between, or a table's line: what is on the next line is another thing.
fn in_words(separator: Separator) -> bool {
    matches!(
        separator,
        Separator::Prose | Separator::Blank | Separator::Cell
    )
}

/// Where a literal starts that the formatter put on a line of its own. A name on the next line is
/// none.
fn below(text: &[u8], at: usize) -> Option<usize> {
    if !matches!(text.get(at), Some(b'\n' | b'\r' | b'\\')) {
        return None;
    }
    let below = skip_space(text, at, 120);
    let opens = Quote::open(text, below).is_some()
        || matches!(text.get(below), Some(b'~' | b'<'))
        || text[below..].starts_with(b"string(");
    if below == at || !opens {
        return None;
    }
    let after = marked(text, below).map_or(below, |literal| literal.after);
    let next = skip_blanks(text, after, 8);
    (!matches!(text.get(next), Some(b':' | b'='))).then_some(below)
}

/// `<key>value</key>`
fn markup(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) {
    let text = scan.text;
    let child = [&b"<value>"[..], b"<string>"];
    let inner = child.iter().find(|open| text[at..].starts_with(open));
    let at = at + inner.map_or(0, |open| open.len());
    let limit = text.len().min(at + 4096);
    let (close, mark): (Option<usize>, &[u8]) = if text[..at].ends_with(b"&gt;") {
        (memchr::memmem::find(&text[at..limit], b"&lt;/"), b"&lt;/")
    } else {
        (memchr::memchr(b'<', &text[at..limit]), b"</")
    };
    scan.spend(close.unwrap_or(limit - at));
    let end = at + close.unwrap_or(0);
    let value = &text[at..end];
    if text[end..].starts_with(mark) && quoted_is_secret(class, key.name, value) {
        let lead = value.len() - value.trim_ascii_start().len();
        secret(
            scan,
            key,
            class,
            at + lead,
            at + value.trim_ascii_end().len(),
        );
    }
}

/// Skips what stands between a separator and its value: a type, the stars of `**Password:** …`,
/// Ecto's pin.
fn behind_type(text: &[u8], key: &Key, separator: Separator, at: usize) -> usize {
    if matches!(separator, Separator::Colon | Separator::Prose)
        && let Some(value) = typed(text, at)
    {
        return value;
    }
    match separator {
        // `!unsafe "…"`: a tag of YAML.
        Separator::Colon if text.get(at) == Some(&b'!') => {
            let tag = run_end_capped(text, at + 1, ALNUM, 16);
            let value = skip_blanks(text, tag, 4);
            if value > tag && Quote::open(text, value).is_some() {
                value
            } else {
                at
            }
        }
        Separator::Colon if key.quote.is_none() => {
            let stars = text[at..].iter().take(2);
            let stars = stars.take_while(|&&b| b == b'*').count();
            skip_blanks(text, at + stars, 8)
        }
        Separator::Compare if text.get(at) == Some(&b'^') => at + 1,
        _ => at,
    }
}

/// Lists, maps, blocks: values below the name. Says whether there is nothing else to judge.
fn container(scan: &mut Scan, key: &Key, class: KeyClass, separator: Separator, at: usize) -> bool {
    let text = scan.text;
    if class < KeyClass::Token || in_words(separator) {
        return false;
    }
    if text[at] == b'[' && !text[at..].starts_with(b"[-") {
        nested::elements(scan, key, class, at);
        return false;
    }
    if text[at] == b'{' && nested::login(scan, key, at) {
        return true;
    }
    let named = matches!(
        separator,
        Separator::Colon | Separator::Arrow | Separator::Equals
    );
    if named && matches!(text[at], b'{' | b'%' | b'#') && nested::members(scan, key, class, at) {
        return text[at] != b'{' || separator != Separator::Equals;
    }
    if let Some(block) = block_scalar(text, at, separator) {
        scalar(scan, key, class, block);
        return true;
    }
    if separator == Separator::Colon && matches!(text[at], b'\n' | b'\r') {
        if !below_name(scan, key, class, at) {
            nested::block(scan, key, class, at);
        }
        return true;
    }
    false
}

/// A block scalar's first line, from its text on.
fn scalar(scan: &mut Scan, key: &Key, class: KeyClass, start: usize) {
    let text = scan.text;
    let rest = &text[start..text.len().min(start + 4096)];
    let end = rest.iter().position(|&b| b == b'\n' || b == b'\r');
    let line = &rest[..end.unwrap_or(rest.len())];
    scan.spend(2 * line.len());
    let quoted = |b: &u8| matches!(b, b'"' | b'\'' | b'\\');
    if quoted_is_secret(class, key.name, line) && !line.iter().any(quoted) {
        secret(scan, key, class, start, start + line.len());
    }
}

/// A plain word on the next line, alone and deeper than its name, or below a line of dashes.
fn below_name(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) -> bool {
    let text = scan.text;
    let lead = line_lead(text, key.start, 160);
    if key.quote.is_some() {
        return false;
    }
    if lead == b" " && changed_lines(scan, key, class, at) {
        return true;
    }
    if !lead.iter().all(|&b| matches!(b, b' ' | b'-' | b'+')) {
        return prose::below(scan, key, class, at);
    }
    let mut line = at
        + if text[at..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
    let ruled = text[line.min(text.len())..].starts_with(b"----\n");
    if ruled {
        line += 5;
    }
    let start = skip_blanks(text, line, 80);
    if !ruled && start - line <= lead.len() {
        return false;
    }
    let end = bare(text, start, Until::Blank).end;
    let alone = matches!(text.get(end), None | Some(b'\n' | b'\r'));
    let value = &text[start..end];
    if !alone || value.ends_with(b":") || value.starts_with(b"-") && !ruled {
        return false;
    }
    scan.spend(4 * value.len());
    if cell::is_secret(class, value, ruled) {
        secret(scan, key, class, start, end);
    }
    true
}

/// `-old` and `+new` on the lines below a name: a word diff for programs.
fn changed_lines(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) -> bool {
    let text = scan.text;
    let mut line = at + 1;
    let mut found = false;
    for sign in [b'-', b'+'] {
        if text.get(line) != Some(&sign) {
            continue;
        }
        let end = bare(text, line + 1, Until::Blank).end;
        if !matches!(text.get(end), None | Some(b'\n')) {
            break;
        }
        if cell::is_secret(class, &text[line + 1..end], true) {
            secret(scan, key, class, line + 1, end);
            found = true;
        }
        line = end + 1;
    }
    found
}

/// A value with marks round it, or a word.
fn plain_value(
    scan: &mut Scan,
    key: &Key,
    class: KeyClass,
    separator: Separator,
    at: usize,
    tight: bool,
) {
    let text = scan.text;
    if text[at..].starts_with(b"[-") || text[at..].starts_with(b"{+") {
        return changed_words(scan, key, class, at);
    }
    let Some(literal) = marked(text, at).or_else(|| wrapped(text, at)) else {
        let class = lowered(class, separator);
        return bare_value(scan, key, class, separator, at, tight);
    };
    // Judging reads a value several times.
    scan.spend(JUDGED * (literal.end - literal.start));
    // As above, with a type, a call or letters before the mark: `"password: $=", …`.
    if let Kind::Quoted(quote) = literal.kind
        && key.quote != Some(quote)
        && follows_string(text, literal.start)
    {
        return;
    }
    match literal.kind {
        Kind::Codes => codes(scan, key, class, literal),
        Kind::Quoted(_) | Kind::Fenced => quoted(scan, key, class, separator, at, literal),
        Kind::Bare => {}
    }
}

/// `[-old-]{+new+}`: a word diff's two values.
fn changed_words(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) {
    let text = scan.text;
    let mut at = at;
    for (open, close) in [(&b"[-"[..], &b"-]"[..]), (b"{+", b"+}")] {
        if !text[at..].starts_with(open) {
            continue;
        }
        let start = at + open.len();
        let near = &text[start..text.len().min(start + 512)];
        let Some(length) = memchr::memmem::find(near, close) else {
            return;
        };
        scan.spend(length);
        let value = near[..length].trim_ascii();
        let plain = !value.contains(&b'\n') && !value.contains(&b' ');
        if plain && cell::is_secret(class, value, true) {
            let (from, to) = cell::trim(text, start, start + length);
            secret(scan, key, class, from, to);
        }
        at = start + length + close.len();
    }
}

/// In a comparison only what looks like a secret is one.
fn lowered(class: KeyClass, separator: Separator) -> KeyClass {
    match separator {
        Separator::Compare => class.min(KeyClass::Token),
        _ => class,
    }
}

fn quoted(
    scan: &mut Scan,
    key: &Key,
    class: KeyClass,
    separator: Separator,
    at: usize,
    literal: Literal,
) {
    let text = scan.text;
    let value = &text[literal.start..literal.end];
    // "password "x"" is prose, `@password "x"` an attribute of a module.
    let attribute = key.start > 0 && text[key.start - 1] == b'@';
    if separator == Separator::Prose && !attribute && !named_in_words(key, text[at], value) {
        return;
    }
    if line_lead(text, key.start, 40).trim_ascii() == b"alias" {
        return;
    }
    // `"…password, value","name":"…"`: the next member's name is no value.
    let listed = matches!(separator, Separator::Pair | Separator::Comma);
    if listed && text.get(skip_blanks(text, literal.after, 8)) == Some(&b':') {
        return;
    }
    let setter = key.quote.is_none() && is_setter(key.name);
    if separator == Separator::Comma && key.dashes == 0 && !setter && !is_pair(text, key, &literal)
    {
        return;
    }
    let class = match separator {
        Separator::Compare if !(any(value, D) && value.len() >= 6) => class.min(KeyClass::Token),
        _ => class,
    };
    let whole = concatenated(text, literal);
    let goes_on = whole.end > literal.end;
    if quoted_is_secret(class, key.name, value)
        || goes_on && quoted_is_secret(class, key.name, &text[literal.end..whole.end])
    {
        secret(
            scan,
            key,
            class,
            whole.start,
            torn_end(text, whole.start, whole.end),
        );
        // `"old" -> "new"`, as a plan shows a change.
        let arrow = skip_blanks(text, whole.after, 4);
        let next = skip_blanks(text, arrow + 2, 4);
        if text[arrow.min(text.len())..].starts_with(b"->")
            && let Some(next) = marked(text, next).filter(|l| matches!(l.kind, Kind::Quoted(_)))
            && quoted_is_secret(class, key.name, &text[next.start..next.end])
        {
            secret(scan, key, class, next.start, next.end);
        }
    }
}

/// The end of a literal that a terminal's edge breaks.
fn torn_end(text: &[u8], start: usize, end: usize) -> usize {
    if end - start < 12 || !matches!(text.get(end), Some(b'\n')) {
        return end;
    }
    match continuation(text, end, STD64 | URL64, false) {
        Some(next) => run_end_capped(text, next, STD64 | URL64, 400),
        None => broken_off(text, start, end).unwrap_or(end),
    }
}

/// `password "hunter2"` in a sentence: with a digit, or a phrase of words.
fn named_in_words(key: &Key, mark: u8, value: &[u8]) -> bool {
    if key.name.eq_ignore_ascii_case(b"pass") {
        return false;
    }
    if mark == b'`' {
        // "the token `end`" names a thing.
        return count(value, D) >= 3 && !value.contains(&b' ') && token_is_secret(value);
    }
    let words = value.iter().filter(|&&b| b == b' ').count();
    any(value, D) || contains_ci(key.name, b"phrase") && words >= 2
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

/// Does a quotation mark at `at` end the string in which the key stands, rather than begin a value?
/// `"password: ", …`, `"'password' => ", …`
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
    /// Functions and constructors that give back, in another form, what they are given.
    #[rustfmt::skip]
    static WRAPPERS: WordList = WordList::new(&[
        "a2b", "b64", "bytes", "charlist", "decode", "from", "fromhex", "just", "new", "of", "ok",
        "raw", "secretstr", "sensitive", "some", "to_atom", "unhex", "wrap",
    ]);
    let known = WRAPPERS.bytes().any(|w| {
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
    let list = &scan.text[literal.start..literal.end];
    let secret = match decode_codes(list, &mut decoded) {
        Some(()) => quoted_is_secret(class, key.name, &decoded),
        None => is_raw_key(class, scan.text, &literal),
    };
    if secret {
        scan.add(literal.start, literal.end, Rule::Integers, 1);
        scan.value_until = literal.end;
    }
    scan.scratch = decoded;
}

/// Codes that spell no ASCII text: a key of random bytes, or a password with letters of another
/// alphabet. Numbers stand in lists, too: `tokens: [12, 300]`.
fn is_raw_key(class: KeyClass, text: &[u8], literal: &Literal) -> bool {
    let binary = text[literal.after..].starts_with(b">>") || text[..literal.after].ends_with(b">>");
    let least = match class {
        KeyClass::Field => 1,
        KeyClass::Password | KeyClass::Secret if binary => 4,
        KeyClass::Password => 6,
        KeyClass::Token if binary => 12,
        _ => return false,
    };
    let list = &text[literal.start..literal.end];
    let limit = if binary { 255 } else { 0x10_ffff };
    count_codes(list, limit).is_some_and(|codes| codes >= least)
}

/// A list of codes without a name: what it spells.
pub(crate) fn code_list(scan: &mut Scan, at: usize, spelled: &mut Vec<u8>) -> Vec<Line> {
    let text = scan.text;
    spelled.clear();
    let first = at + if text[at] == b'[' { 1 } else { 2 };
    if at < scan.value_until || !is_at(text, first, D) {
        return Vec::new();
    }
    let Some(literal) = marked(text, at).filter(|l| l.kind == Kind::Codes) else {
        return Vec::new();
    };
    let (start, end) = (literal.start, literal.end);
    scan.spend(end - start);
    if end - start < 30 || decode_codes(&text[start..end], spelled).is_none() {
        return Vec::new();
    }
    let shown = spelled.len();
    vec![Line { shown, start, end }]
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
    fn keys_of_raw_bytes() {
        redacts("private_key: <<§22, 12, 64, 200, 17, 3, 99, 150, 7, 250, 31, 90, 1, 2, 3, 180§>>");
        redacts("#{secret_key => <<§22,12,64,200,17,3,99,150,7,250,31,90,1,2,3,180§>>,n => 1}");
        redacts("secret: <<§22, 12, 64, 200, 17§, ...>>");
        redacts("password: <<§104, 117, 110, 116, 101, 114, 50, 255§>>");
        redacts("#{password => [§112,228,115,115,119,246,114,116,45,8364§]}");
        clean("token: <<1, 2, 3>>");
        clean("tokens: [12, 300, 4000, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]");
        clean("password: [8, 12]");
        clean("secret: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
    }

    #[test]
    fn codes_that_open_an_account() {
        redacts("backup_codes: [\"§1234-5678§\", \"§8765-4321§\"]");
        redacts("{\"recoveryCodes\":[\"§a1b2c-3d4e5§\",\"§f6g7h-8i9j0§\"]}");
        redacts("recovery_codes:\n  - §1234-5678§\n  - §8765-4321§\n");
        redacts("verification_code=§482913§&user=bob");
        redacts("{\"otp\":\"§482913§\"}");
        redacts("{\"pin\":\"§1234§\"}");
        redacts("pin=§4711§\n");
        for text in [
            "{\"pin\":17}",
            "{\"pin\": 4, \"mode\": \"out\"}",
            "pin=13",
            "pin: 1234",
            "pin = 1234",
            "{\"pin\":\"gpio17\"}",
            "{\"pin_code\":\"560001\"}",
            "led_pin=1234",
            "{\"otp\":\"27.2\"}",
            "{\"otp\":\"maint-27\"}",
            "{\"verification_code\":\"pending\"}",
            "verification_code: \"Enter the 6 digit code\"",
            "verification_code: 404",
            "recovery_codes: [\"Download\", \"Print\"]",
            "backup_codes: generate_codes(10)",
            "assert verification_code == 123456",
            "recovery_code: \"2026-11-23\"",
            "exit_code=1234 status_code: \"2004-2005\"",
        ] {
            clean(text);
        }
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
