//! Private keys in every layout in which they turn up: whole and torn, with gutters, escaped,
//! quoted, wrapped in base64.

use super::rng::Rng;
use super::sample::{Kind, Sample};
use super::values;

/// Labels of blocks that hold a secret. Put together here so that no line of this file looks like a
/// key itself.
const LABELS: &[&str] = &[
    "PRIVATE",
    "RSA PRIVATE",
    "EC PRIVATE",
    "DSA PRIVATE",
    "OPENSSH PRIVATE",
    "ENCRYPTED PRIVATE",
];

struct Key {
    begin: String,
    headers: Vec<String>,
    body: Vec<String>,
    end: String,
}

fn key(rng: &mut Rng) -> Key {
    let dashes = "-----";
    let pgp = rng.chance(7);
    let label = if pgp {
        "PGP PRIVATE KEY BLOCK".to_string()
    } else {
        format!("{} KEY", rng.pick(LABELS))
    };
    let mut headers = Vec::new();
    if pgp {
        headers = vec!["Version: GnuPG v2".to_string(), String::new()];
    } else if label.starts_with("RSA") && rng.chance(2) {
        headers = vec![
            "Proc-Type: 4,ENCRYPTED".to_string(),
            format!("DEK-Info: AES-128-CBC,{}", values::body(rng, "H", 32)),
            String::new(),
        ];
    }
    let lines = rng.range(6, 26);
    let mut body: Vec<String> = (0..lines).map(|_| values::body(rng, "b", 64)).collect();
    let last = rng.range(3, 14) * 4;
    body.push(values::body(rng, "b", last - 1) + "=");
    Key {
        begin: format!("{dashes}BEGIN {label}{dashes}"),
        headers,
        body,
        end: format!("{dashes}END {label}{dashes}"),
    }
}

impl Key {
    fn lines(&self) -> Vec<&str> {
        let mut lines = vec![self.begin.as_str()];
        lines.extend(self.headers.iter().map(String::as_str));
        lines.extend(self.body.iter().map(String::as_str));
        lines.push(&self.end);
        lines
    }

    fn joined(&self, before: &str, between: &str, after: &str) -> String {
        format!("{before}{}{after}", self.lines().join(between))
    }

    /// Each line as `line` gives it, numbered from 1.
    fn each(&self, line: impl Fn(usize, &str) -> String) -> String {
        self.lines()
            .iter()
            .enumerate()
            .map(|(i, text)| line(i + 1, text) + "\n")
            .collect()
    }
}

/// The names of all layouts; [`sample`] makes one.
pub const LAYOUTS: &[&str] = &[
    "whole",
    "whole, CRLF",
    "no END",
    "no BEGIN",
    "no BEGIN, long",
    "indented",
    "in a heredoc",
    "in YAML",
    "numbered gutter",
    "numbered gutter, tab",
    "bar gutter",
    "diff +",
    "diff -",
    "grep",
    "quoted mail",
    "JSON escapes",
    "JSON escapes twice",
    "inspected",
    "inspected Erlang",
    "environment",
    "single line, spaces",
    "coloured lines",
    "colour in the label",
    "concatenated",
    "concatenated Elixir",
    "list of lines",
    "adjacent literals",
    "log prefix",
    "base64 in Kubernetes",
    "base64 in Kubernetes, wrapped",
    "PuTTY",
    "SSH2",
    "JWK",
    "two blocks",
    "between certificates",
    "integers",
];

