//! Credentials in URLs: in front of the host, and in the paths of incoming webhooks.

use super::families::is_uuid;
use super::judge::is_placeholder;
use super::literal::{Kind, Quote, Until, bare, marked};
use super::name::Key;
use super::rules::Rule;
use super::scan::Scan;
use super::shape::*;
use crate::word_list::WordList;

/// The longest authority part that is followed.
const MAX_AUTHORITY: usize = 1024;

/// Hosts (or their ends) and the beginnings of paths behind which the rest of the path is the
/// secret.
#[rustfmt::skip]
static WEBHOOKS: &[(&[u8], &[u8])] = &[
    (b"hooks.slack.com", b"/services/"), (b"hooks.slack.com", b"/workflows/"), (b"hooks.slack.com", b"/triggers/"), (b"hooks.slack-gov.com", b"/services/"),
    (b"discord.com", b"/api/webhooks/"), (b"discordapp.com", b"/api/webhooks/"), (b"ptb.discord.com", b"/api/webhooks/"), (b"canary.discord.com", b"/api/webhooks/"),
    (b".webhook.office.com", b"/webhookb2/"), (b"outlook.office.com", b"/webhook/"), (b"outlook.office365.com", b"/webhook/"),
    (b"hooks.zapier.com", b"/hooks/catch/"), (b"hooks.zapier.com", b"/hooks/standard/"), (b"hook.integromat.com", b"/"), (b".make.com", b"/"), (b"maker.ifttt.com", b"/trigger/"),
    (b"events.pagerduty.com", b"/integration/"), (b"alert.victorops.com", b"/integrations/"), (b"chat.googleapis.com", b"/v1/spaces/"), (b"webhook.site", b"/"), (b".pipedream.net", b"/"),
    (b"oapi.dingtalk.com", b"/robot/send"), (b"open.feishu.cn", b"/open-apis/bot/"), (b"qyapi.weixin.qq.com", b"/cgi-bin/webhook/"), (b"hooks.airtable.com", b"/workflows/"), (b"api.opsgenie.com", b"/v1/json/"),
    (b"hc-ping.com", b"/"), (b"nosnch.in", b"/"), (b"ntfy.sh", b"/"), (b"api.telegram.org", b"/bot"),
];

/// Schemes of databases and of what is like them.
#[rustfmt::skip]
static DATABASES: WordList = WordList::new(&[
    "amqp", "amqps", "bolt", "cassandra", "clickhouse", "cockroachdb", "couchbase", "ecto",
    "jdbc:mysql", "jdbc:postgresql", "kafka", "mariadb", "memcached", "mongodb", "mongodb+srv",
    "mssql", "mysql", "mysql2", "myxql", "nats", "neo4j", "postgis", "postgres", "postgresql",
    "redis", "rediss", "sqlite", "sqlserver", "tds", "valkey",
]);

/// `://` stands at `at`.
pub(crate) fn plain(scan: &mut Scan, at: usize) {
    if at >= scan.url_end {
        url(scan, at, at + 3);
    }
}

/// `:\/\/` stands at `at`: a URL in JSON with escaped slashes.
pub(crate) fn escaped(scan: &mut Scan, at: usize) {
    if at >= scan.url_end && scan.text[at..].starts_with(b":\\/\\/") {
        url(scan, at, at + 5);
    }
}

/// `://` stands at `at` (or `:\/\/`): looks at what follows.
fn url(scan: &mut Scan, at: usize, authority: usize) {
    let text = scan.text;
    let lead = text[..at].iter().rev().take(24);
    let letter = |b: &&u8| is(**b, ALNUM | DASH) || matches!(**b, b'+' | b'.');
    let scheme_start = at - lead.take_while(letter).count();
    let scheme_start = scheme_start + super::scan::escape_rest(text, scheme_start);
    let scheme = &text[scheme_start..at];
    let parts = Parts::of(text, authority);
    scan.spend(2 * (parts.end - authority));
    let slash = parts.first_slash.unwrap_or(parts.end);
    let Some(host) = parts.last_at else {
        scan.url_end = scan.url_end.max(slash.min(authority + 64));
        return webhook(scan, authority, slash, scheme);
    };
    // `http://host:8080/@name` and `https://host/@name` carry no credentials; a password with a
    // slash follows a colon.
    if slash < host {
        match parts.first_colon.filter(|&c| c < slash) {
            Some(colon) if !all(&text[colon + 1..slash], D) => {}
            _ => return webhook(scan, authority, slash, scheme),
        }
    }
    if may_be_host(text, host + 1) {
        credentials(scan, authority, host, parts.first_colon, scheme);
    }
}

