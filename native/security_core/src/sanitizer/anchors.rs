//! Which piece of a text calls which detector: a table that knows no engine.

use super::families::{FAMILIES, MARKED};
use super::password_names;
use super::prefilter::Piece;
use super::scan::{Scan, boundary};
use super::shape::rarest;
use super::{
    accounts, commands, dump, encoded, headers, key, pem, runs, token, tongues, url, value,
};

/// Takes a place in a text, and gives its findings to the scan.
pub(crate) type Detector = fn(&mut Scan, usize);

/// Reads the bytes that a place spells in other letters, and where in the text each stretch of them
/// is shown.
pub(crate) type Speller = fn(&mut Scan, usize, &mut Vec<u8>) -> Vec<dump::Line>;

/// What a piece stands for. Families and marked tokens come first, so that the more specific rule
/// is asked first.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    /// A family, and how far into its prefix the piece stands.
    Family(u16, u8),
    /// A token with a mark in its middle, and how far into the mark the piece stands.
    Marked(u16, u8),
    At(Detector),
    /// Bytes in other letters, to be walked as a text of their own. A list of codes goes as a
    /// whole.
    Spelled(Speller, Whole),
    /// Something that a reader doesn't see: the text must be read as a view.
    Invisible,
}

/// Does all of a spelled stretch go where some of it is secret?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    Yes,
    No,
}

/// Pieces that must occur as they are.
#[rustfmt::skip]
static EXACT: &[(&[&[u8]], Detector)] = &[
    (&[b"AUTH"], commands::auth),
    (&[b"://"], url::plain),
    (&[b":\\/\\"], url::escaped),
    (&[b"hin:"], url::oracle),
    (&[b"@tcp", b"@uni"], url::mysql),
    (&[b"-BEG", b"- BE"], pem::begin),
    (&[b"-END"], pem::end),
    (&[b"LS0t"], pem::wrapped),
    // The beginnings of DER keys, and of OpenSSH's, in base64.
    (&[b"MIIE", b"MIIJ", b"MIIB", b"MIIC", b"MIIG", b"MIIF", b"MIIH", b"MHcC", b"MHQC", b"MC4C", b"MIGH", b"MIGE", b"MIHc",
       b"MIG2", b"MIGk", b"MIHu", b"MFEC", b"b3Bl"], pem::der),
    (&[b"RUE\t", b"LSE\t"], commands::cookie_file),
    (&[b"eKey"], pem::record),
    (&[b"Line"], pem::putty),
    (&[b"kty"], pem::jwk),
    (&[b"d_us", b"d-us"], accounts::user),
    (&[b"nCod", b"pCod", b"yCod"], telling_word),
    (&[b"eyJ"], jwt),
    (&[b" -p", b" -u ", b"\"-u\"", b"-use", b" -a ", b" -P ", b" -w ", b" -N ", b" -k "], commands::option),
    // The usual ports of PostgreSQL and of its poolers.
    (&[b":*:", b":543", b":643"], commands::pgpass),
];

/// Pieces whose letters may be of either case.
#[rustfmt::skip]
static ANY_CASE: &[(&[&[u8]], Detector)] = &[
    (&[b"pass", b"pwd", b"secr", b"toke", b"key", b"auth", b"cred", b"salt", b"cook", b"dsn", b"_pat", b"_sas", b"webh", b"hmac",
       b"nonc", b"mnem", b"phra", b"pswd", b"jwt", b"sig=", b"ure=", b"ode=", b"ctio", b"rinf", b"gner", b"comb", b"pw=",
       b"pw:", b"pw ", b"pw\"", b"pw'", b"pw,", b"pw<", b"pw\\", b"psk=",
       // Codes of backup and recovery, of verification.
       b"n_co", b"p_co", b"y_co", b"pin\"", b"pin=", b"otp\""],
     telling_word),
    (&[b":aa"], runs::telegram),
    (&[b"bear"], bearer),
    (&[b"asic"], headers::basic),
    (&[b"by '", b"by \""], commands::identified_by),
];

static INVISIBLE: &[&[u8]] = &[
    b"\x1b",
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
];

