//! The walk over a text: hits of the prefilter are confirmed one after the other, findings are merged.
//!
//! Linear time is kept three ways: a hit inside a stretch that an earlier one has dealt with is skipped, every look-ahead has
//! a cap, and what is read is counted against a budget for each window. A window that spends its budget is redacted word by
//! word, and the answer says so.

use super::families::{FAMILIES, MARKED};
use super::keys::{KeyClass, classify};
use super::literal::{Kind, Quote, joined};
use super::prefilter::{BATCH, Batch, Hit, Piece, Prefilter, long_runs};
use super::rules::Rule;
use super::shape::*;
use super::{commands, contexts, dump, headers, pem, runs, url, view};
use std::collections::HashSet;

const _: () = assert!(BATCH >= 64);

/// A finding before it is merged and mapped: `rank` says whose replacement wins where two overlap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) rule: u16,
    pub(crate) rank: u8,
}

/// Something invisible stands in the text: it must be read as a reader sees it.
pub(crate) struct Unseen;

/// The state of one walk.
pub(crate) struct Scan<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) found: Vec<Found>,
    fields: &'t HashSet<Vec<u8>>,
    /// The end of the name that was looked at last; hits inside it are the same name.
    pub(crate) key_end: usize,
    /// Keys before this stand inside a value that goes anyway.
    pub(crate) value_until: usize,
    /// Token prefixes before this stand inside a token that was dealt with.
    pub(crate) token_until: usize,
    /// Families whose last candidate failed, and how far its run was read.
    rejected: [(u16, usize); 8],
    pub(crate) jwt_until: usize,
    pub(crate) pem_until: usize,
    /// A private key's BEGIN was seen, its END not yet.
    pub(crate) pem_open: bool,
    pub(crate) jwk_until: usize,
    pub(crate) dump_until: usize,
    pub(crate) url_end: usize,
    /// Reused for decoded lists of codes.
    pub(crate) scratch: Vec<u8>,
    work: usize,
    /// As `work`, over all windows.
    pub(crate) total_work: usize,
    pub(crate) over_budget: bool,
}

/// Work is counted for windows of this size.
const WINDOW: usize = 64 * 1024;
/// How many bytes may be read for each byte of a window, and what a small text may always spend.
const READS_PER_BYTE: usize = 32;
const SMALL: usize = 64 * 1024;

impl<'t> Scan<'t> {
    pub(crate) fn new(text: &'t [u8], fields: &'t HashSet<Vec<u8>>) -> Scan<'t> {
        Scan {
            text,
            found: Vec::new(),
            fields,
            key_end: 0,
            value_until: 0,
            token_until: 0,
            rejected: [(u16::MAX, 0); 8],
            jwt_until: 0,
            pem_until: 0,
            pem_open: false,
            jwk_until: 0,
            dump_until: 0,
            url_end: 0,
            scratch: Vec::new(),
            work: 0,
            total_work: 0,
            over_budget: false,
        }
    }

    /// Counts bytes that were read beyond the prefilter's own pass.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.work += bytes + 8;
        self.total_work += bytes + 8;
    }

    pub(crate) fn add(&mut self, start: usize, end: usize, rule: Rule, rank: u8) {
        self.add_numbered(start, end, rule as u16, rank);
    }

    pub(crate) fn add_numbered(&mut self, start: usize, end: usize, rule: u16, rank: u8) {
        let start = start + escape_rest(self.text, start);
        if start < end && end <= self.text.len() {
            self.found.push(Found {
                start,
                end,
                rule,
                rank,
            });
        }
    }

    /// What a name says, the configured names included.
    pub(crate) fn class_of(&self, name: &[u8]) -> KeyClass {
        if !self.fields.is_empty() && self.fields.contains(&normal(name)) {
            KeyClass::Field
        } else {
            classify(name)
        }
    }
}

/// How many bytes at `start` belong to an escape that begins before it: a finding never cuts one, so that strings stay valid.
pub(crate) fn escape_rest(text: &[u8], start: usize) -> usize {
    if start == 0 || text[start - 1] != b'\\' {
        return 0;
    }
    match text.get(start) {
        Some(b'n' | b't' | b'r' | b'b' | b'f') => 1,
        Some(b'u') if text.len() >= start + 5 && all(&text[start + 1..start + 5], HEX_ANY) => 5,
        _ => 0,
    }
}