/// The stretch that can hold credentials and a host, with the places that matter in it.
struct Parts {
    end: usize,
    last_at: Option<usize>,
    first_colon: Option<usize>,
    first_slash: Option<usize>,
}

impl Parts {
    fn of(text: &[u8], authority: usize) -> Parts {
        let limit = text.len().min(authority + MAX_AUTHORITY);
        let mut first_at = None;
        let mut parts = Parts {
            end: limit,
            last_at: None,
            first_colon: None,
            first_slash: None,
        };
        for (i, &b) in text[authority..limit].iter().enumerate() {
            let i = authority + i;
            match b {
                b'@' => {
                    if first_at.is_none() || first_slash_after(text, parts.last_at, i).is_none() {
                        parts.last_at = Some(i);
                    }
                    first_at.get_or_insert(i);
                }
                b':' => {
                    parts.first_colon.get_or_insert(i);
                }
                b'/' | b'?' | b'#' if first_at.is_some() => {
                    parts.end = i;
                    break;
                }
                b'/' => {
                    parts.first_slash.get_or_insert(i);
                }
                b'\\' if text.get(i + 1) == Some(&b'/') => {}
                b if b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | 0x7f) => {
                    parts.end = i;
                    break;
                }
                _ => {}
            }
        }
        parts
    }
}

/// May a host, or what stands for one, begin at `at`?
fn may_be_host(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        None | Some(b'[' | b'.' | b'/' | b'$' | b'*' | b'_' | b'%' | b'{' | b'(' | b':') => true,
        Some(&b) => is(b, ALNUM) || b.is_ascii_whitespace() || matches!(b, b'"' | b'\''),
    }
}

/// A user and a password, or a token in their place, before the at sign of a host.
fn credentials(
    scan: &mut Scan,
    authority: usize,
    host: usize,
    colon: Option<usize>,
    scheme: &[u8],
) {
    let text = scan.text;
    let rule = match DATABASES.has_in_any_case(scheme) {
        true => Rule::DbUrl,
        false => Rule::UrlAuth,
    };
    let colon = colon.filter(|&c| c < host);
    let (user, password) = match colon {
        Some(colon) => ((authority, colon), (colon + 1, host)),
        None => ((authority, host), (host, host)),
    };
    let secret = &text[password.0..password.1];
    let name = &text[user.0..user.1];
    if !secret.is_empty()
        && !is_placeholder(secret)
        && !is_documentation(name, secret)
        && !matches!(secret.first(), Some(b'#' | b'{' | b'<'))
        && !secret.starts_with(b"${")
    {
        scan.add(password.0, password.1, rule, 1);
        scan.value_until = scan.value_until.max(password.1);
        scan.url_end = scan.url_end.max(password.1);
    }
    // A token may stand where the user's name does: `https://TOKEN@host`,
    // `https://TOKEN:x-oauth-basic@host`.
    let tokenish = looks_random(name, true)
        || name.len() >= 20 && all(name, HEX_ANY) && any(name, D)
        || is_uuid(name);
    if tokenish
        && !is_placeholder(name)
        && (secret.len() < 3 || secret == b"x-oauth-basic" || colon.is_none())
    {
        scan.add(user.0, user.1, rule, 1);
    }
}

fn first_slash_after(text: &[u8], from: Option<usize>, to: usize) -> Option<usize> {
    let from = from?;
    text[from..to]
        .iter()
        .position(|&b| b == b'/')
        .map(|offset| from + offset)
}