/// The prefilter's pieces, numbered by their place in the list of what they stand for. `fields` are
/// names that a user added.
pub(crate) fn table(fields: &[String]) -> (Vec<Piece>, Vec<Anchor>) {
    let mut anchors = Vec::new();
    let mut pieces = Vec::new();
    let mut add = |anchor: Anchor, piece: &dyn Fn(u16) -> Piece| {
        pieces.push(piece(anchors.len() as u16));
        anchors.push(anchor);
    };
    let families = FAMILIES.iter().enumerate();
    // A prefix of one letter only is left to the runs: as a piece it would hit at every byte of
    // padding.
    let anchored = |f: &super::families::Family| {
        f.prefix.len() > 2 && f.prefix.bytes().any(|b| b != f.prefix.as_bytes()[0])
    };
    for (i, family) in families.filter(|(_, f)| anchored(f)) {
        let (piece, offset) = rarest_four(family.prefix.as_bytes());
        let anchor = Anchor::Family(i as u16, offset);
        add(anchor, &|id| Piece::exact(piece, id));
    }
    for (i, marked) in MARKED.iter().enumerate() {
        let (piece, offset) = rarest_four(marked.marker.as_bytes());
        let anchor = Anchor::Marked(i as u16, offset);
        add(anchor, &|id| Piece::exact(piece, id));
    }
    for (bytes, detector) in EXACT {
        for piece in *bytes {
            add(Anchor::At(*detector), &|id| Piece::exact(piece, id));
        }
    }
    for (bytes, detector) in ANY_CASE {
        for piece in *bytes {
            add(Anchor::At(*detector), &|id| Piece::any_case(piece, id));
        }
    }
    password_names::pieces(|piece| add(Anchor::At(tongues::named), piece));
    for field in fields {
        let (piece, _) = rarest_four(field.as_bytes());
        add(Anchor::At(telling_word), &|id| Piece::any_case(piece, id));
    }
    for mark in INVISIBLE {
        add(Anchor::Invisible, &|id| Piece::exact(mark, id));
    }
    let pagerduty = FAMILIES.iter().position(|f| f.prefix == "u+").unwrap_or(0) as u16;
    let dump = Anchor::Spelled(dump::read, Whole::No);
    let encoded = Anchor::Spelled(encoded::json, Whole::Yes);
    add(encoded, &|id| Piece::exact(b"eyJ", id));
    let codes = Anchor::Spelled(value::code_list, Whole::Yes);
    add(dump, &|id| Piece::exact(b"000:", id));
    let masked: [(&[u8], &[u8], Anchor); 7] = [
        (b"\xe2\x80\x88", b"\xff\xff\xf8", Anchor::Invisible),
        (b"\xe2\x80\xa8", b"\xff\xff\xf8", Anchor::Invisible),
        (b"0Q~", b"\xf0\xff\xff", Anchor::At(runs::entra)),
        (b"u+A", b"\xff\xff\xc0", Anchor::Family(pagerduty, 0)),
        (b"u+0", b"\xff\xff\xf0", Anchor::Family(pagerduty, 0)),
        (b"[00", b"\xff\xf0\xf0", codes),
        (b"<<00", b"\xff\xff\xf0\xf0", codes),
    ];
    for (bytes, mask, anchor) in masked {
        add(anchor, &|id| Piece::masked(bytes, mask, id));
    }
    (pieces, anchors)
}

/// The four bytes of a name that ordinary text has least, and how far into it they stand.
fn rarest_four(name: &[u8]) -> (&[u8], u8) {
    let offset = rarest(name);
    let piece = &name[offset..];
    (&piece[..piece.len().min(4)], offset as u8)
}

/// Calls the detector of a piece that stands at `at`.
pub(crate) fn detect(scan: &mut Scan, anchor: Anchor, at: usize) {
    match anchor {
        Anchor::Family(index, offset) => {
            if let Some(start) = at.checked_sub(offset.into()) {
                token::family(scan, start, index);
            }
        }
        Anchor::Marked(index, offset) => {
            if let Some(start) = at.checked_sub(offset.into()) {
                runs::marked(scan, start, &MARKED[usize::from(index)]);
            }
        }
        Anchor::At(detector) => detector(scan, at),
        Anchor::Spelled(..) | Anchor::Invisible => {}
    }
}

fn telling_word(scan: &mut Scan, at: usize) {
    if at < scan.value_until {
        return;
    }
    if !commands::openssl_pass(scan, at) && !accounts::password(scan, at) {
        key::key(scan, at);
    }
}

fn bearer(scan: &mut Scan, at: usize) {
    if at >= scan.value_until {
        headers::bearer(scan, at);
        key::key(scan, at);
    }
}

fn jwt(scan: &mut Scan, at: usize) {
    if boundary(scan.text, at) {
        runs::jwt(scan, at);
    }
}