/// A field name without case and separators.
pub(crate) fn normal(name: &[u8]) -> Vec<u8> {
    name.iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect()
}

/// What a piece stands for. Families and marked tokens come first, so that the more specific rule is asked first.
#[derive(Clone, Copy)]
enum Anchor {
    /// A family, and how far into its prefix the piece stands.
    Family(u16, u8),
    Marked(u16, u8),
    Key,
    Bearer,
    Basic,
    Url,
    EscapedUrl,
    Oracle,
    Dump,
    PemBegin,
    PemEnd,
    Wrapped,
    Der,
    Putty,
    Jwk,
    Jwt,
    Telegram,
    Entra,
    Option,
    IdentifiedBy,
    PgPass,
    Codes,
    Invisible,
}

/// The prefilter and what its hits mean.
pub(crate) struct Engine {
    filter: Prefilter,
    anchors: Vec<Anchor>,
    /// Normalised names that the configuration adds.
    pub(crate) fields: HashSet<Vec<u8>>,
}

impl Engine {
    pub(crate) fn new(fields: HashSet<Vec<u8>>, field_names: &[String]) -> Engine {
        let mut anchors = Vec::new();
        let mut pieces = Vec::new();
        let mut exact = |bytes: &[u8], anchor: Anchor| {
            pieces.push(Piece::exact(bytes, anchors.len() as u16));
            anchors.push(anchor);
        };
        for (i, family) in FAMILIES
            .iter()
            .enumerate()
            .filter(|(_, f)| f.prefix.len() > 2)
        {
            let offset = rarest(family.prefix.as_bytes());
            exact(
                first_four(&family.prefix.as_bytes()[offset..]),
                Anchor::Family(i as u16, offset as u8),
            );
        }
        for (i, marked) in MARKED.iter().enumerate() {
            let offset = rarest(marked.marker.as_bytes());
            exact(
                first_four(&marked.marker.as_bytes()[offset..]),
                Anchor::Marked(i as u16, offset as u8),
            );
        }
        exact(b"://", Anchor::Url);
        exact(b":\\/\\", Anchor::EscapedUrl);
        exact(b"hin:", Anchor::Oracle);
        exact(b"000:", Anchor::Dump);
        exact(b"-BEG", Anchor::PemBegin);
        exact(b"- BE", Anchor::PemBegin);
        exact(b"-END", Anchor::PemEnd);
        exact(b"LS0t", Anchor::Wrapped);
        for der in [
            &b"MIIE"[..],
            b"MIIJ",
            b"MIIB",
            b"MIIC",
            b"MIIG",
            b"MIIF",
            b"MIIH",
            b"MHcC",
            b"MHQC",
            b"MC4C",
            b"MIGH",
            b"MIGE",
            b"MIHc",
            b"MIG2",
            b"MIGk",
            b"MIHu",
            b"MFEC",
            b"b3Bl",
        ] {
            exact(der, Anchor::Der);
        }
        exact(b"Line", Anchor::Putty);
        exact(b"kty", Anchor::Jwk);
        exact(b"eyJ", Anchor::Jwt);
        exact(b" -p", Anchor::Option);
        exact(b" -u ", Anchor::Option);
        exact(b"\"-u\"", Anchor::Option);
        exact(b"-use", Anchor::Option);
        exact(b" -a ", Anchor::Option);
        exact(b" -P ", Anchor::Option);
        exact(b" -w ", Anchor::Option);
        // The usual ports of PostgreSQL and of its poolers.
        for port in [&b":*:"[..], b":543", b":643"] {
            exact(port, Anchor::PgPass);
        }
        for mark in [
            &b"\x1b"[..],
            b"\\e[",
            b"001b",
            b"001B",
            b"\\x1b",
            b"\\x1B",
            b"\\033",
            b"\xc2\xa0",
            b"\xc2\xad",
            b"\xe2\x81\xa0",
            b"\xef\xbb\xbf",
        ] {
            exact(mark, Anchor::Invisible);
        }
        let mut masked = |bytes: &[u8], mask: &[u8], anchor: Anchor| {
            pieces.push(Piece::masked(bytes, mask, anchors.len() as u16));
            anchors.push(anchor);
        };
        masked(b"\xe2\x80\x88", b"\xff\xff\xf8", Anchor::Invisible);
        masked(b"\xe2\x80\xa8", b"\xff\xff\xf8", Anchor::Invisible);
        masked(b"0Q~", b"\xf0\xff\xff", Anchor::Entra);
        let pagerduty = FAMILIES.iter().position(|f| f.prefix == "u+").unwrap_or(0) as u16;
        masked(b"u+A", b"\xff\xff\xc0", Anchor::Family(pagerduty, 0));
        masked(b"u+0", b"\xff\xff\xf0", Anchor::Family(pagerduty, 0));
        masked(b"[00", b"\xff\xf0\xf0", Anchor::Codes);
        masked(b"<<00", b"\xff\xff\xf0\xf0", Anchor::Codes);
        let mut any_case = |bytes: &[u8], anchor: Anchor| {
            pieces.push(Piece::any_case(bytes, anchors.len() as u16));
            anchors.push(anchor);
        };
        for word in [
            &b"pass"[..],
            b"pwd",
            b"secr",
            b"toke",
            b"key",
            b"auth",
            b"cred",
            b"salt",
            b"cook",
            b"dsn",
            b"_pat",
            b"_sas",
            b"webh",
            b"hmac",
            b"nonc",
            b"mnem",
            b"phra",
            b"pswd",
            b"jwt",
            b"sig=",
            b"ure=",
            b"ode=",
            b"ctio",
            b"rinf",
            b"gner",
            b"comb",
            b"pw=",
            b"pw:",
        ] {
            any_case(word, Anchor::Key);
        }
        for field in field_names {
            let offset = rarest(field.as_bytes());
            any_case(first_four(&field.as_bytes()[offset..]), Anchor::Key);
        }
        any_case(b":aa", Anchor::Telegram);
        any_case(b"bear", Anchor::Bearer);
        any_case(b"asic", Anchor::Basic);
        any_case(b"by '", Anchor::IdentifiedBy);
        any_case(b"by \"", Anchor::IdentifiedBy);
        Engine {
            filter: Prefilter::new(pieces),
            anchors,
            fields,
        }
    }