pub fn sample(layout: &'static str, rng: &mut Rng) -> Sample {
    let key = key(rng);
    let mut secrets = key.body.clone();
    let text = match layout {
        "whole" => key.joined("", "\n", "\n"),
        "whole, CRLF" => key.joined("", "\r\n", "\r\n"),
        "no END" => {
            secrets.truncate(5);
            format!("{}\n{}", key.begin, secrets.join("\n"))
        }
        "no BEGIN" => {
            secrets.drain(..secrets.len() - 3);
            format!("{}\n{}\n", secrets.join("\n"), key.end)
        }
        "no BEGIN, long" => format!("{}\n{}\n", secrets.join("\n"), key.end),
        "indented" => key.each(|_, line| format!("    {line}")),
        "in a heredoc" => format!(
            "  key = \"\"\"\n{}  \"\"\"\n",
            key.each(|_, line| format!("  {line}"))
        ),
        "in YAML" => format!(
            "tls.key: |\n{}other: 1\n",
            key.each(|_, line| format!("  {line}"))
        ),
        "numbered gutter" => key.each(|n, line| format!("{n:>4} {line}")),
        "numbered gutter, tab" => key.each(|n, line| format!("{n:>6}\t{line}")),
        "bar gutter" => key.each(|n, line| format!("{n:>4} │ {line}")),
        "diff +" => key.each(|_, line| format!("+{line}")),
        "diff -" => key.each(|_, line| format!("-{line}")),
        "grep" => key.each(|n, line| format!("priv/key.pem:{n}:{line}")),
        "quoted mail" => key.each(|_, line| format!("> {line}")),
        "JSON escapes" => key.joined(
            "{\"private_key\":\"",
            "\\n",
            "\\n\",\"type\":\"service_account\"}",
        ),
        "JSON escapes twice" => key.joined(
            "{\"a\":\"{\\\"private_key\\\":\\\"",
            "\\\\n",
            "\\\\n\\\"}\"}",
        ),
        "inspected" => key.joined("{:ok, \"", "\\n", "\\n\"}"),
        "inspected Erlang" => key.joined("{ok,<<\"", "\\n", "\\n\">>}"),
        "environment" => key.joined("TLS_KEY=\"", "\\n", "\""),
        "single line, spaces" => key.joined("", " ", ""),
        "coloured lines" => key.each(|_, line| format!("\u{1b}[32m{line}\u{1b}[0m")),
        "colour in the label" => key
            .joined("", "\n", "\n")
            .replace("PRIVATE", "\u{1b}[1;31mPRIVATE\u{1b}[0m"),
        "concatenated" => key.each(|_, line| format!("  \"{line}\\n\" +")),
        "concatenated Elixir" => key.each(|_, line| format!("  \"{line}\\n\" <>")),
        "list of lines" => key.each(|_, line| format!("  \"{line}\",")),
        "adjacent literals" => key.each(|_, line| format!("    \"{line}\\n\"")),
        "log prefix" => key.each(|n, line| format!("10:00:{:02}.120 [info] {line}", n % 60)),
        "base64 in Kubernetes" => {
            let encoded = values::base64(key.joined("", "\n", "\n").as_bytes(), false, true);
            secrets = vec![encoded[60..].to_string()];
            format!("data:\n  tls.key: {encoded}\n")
        }
        "base64 in Kubernetes, wrapped" => {
            let encoded = values::base64(key.joined("", "\n", "\n").as_bytes(), false, true);
            let lines: Vec<&str> = (0..encoded.len())
                .step_by(76)
                .map(|i| &encoded[i..encoded.len().min(i + 76)])
                .collect();
            secrets = lines[1..].iter().map(|line| line.to_string()).collect();
            format!("  tls.key: |\n    {}\n", lines.join("\n    "))
        }
        "PuTTY" => {
            secrets.truncate(8);
            format!(
                "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: a\nPublic-Lines: 1\n{}\nPrivate-Lines: {}\n{}\nPrivate-MAC: {}\n",
                values::body(rng, "b", 64),
                secrets.len(),
                secrets.join("\n"),
                values::body(rng, "h", 64)
            )
        }
        "SSH2" => {
            let dashes = "----";
            format!(
                "{dashes} BEGIN SSH2 ENCRYPTED PRIVATE KEY {dashes}\nComment: \"a\"\n{}\n{dashes} END SSH2 ENCRYPTED PRIVATE KEY {dashes}\n",
                secrets.join("\n")
            )
        }
        "JWK" => {
            secrets = vec![values::body(rng, "u", 43)];
            format!(
                "{{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{}\",\"y\":\"{}\",\"d\":\"{}\"}}",
                values::body(rng, "u", 43),
                values::body(rng, "u", 43),
                secrets[0]
            )
        }
        "two blocks" => key.joined("", "\n", "\n") + &key.joined("", "\n", "\n"),
        "between certificates" => {
            let dashes = "-----";
            let certificate = format!(
                "{dashes}BEGIN CERTIFICATE{dashes}\n{}\n{dashes}END CERTIFICATE{dashes}\n",
                values::body(rng, "b", 64)
            );
            format!("{certificate}{}{certificate}", key.joined("", "\n", "\n"))
        }
        "integers" => {
            let bytes = key.joined("", "\n", "\n");
            format!(
                "{{:ok, <<{}>>}}",
                bytes
                    .bytes()
                    .map(|b| b.to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        other => panic!("no layout named {other}"),
    };
    Sample {
        kind: Kind::Bare,
        group: "private keys",
        template: layout.to_string(),
        text,
        secrets,
    }
}
