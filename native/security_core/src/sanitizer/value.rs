//! The value under a telling name, where marks stand round it: strings, lists, codes, elements of markup.

use super::bare::bare_value;
use super::dump::Line;
use super::headers;
use super::judge::quoted_is_secret;
use super::key::Key;
use super::keys::KeyClass;
use super::literal::{
    Kind, Literal, Quote, concatenated, decode_codes, marked, skip_blanks, skip_space,
};
use super::rules::Rule;
use super::scan::Scan;
use super::separator::{Separator, is_pair, is_setter};
use super::shape::*;
use super::url::address;

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

/// A list of codes without a name: what it spells.
pub(crate) fn code_list(scan: &mut Scan, at: usize, spelled: &mut Vec<u8>) -> Vec<Line> {
    let text = scan.text;
    spelled.clear();
    if at < scan.value_until {
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