    /// Walks over the scan's text; when something invisible is in it and `seen` is not set, gives up at once, for the caller to make
    /// the view. The scan is the caller's, for moving one costs as much as walking over a short text.
    pub(crate) fn walk(&self, scan: &mut Scan, seen: bool) -> Result<(), Unseen> {
        self.drive(scan, seen, false)
    }

    /// Every word of eight bytes and more, for a text that can't be judged.
    pub(crate) fn words(&self, text: &[u8]) -> Vec<Found> {
        let mut scan = Scan::new(text, &self.fields);
        redact_words(&mut scan, 0, text.len());
        scan.found
    }

    fn drive(&self, scan: &mut Scan, seen: bool, nested: bool) -> Result<(), Unseen> {
        let text = scan.text;
        let mut batch = Batch::new();
        let mut from = 0;
        let mut window = 0;
        let mut skip = 0;
        while from < text.len() {
            self.filter.fill(text, from, &mut batch);
            for &hit in batch.hits() {
                let at = hit.at as usize;
                if at < skip {
                    continue;
                }
                if at / WINDOW != window {
                    window = at / WINDOW;
                    scan.work = 0;
                }
                if scan.work > READS_PER_BYTE * text.len().min(WINDOW) + SMALL {
                    skip = ((window + 1) * WINDOW).min(text.len());
                    redact_words(scan, at, skip);
                    continue;
                }
                self.confirm(scan, hit, seen, nested)?;
            }
            from = batch.next;
        }
        scan.work = 0;
        // A run is read once by the filter and once here, and a few bytes beside it: no budget is needed.
        long_runs(text, &mut |start| runs::run(scan, start));
        Ok(())
    }

