//! Invented values: random bodies by character set, passwords as people choose them, key names in
//! every style.

use super::rng::Rng;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGIT: &str = "0123456789";

/// The character set behind a one-letter name in a shape.
fn charset(name: &str) -> String {
    match name {
        "d" => DIGIT.to_string(),
        "1" => DIGIT[1..].to_string(),
        "h" => "0123456789abcdef".to_string(),
        "H" => "0123456789ABCDEF".to_string(),
        "l" => LOWER.to_string(),
        "U" => UPPER.to_string(),
        "L" => format!("{LOWER}{UPPER}"),
        "n" => format!("{LOWER}{DIGIT}"),
        "N" => format!("{UPPER}{DIGIT}"),
        "a" => format!("{LOWER}{UPPER}{DIGIT}"),
        "u" => format!("{LOWER}{UPPER}{DIGIT}_-"),
        "b" => format!("{LOWER}{UPPER}{DIGIT}+/"),
        "t" => format!("{LOWER}{UPPER}{DIGIT}_~.-"),
        "2" => format!("{UPPER}234567"),
        "x" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_string(),
        "p" => format!("{LOWER}{DIGIT}!@#%^&*(-_=+)"),
        other => panic!("no character set named {other}"),
    }
}

pub fn body(rng: &mut Rng, set: &str, length: usize) -> String {
    let letters: Vec<char> = charset(set).chars().collect();
    (0..length)
        .map(|_| letters[rng.below(letters.len())])
        .collect()
}

pub fn uuid(rng: &mut Rng) -> String {
    [8, 4, 4, 4, 12].map(|n| body(rng, "h", n)).join("-")
}

pub fn base64(bytes: &[u8], url_safe: bool, pad: bool) -> String {
    let mut alphabet = format!("{UPPER}{LOWER}{DIGIT}").into_bytes();
    alphabet.extend_from_slice(if url_safe { b"-_" } else { b"+/" });
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |w, b| (w << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i <= chunk.len() {
                out.push(alphabet[(word >> (18 - 6 * i) & 63) as usize] as char);
            } else if pad {
                out.push('=');
            }
        }
    }
    out
}

/// `size` random bytes in base64, as key generators print them.
pub fn random_base64(rng: &mut Rng, size: usize) -> String {
    let bytes: Vec<u8> = (0..size).map(|_| rng.next() as u8).collect();
    base64(&bytes, false, true)
}

/// Header, claims and signature of an invented JSON web token.
pub fn jwt(rng: &mut Rng) -> [String; 3] {
    let header = rng.pick(&[
        r#"{"alg":"HS256","typ":"JWT"}"#,
        r#"{"typ":"JWT","alg":"RS256"}"#,
        r#"{"alg":"ES256","kid":"k1"}"#,
    ]);
    let claims = format!(
        r#"{{"sub":"{}","iat":17{}}}"#,
        body(rng, "n", 12),
        body(rng, "d", 8)
    );
    let signature: Vec<u8> = (0..rng.range(32, 64)).map(|_| rng.next() as u8).collect();
    [
        base64(header.as_bytes(), true, false),
        base64(claims.as_bytes(), true, false),
        base64(&signature, true, false),
    ]
}

const WORDS: &[&str] = &[
    "correct", "horse", "battery", "staple", "summer", "winter", "dragon", "monkey", "falcon",
    "copper", "velvet", "thunder", "harbor", "walnut", "saffron", "glacier", "pepper", "marble",
    "orchid", "tundra", "lantern", "meadow", "cobalt", "juniper",
];

pub fn word(rng: &mut Rng) -> &'static str {
    rng.pick(WORDS)
}

fn capitalised(word: &str) -> String {
    let (head, tail) = word.split_at(1);
    head.to_uppercase() + tail
}

/// A password as people and password managers make them. `symbols` are those the context can hold
/// unescaped.
pub fn password(rng: &mut Rng, symbols: &str) -> String {
    let symbols: Vec<char> = symbols.chars().collect();
    let symbol = |rng: &mut Rng| symbols[rng.below(symbols.len())];
    match rng.below(5) {
        0 => {
            let mut chars: Vec<char> = {
                let length = rng.range(10, 22);
                body(rng, "a", length).chars().collect()
            };
            for _ in 0..3 {
                let at = rng.range(1, chars.len() - 2);
                chars[at] = symbol(rng);
            }
            chars.into_iter().collect()
        }
        1 => format!(
            "{}{}{}",
            capitalised(word(rng)),
            rng.range(1000, 9999),
            symbol(rng)
        ),
        2 => format!(
            "{}-{}-{}{}",
            word(rng),
            word(rng),
            word(rng),
            rng.range(1, 99)
        ),
        3 => format!(
            "{}{}{}{}",
            word(rng),
            symbol(rng),
            body(rng, "n", 5),
            rng.range(10, 99)
        ),
        _ => {
            let length = rng.range(12, 28);
            body(rng, "a", length)
        }
    }
}

