//! Inputs made to be slow: anchors repeated without end, and candidates that fail only after a long
//! look.

use super::families::FAMILIES;

/// Openings that a detector reads on from.
pub fn openings() -> &'static [&'static str] {
    UNITS
}

/// What hostile inputs repeat: prefixes of families, and openings.
pub fn units() -> Vec<String> {
    let mut units: Vec<String> = FAMILIES
        .iter()
        .map(|family| family.shape[..family.shape.find('{').unwrap_or(0)].to_string())
        .filter(|prefix| !prefix.is_empty())
        .collect();
    units.extend(UNITS.iter().map(|unit| unit.to_string()));
    units.sort();
    units.dedup();
    units
}

/// Every input by name, each about `size` bytes.
pub fn inputs(size: usize) -> Vec<(String, Vec<u8>)> {
    let units = units();
    let mut inputs: Vec<(String, Vec<u8>)> = units
        .iter()
        .map(|unit| (format!("{unit:?} repeated"), repeat(unit.as_bytes(), size)))
        .collect();
    for (opening, body) in LONG {
        let mut text = opening.as_bytes().to_vec();
        text.extend(repeat(body.as_bytes(), size.saturating_sub(opening.len())));
        inputs.push((format!("{opening:?} then {body:?} repeated"), text));
    }
    inputs
}

/// The same input at twice its length.
pub fn double(text: &[u8]) -> Vec<u8> {
    [text, text].concat()
}

/// `unit` over and over, at most `size` bytes.
pub fn repeat(unit: &[u8], size: usize) -> Vec<u8> {
    unit.iter()
        .copied()
        .cycle()
        .take(size / unit.len() * unit.len())
        .collect()
}

const UNITS: &[&str] = &[
    "eyJ",
    "eyJ.",
    "eyJ-",
    "eyJa.eyJ",
    "ghp_ ",
    "ghp_a",
    "key=",
    "key=\"",
    "key: ",
    "\"key\":",
    "\"key\":\"",
    "token=",
    "token: \"",
    "password",
    "password=",
    "password: ",
    "password: \"",
    "password => ",
    "secret",
    "secret_",
    "secret.key.",
    "passwordPassword",
    "PASSWORD_",
    "api_key:",
    "postgres://a",
    "postgres://a:",
    "postgres://a:b",
    "://",
    "a://b:",
    "http://",
    "https://a:b@",
    "https://@",
    "?token=",
    "&key=a",
    "Bearer ",
    "Authorization: ",
    "Authorization: Bearer ",
    "Basic ",
    "Cookie: a=",
    "Cookie: a=\\",
    "authorization: \\",
    "token=[",
    "secrets: {a: ",
    "credentials: {\"a\", \"",
    "recovery_codes: [\"",
    "[\"add_user\", \"a\", \"",
    "rabbitmqctl add_user a ",
    "password,token\n",
    "| password | token |\n",
    "password  token\n",
    "INSERT INTO t (password) VALUES (",
    "columns: [\"password\"], rows: [[",
    "password = $1 [",
    "code: assert password() == \"",
    "password: [-a-]{+",
    "AUTH ",
    "-----BEGIN ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----END RSA PRIVATE KEY-----\n",
    "-----",
    "-",
    "LS0tLS1CRUdJTi",
    "{\"name\":\"",
    "{\"name\":\"DB_PASSWORD\",",
    "\"name\":\"PASSWORD\",\"value\":",
    "<password>",
    "<password",
    "value=\"",
    "--password ",
    "--password",
    "-p",
    "-u a:",
    "-setcookie ",
    "IDENTIFIED BY '",
    "PASSWORD '",
    "[115, ",
    "115, ",
    "<<115, 107, ",
    "[password: [1, ",
    "password: <<1, ",
    "\\\"password\\\":\\\"",
    "\\\\\\\"",
    "\\",
    "\"",
    "'",
    "\"\"",
    "\" <> \"",
    "\" + \"",
    "\\n",
    "\\u0022",
    "&quot;",
    "\u{1b}[",
    "\u{1b}[31m",
    "\u{1b}[31mpassword\u{1b}[0m: ",
    "\u{1b}",
    "\u{200b}",
    "p\u{200b}",
    "\u{a0}",
    "\u{feff}",
    "12|",
    "+",
    "a:12:",
    "\n",
    "\r\n",
    " ",
    "=",
    ":",
    "{",
    "[",
    "(",
    "<<",
    "%{",
    "#{",
    "a",
    "aA1",
    "A",
    "0",
    "f",
    "_",
    "a_b",
    "aB",
    "key_",
    "Key",
    "@",
    "a@",
    ":@",
    ",",
    "|",
    "~c\"",
    "xoxb-1-",
    "SG.a.",
    "M.a.",
    "1:AA",
    "sk-",
    "sk-ant-",
    "T3BlbkFJ",
    "AKIA",
    "AccountKey=",
    "sig=",
    "-us1",
    "JQQJ99",
    "\u{0}",
    "\u{ff}",
];

const LONG: &[(&str, &str)] = &[
    ("eyJ", "a"),
    ("eyJhbGciOiJIUzI1NiJ9.", "a"),
    ("ghp_", "a"),
    ("password=", "a"),
    ("password=\"", "a"),
    ("password: \"", "\\\""),
    ("password: \"", "a\n"),
    ("token: \"", "\" <> \""),
    ("password: [", "1, "),
    ("password: <<", "115, "),
    ("[", "115, "),
    ("https://a:", "b"),
    ("https://a:", "b:"),
    ("https://a:", "@"),
    ("https://a:", "b@"),
    ("https://", "a"),
    ("-----BEGIN RSA PRIVATE KEY-----\n", "a"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    ),
    ("-----BEGIN RSA PRIVATE KEY-----\n", "\n"),
    ("-----BEGIN RSA PRIVATE KEY-----", "\\n"),
    (
        "",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    ),
    ("password", "\u{1b}[0m"),
    ("pass", "\u{200b}"),
    ("{\"name\":\"PASSWORD\"", " "),
    ("{\"name\":\"PASSWORD\",", "\"a\":\"b\","),
    ("Authorization: Bearer ", "a"),
    ("Cookie: ", "a=b; "),
    ("password", "_password"),
    ("db", ".password"),
];