    fn confirm(&self, scan: &mut Scan, hit: Hit, seen: bool, nested: bool) -> Result<(), Unseen> {
        let at = hit.at as usize;
        scan.work += 4;
        scan.total_work += 4;
        match self.anchors[usize::from(hit.id)] {
            Anchor::Family(index, offset) => {
                if let Some(start) = at.checked_sub(offset.into()) {
                    family(scan, start, index);
                }
            }
            Anchor::Marked(index, offset) => {
                if let Some(start) = at.checked_sub(offset.into()) {
                    runs::marked(scan, start, &MARKED[usize::from(index)]);
                }
            }
            Anchor::Key if at < scan.value_until => {}
            Anchor::Key => {
                if !commands::openssl_pass(scan, at) {
                    contexts::key(scan, at);
                }
            }
            Anchor::Bearer => {
                if at >= scan.value_until {
                    headers::bearer(scan, at);
                    contexts::key(scan, at);
                }
            }
            Anchor::Basic => headers::basic(scan, at),
            Anchor::Url if at < scan.url_end => {}
            Anchor::Url => url::url(scan, at, at + 3),
            Anchor::EscapedUrl => {
                if at >= scan.url_end && scan.text[at..].starts_with(b":\\/\\/") {
                    url::url(scan, at, at + 5);
                }
            }
            Anchor::Oracle => url::oracle(scan, at),
            Anchor::Dump if nested => {}
            Anchor::Dump => self.hex_dump(scan, at),
            Anchor::PemBegin => pem::begin(scan, at),
            Anchor::PemEnd => pem::end(scan, at),
            Anchor::Wrapped => pem::wrapped(scan, at),
            Anchor::Der => pem::der(scan, at),
            Anchor::Putty => pem::putty(scan, at),
            Anchor::Jwk => pem::jwk(scan, at),
            Anchor::Jwt => {
                if boundary(scan.text, at) {
                    runs::jwt(scan, at);
                }
            }
            Anchor::Telegram => runs::telegram(scan, at),
            Anchor::Entra => runs::entra(scan, at),
            Anchor::Option => commands::option(scan, at),
            Anchor::IdentifiedBy => commands::identified_by(scan, at),
            Anchor::PgPass => commands::pgpass(scan, at),
            Anchor::Codes if nested => {}
            Anchor::Codes => self.code_list(scan, at),
            Anchor::Invisible if seen => {}
            Anchor::Invisible => {
                // The piece may stand inside the written form: `\u001b`.
                let start = if scan.text[at..].starts_with(b"001") {
                    at.saturating_sub(2)
                } else {
                    at
                };
                if view::invisible(&scan.text[start..]).is_some() {
                    return Err(Unseen);
                }
            }
        }
        Ok(())
    }

    /// A dump is read as the bytes that it shows; the lines that show some of a secret go.
    fn hex_dump(&self, scan: &mut Scan, at: usize) {
        let mut shown = std::mem::take(&mut scan.scratch);
        let lines = dump::read(scan, at, &mut shown);
        if shown.len() >= 16 {
            let mut inner = Scan::new(&shown, &self.fields);
            if self.drive(&mut inner, true, true).is_ok() {
                for found in &inner.found {
                    let first = lines.partition_point(|line| line.shown <= found.start);
                    let after = lines.partition_point(|line| line.shown < found.end);
                    for line in lines.iter().take(after + 1).skip(first) {
                        scan.add_numbered(line.start, line.end, found.rule, found.rank);
                    }
                }
            }
        }
        scan.scratch = shown;
    }

    /// A list of codes is read as the text that it spells.
    fn code_list(&self, scan: &mut Scan, at: usize) {
        if at < scan.value_until {
            return;
        }
        let Some((start, end)) = contexts::code_list(scan, at) else {
            return;
        };
        let decoded = std::mem::take(&mut scan.scratch);
        let mut inner = Scan::new(&decoded, &self.fields);
        let secret = self.drive(&mut inner, true, true).is_ok() && !inner.found.is_empty();
        scan.scratch = decoded;
        if secret {
            scan.add(start, end, Rule::Integers, 3);
            scan.value_until = scan.value_until.max(end);
            scan.token_until = scan.token_until.max(end);
        }
    }
}

/// The window of at most four bytes of a prefix that ordinary text has least: capitals, digits and signs over letters.
fn rarest(prefix: &[u8]) -> usize {
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

fn first_four(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(4)]
}