/// Words as people outside the English-speaking world put them into passwords.
const FOREIGN: &[&str] = &[
    "größe",
    "schlüssel",
    "Übung",
    "été",
    "forêt",
    "garçon",
    "señal",
    "mañana",
    "łódź",
    "źdźbło",
    "çelik",
    "güneş",
    "лето",
    "зима",
    "Привет",
    "ключик",
    "καλημέρα",
    "夏天",
    "密码本",
    "さくら",
    "パンダ",
    "한라산",
    "שלום",
    "مفتاح",
];

/// A word with some digits behind it, as most passwords are; now and then digits alone.
pub fn weak_password(rng: &mut Rng) -> String {
    let word = word(rng);
    match rng.below(6) {
        0 => format!("{}{}", capitalised(word), rng.range(10, 2026)),
        1 => format!("{word}{}", body(rng, "d", 4)),
        2 => format!("{word}{}!", rng.range(10, 99)),
        3 => format!("{}{}", body(rng, "l", 3), body(rng, "d", 5)),
        4 => format!("{}_{}", word, rng.range(100, 999)),
        _ => body(rng, "1", 1) + &body(rng, "d", 7),
    }
}

/// A password with letters beyond ASCII.
pub fn foreign_password(rng: &mut Rng) -> String {
    let word = rng.pick(FOREIGN);
    match rng.below(3) {
        0 => format!("{word}{}", rng.range(10, 2026)),
        1 => format!("{word}_{}", body(rng, "n", 5)),
        _ => format!("{}{word}{}!", body(rng, "a", 2), rng.range(10, 99)),
    }
}

/// A password of any strength and script, without what most places would have to escape.
pub fn any_password(rng: &mut Rng) -> String {
    match rng.below(5) {
        0 => weak_password(rng),
        1 => foreign_password(rng),
        2 => {
            let length = rng.range(10, 20);
            body(rng, "a", length)
        }
        _ => password(rng, "!*_-.+"),
    }
}

/// A random token without a vendor's prefix.
pub fn token(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => body(rng, "h", 32),
        1 => body(rng, "h", 40),
        2 => uuid(rng),
        3 => {
            let length = rng.range(24, 48);
            body(rng, "u", length)
        }
        _ => {
            let length = rng.range(16, 40);
            body(rng, "a", length)
        }
    }
}

/// How a key name is written.
#[derive(Clone, Copy)]
pub enum Style {
    Snake,
    Kebab,
    Camel,
    Screaming,
    Dotted,
}

const STRONG: &[&[&str]] = &[
    &["password"],
    &["passwd"],
    &["pwd"],
    &["passphrase"],
    &["passcode"],
    &["secret"],
    &["client", "secret"],
    &["user", "password"],
    &["smtp", "pass"],
    &["db", "pass"],
    &["dbpassword"],
    &["master", "password"],
    &["app", "secret"],
    &["webhook", "secret"],
];

const WEAK: &[&[&str]] = &[
    &["token"],
    &["api", "key"],
    &["apikey"],
    &["access", "key"],
    &["secret", "key"],
    &["private", "key"],
    &["auth", "key"],
    &["auth", "token"],
    &["access", "token"],
    &["refresh", "token"],
    &["account", "key"],
    &["encryption", "key"],
    &["signing", "key"],
    &["master", "key"],
    &["license", "key"],
    &["service", "key"],
    &["signing", "salt"],
    &["cookie"],
    &["credential"],
    &["session", "token"],
    &["bot", "token"],
    &["bearer", "token"],
];

const OWNERS: &[&str] = &[
    "db", "stripe", "redis", "admin", "root", "prod", "mailer", "github", "s3", "postgres", "acme",
    "internal",
];
const TAILS: &[&str] = &["prod", "dev", "value", "2", "data", "base", "staging"];

/// A key name under which nearly any literal is a secret (`strong`) or only a random-looking one.
pub fn key_name(rng: &mut Rng, strong: bool, style: Style) -> String {
    let mut words: Vec<String> = Vec::new();
    if !rng.chance(3) {
        words.push(rng.pick(OWNERS).to_string());
    }
    let base = if strong {
        STRONG[rng.below(STRONG.len())]
    } else {
        WEAK[rng.below(WEAK.len())]
    };
    words.extend(base.iter().map(|word| word.to_string()));
    if rng.chance(6) {
        words.push(rng.pick(TAILS).to_string());
    }
    match style {
        Style::Snake => words.join("_"),
        Style::Kebab => words.join("-"),
        Style::Screaming => words.join("_").to_uppercase(),
        Style::Dotted => words.join("."),
        Style::Camel => words
            .iter()
            .enumerate()
            .map(|(i, word)| {
                if i == 0 {
                    word.clone()
                } else {
                    capitalised(word)
                }
            })
            .collect(),
    }
}