/// What documentation calls a user.
#[rustfmt::skip]
static USERS: WordList = WordList::new(&[
    "", "account", "db_user", "dbuser", "foo", "login", "me", "name", "u", "user", "user1",
    "userid", "username", "usr",
]);

/// What documentation has for a password.
#[rustfmt::skip]
static PASSWORDS: WordList = WordList::new(&[
    "api_key", "bar", "db_pass", "db_password", "dbpass", "mypass", "p", "pass", "pass1", "passw",
    "passwd", "password", "pw", "pwd", "secret", "token",
]);

/// `user:password@`, `USER:PASS@`: how documentation writes it.
fn is_documentation(user: &[u8], password: &[u8]) -> bool {
    PASSWORDS.has_in_any_case(password) && (USERS.has_in_any_case(user) || all(password, U | US))
}

fn webhook(scan: &mut Scan, authority: usize, slash: usize, scheme: &[u8]) {
    let text = scan.text;
    if !starts_ci(scheme, b"http") && !scheme.is_empty()
        || slash <= authority
        || slash - authority > 80
    {
        return;
    }
    let host = &text[authority..slash];
    let Some((_, path)) = WEBHOOKS.iter().find(|(known, path)| {
        (host.eq_ignore_ascii_case(known)
            || known[0] == b'.'
                && host.len() > known.len()
                && host[host.len() - known.len()..].eq_ignore_ascii_case(known))
            && text[slash..].starts_with(path)
    }) else {
        return;
    };
    let start = slash + path.len();
    let end = run_end_capped(
        text,
        start,
        URL64 | DOT | PCT | EQ | TILDE | B64 | COLON,
        2048,
    );
    // `?key=…&token=…` belongs to it.
    let end = match text.get(end) {
        Some(b'?') => {
            end + text[end..]
                .iter()
                .take(2048)
                .position(|&b| {
                    b <= b' '
                        || matches!(
                            b,
                            b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`' | b')' | b']' | b'}'
                        )
                })
                .unwrap_or(text.len() - end)
        }
        Some(b'@') if text[end..].starts_with(b"@") => {
            run_end_capped(text, end + 1, URL64 | DOT | PCT | B64, 2048)
        }
        _ => end,
    };
    scan.spend(end - start);
    let tail = &text[start..end];
    if tail.len() >= 12 && any(tail, D) && !is_placeholder(tail) {
        scan.add(start, end, Rule::Webhook, 2);
        scan.url_end = end;
    }
}

/// `jdbc:oracle:thin:user/password@host`, from `hin:` on.
pub(crate) fn oracle(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if !text[..at].ends_with(b":oracle:t") {
        return;
    }
    let user = run_end_capped(text, at + 4, WORD | DASH, 64);
    if text.get(user) != Some(&b'/') {
        return;
    }
    let rest = &text[user + 1..text.len().min(user + 129)];
    let stop = rest
        .iter()
        .position(|&b| b <= b' ' || matches!(b, b'"' | b'\'' | b'\\' | b'<' | b'>'));
    let rest = &rest[..stop.unwrap_or(rest.len())];
    if let Some(host) = memchr::memrchr(b'@', rest).filter(|&host| !is_placeholder(&rest[..host])) {
        scan.add(user + 1, user + 1 + host, Rule::DbUrl, 1);
    }
}

/// `user:password@tcp(host:3306)/db`, as Go's driver of MySQL has it, from the at sign on.
pub(crate) fn mysql(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if !text[at..].starts_with(b"@tcp(") && !text[at..].starts_with(b"@unix(") {
        return;
    }
    let lead = &text[at.saturating_sub(160)..at];
    scan.spend(lead.len());
    let outside = |b: &u8| *b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>');
    let word = &lead[lead.iter().rposition(outside).map_or(0, |i| i + 1)..];
    if let Some(colon) = memchr::memchr(b':', word).filter(|&c| !is_placeholder(&word[c + 1..])) {
        scan.add(at - word.len() + colon + 1, at, Rule::DbUrl, 1);
    }
}

/// A webhook's address of a host that is not known: the last part of its path, if it looks random.
pub(super) fn address(scan: &mut Scan, key: &Key, from: usize) {
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