/// May a token start at `at`? Not inside a word; after an escape (`\n`, `%20`, a colour code) it may.
pub(crate) fn boundary(text: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|i| text.get(i)) else {
        return true;
    };
    if !is(before, ALNUM) {
        return true;
    }
    let two = at >= 2
        && text[at - 2] == b'\\'
        && matches!(before, b'n' | b't' | b'r' | b'b' | b'f' | b'e' | b's');
    let percent =
        at >= 3 && text[at - 3] == b'%' && is(text[at - 2], HEX_ANY) && is(before, HEX_ANY);
    let unicode =
        at >= 6 && text[at - 6] == b'\\' && text[at - 5] == b'u' && all(&text[at - 4..at], HEX_ANY);
    let hexadecimal =
        at >= 4 && text[at - 4] == b'\\' && text[at - 3] == b'x' && all(&text[at - 2..at], HEX_ANY);
    two || percent || unicode || hexadecimal
}

fn family(scan: &mut Scan, start: usize, index: u16) {
    let text = scan.text;
    let family = &FAMILIES[usize::from(index)];
    let slot = usize::from(index) % scan.rejected.len();
    if scan.rejected[slot].0 == index && start < scan.rejected[slot].1 {
        return;
    }
    let prefix = family.prefix.as_bytes();
    if start < scan.token_until || !text[start..].starts_with(prefix) || !boundary(text, start) {
        return;
    }
    let from = start + prefix.len();
    // A first look reads little; only a token is followed to its end. The body's pieces are put together to be judged.
    let mut body = std::mem::take(&mut scan.scratch);
    let near = body_end(text, from, family, &mut body);
    scan.spend(near - from);
    let known = trimmed(&body);
    let token = known.len() >= family.min
        && !is_x(known)
        && (family.check)(known)
        && !inside_base64(text, start, near)
        && !inside_run(text, start, prefix);
    let length = known.len();
    scan.scratch = body;
    if !token {
        // In a long run that was read once, the same prefix begins no token either.
        if length >= 64 {
            scan.rejected[slot] = (index, near);
        }
        return;
    }
    let end = if near - from >= NEAR {
        run_end(text, near, family.body)
    } else {
        near
    };
    scan.spend((end - near) / 4);
    let end = from + trimmed(&text[from..end]).len();
    scan.add(start, end, family.rule, 2);
    scan.token_until = end;
}

/// Is `start` in the middle of a long base64 text, in its line or as one of its lines? Nothing starts there.
fn inside_base64(text: &[u8], start: usize, end: usize) -> bool {
    let before = base64_run(text[..start].iter().rev());
    if before >= 40 {
        return surprise(&text[start - before..start]) > 4 * before as i32;
    }
    let after = base64_run(text[end..].iter());
    let (line, stop) = (start - before, end + after);
    let alone = |at: usize| matches!(text.get(at), None | Some(b'\n' | b'\r' | b'\\'));
    if !(60..=80).contains(&(stop - line)) || !all(&text[line..stop], STD64) || !alone(stop) {
        return false;
    }
    // A line of the same length right before it.
    let broken = text[..line]
        .iter()
        .rev()
        .take(4)
        .take_while(|&&b| matches!(b, b'\n' | b'\r' | b'\\' | b'n' | b'r'))
        .count();
    broken > 0 && base64_run(text[..line - broken].iter().rev()) >= 60.min(stop - line)
}

fn base64_run<'t>(bytes: impl Iterator<Item = &'t u8>) -> usize {
    bytes.take(80).take_while(|&&b| is(b, STD64)).count()
}

/// Does a short prefix stand behind a dash or an underscore of some other random run, or of a longer name?
fn inside_run(text: &[u8], start: usize, prefix: &[u8]) -> bool {
    if prefix.len() > 5 || start == 0 || !is(text[start - 1], US | DASH) {
        return false;
    }
    if prefix == b"live_" || prefix == b"test_" {
        return true;
    }
    let before = text[..start]
        .iter()
        .rev()
        .take(60)
        .take_while(|&&b| is(b, URL64))
        .count();
    let run = &text[start - before..start];
    any(run, D) && surprise(run) > 0
}

/// `xxxxxxxx`, as documentation has it.
fn is_x(body: &[u8]) -> bool {
    body.iter()
        .all(|b| matches!(b, b'x' | b'X' | b'.' | b'_' | b'-' | b'*'))
}

/// Dots and dashes at the end belong to the sentence.
fn trimmed(body: &[u8]) -> &[u8] {
    let kept = body
        .iter()
        .rev()
        .take_while(|&&b| matches!(b, b'.' | b'-' | b',' | b':'))
        .count();
    &body[..body.len() - kept]
}

/// How much of a token is read before it is known to be one.
const NEAR: usize = 400;

/// The end of a token's body, followed over a line's end where a terminal wrapped it or a backslash continues the line, and from
/// one literal into the next. `body` gets the body without what stands between its pieces.
fn body_end(
    text: &[u8],
    from: usize,
    family: &super::families::Family,
    body: &mut Vec<u8>,
) -> usize {
    let mask = family.body;
    let mut end = run_end_capped(text, from, mask, NEAR);
    body.clear();
    body.extend_from_slice(&text[from..end]);
    for _ in 0..8 {
        let short = body.len() < family.min;
        let next = if body.is_empty() && !matches!(text.get(end), Some(b'"' | b'\'')) {
            None
        } else {
            continuation(text, end, mask, short)
        };
        let Some(next) = next else { break };
        let run = run_end_capped(text, next, mask, NEAR);
        if run <= next || run - from > 4096 {
            break;
        }
        body.extend_from_slice(&text[next..run]);
        end = run;
    }
    end
}

/// Where a token goes on whose run ends at `end`: behind the end of a full line, behind a backslash that continues the line, or in
/// the next literal.
pub(crate) fn continuation(text: &[u8], end: usize, mask: u16, short: bool) -> Option<usize> {
    match text.get(end)? {
        b'\\' if text.get(end + 1) == Some(&b'\n') => {
            Some(super::literal::skip_blanks(text, end + 2, 40))
        }
        b'"' | b'\'' | b'\\' => literal_goes_on(text, end, short),
        b'\n' | b'\r' => wrapped_goes_on(text, end, mask, short),
        _ => None,
    }
}

/// `"abc" <> "def"`: where the second literal's content starts. Neighbours without an operator go together only when the first
/// one alone is too short.
fn literal_goes_on(text: &[u8], end: usize, short: bool) -> Option<usize> {
    let (quote, after) = Quote::open(text, end)?;
    if let Some((_, start)) = joined(text, Kind::Quoted(quote), after) {
        return Some(start);
    }
    let next = super::literal::skip_blanks(text, after, 8);
    let (again, start) = Quote::open(text, next).filter(|_| short && next > after)?;
    (again == quote).then_some(start)
}

/// A full line that ends in a token, and a next line that begins with more of it.
fn wrapped_goes_on(text: &[u8], end: usize, mask: u16, short: bool) -> Option<usize> {
    let line = line_lead(text, end, 400).len();
    let next = end + if text[end] == b'\r' { 2 } else { 1 };
    let run = run_end_capped(text, next, mask, 400);
    let piece = text.get(next..run)?;
    if !(60..=240).contains(&line) || piece.is_empty() {
        return None;
    }
    // A log's next line may begin with a date or a word; what goes on with a token is neither.
    let mixed = any(piece, D) && any(piece, ALPHA) && surprise(piece) > 0;
    let random = mixed || surprise(piece) > 4 * piece.len() as i32;
    (short || random).then_some(next)
}

/// The fallback of a window that spent its budget: every word of eight bytes and more goes, whatever it is. Escapes, numbers
/// and the words of JSON stay, so that what was JSON remains JSON.
fn redact_words(scan: &mut Scan, from: usize, to: usize) {
    scan.over_budget = true;
    let text = scan.text;
    let inside = |b: u8| {
        b > b' '
            && b != 0x7f
            && !matches!(
                b,
                b'"' | b'\''
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
            )
    };
    let mut at = from;
    while at < to {
        if !inside(text[at]) {
            // An escape's letters stay with their backslash.
            at += match text[at] {
                b'\\' if text.get(at + 1) == Some(&b'u') => 6,
                b'\\' => 2,
                _ => 1,
            };
            continue;
        }
        let end = at
            + text[at..]
                .iter()
                .position(|&b| !inside(b))
                .unwrap_or(text.len() - at);
        let word = &text[at..end];
        let number = word
            .iter()
            .all(|&b| is(b, D | DOT | DASH) || matches!(b, b'+' | b'e' | b'E' | b':'));
        if word.len() >= 8 && !number {
            scan.add(at, end, Rule::OverBudget, 0);
        }
        at = end;
    }
}
