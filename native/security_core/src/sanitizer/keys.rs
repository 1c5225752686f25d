//! What the name of a key says about its value.
//!
//! Names are split into words (snake, kebab, dotted, camel and screaming case), the last word that
//! carries meaning decides, and other words may take the meaning away: `max_tokens`,
//! `password_file`, `public_key`, `bypass`.

use super::key_words::{
    is_about, is_harmless, is_password, is_plain_key_of, is_secret_key_of, is_tail,
};
use super::tongues;

/// How much a value under a key must look like a secret to be taken for one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyClass {
    /// The name says nothing.
    #[default]
    None,
    /// A name like `key` or `nonce`: only a long, plainly random value is secret.
    Weak,
    /// Token-, key- or cookie-like: the value must look random; digests and UUIDs count.
    Token,
    /// An authorization header: what follows the scheme word is secret.
    Auth,
    /// A webhook's or a database's address: secret parts of a URL.
    Url,
    /// `secret`, `client_secret`: nearly any literal, but bare words may be names.
    Secret,
    /// Password-like: nearly any literal.
    Password,
    /// One of the configured field names, exactly: any string.
    Field,
}

/// The longest name that is looked at.
pub(crate) const MAX_NAME: usize = 100;
const MAX_WORDS: usize = 14;

/// A name in lower case, and where its words are.
struct Words {
    buffer: [u8; MAX_NAME],
    bounds: [(u8, u8); MAX_WORDS],
    len: usize,
    screaming: bool,
}

impl Words {
    fn none() -> Words {
        Words {
            buffer: [0; MAX_NAME],
            bounds: [(0, 0); MAX_WORDS],
            len: 0,
            screaming: true,
        }
    }

    /// Filled in place, since moving it about costs more than the splitting. Says whether there are
    /// any words.
    fn split(&mut self, name: &[u8]) -> bool {
        let words = self;
        if name.is_empty() || name.len() > MAX_NAME {
            return false;
        }
        let mut start = None;
        for (i, &b) in name.iter().enumerate() {
            words.buffer[i] = b.to_ascii_lowercase();
            words.screaming &= !b.is_ascii_lowercase();
            if !b.is_ascii_alphanumeric() {
                words.close(&mut start, i);
                continue;
            }
            let previous = if i > 0 { name[i - 1] } else { 0 };
            let next = name.get(i + 1).copied().unwrap_or(0);
            let camel = b.is_ascii_uppercase()
                && (previous.is_ascii_lowercase()
                    || previous.is_ascii_digit()
                    || previous.is_ascii_uppercase() && next.is_ascii_lowercase());
            let number = b.is_ascii_digit() && previous.is_ascii_alphabetic()
                || b.is_ascii_alphabetic() && previous.is_ascii_digit();
            if camel || number {
                words.close(&mut start, i);
            }
            start.get_or_insert(i);
        }
        words.close(&mut start, name.len());
        words.len > 0
    }

    fn close(&mut self, start: &mut Option<usize>, end: usize) {
        if let Some(start) = start.take() {
            if self.len == MAX_WORDS {
                // Of a very long name the last words count.
                self.bounds.copy_within(1.., 0);
                self.len -= 1;
            }
            self.bounds[self.len] = (start as u8, end as u8);
            self.len += 1;
        }
    }

    fn get(&self, index: usize) -> &[u8] {
        let (start, end) = self.bounds[index];
        &self.buffer[start.into()..end.into()]
    }

    fn before(&self, index: usize) -> &[u8] {
        if index == 0 { b"" } else { self.get(index - 1) }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len).map(|i| self.get(i))
    }
}

/// Words that end, glued, in a telling one: `dbpassword`, `authtoken`, `smtppass`.
fn glued(word: &[u8]) -> Option<KeyClass> {
    let ends = |tail: &[u8]| word.len() > tail.len() && word.ends_with(tail);
    if ends(b"password") || ends(b"passwd") || ends(b"passphrase") {
        return Some(KeyClass::Password);
    }
    if ends(b"pass") || ends(b"pwd") {
        let owner = word
            .strip_suffix(b"pass")
            .or(word.strip_suffix(b"pwd"))
            .unwrap_or_default();
        return matches!(
            owner,
            b"db"
                | b"user"
                | b"smtp"
                | b"mysql"
                | b"pg"
                | b"my"
                | b"root"
                | b"admin"
                | b"ftp"
                | b"mail"
                | b"redis"
                | b"ssh"
                | b"http"
                | b"proxy"
                | b"login"
                | b"key"
                | b"store"
                | b"sql"
                | b"imap"
                | b"ldap"
                | b"rabbitmq"
                | b"database"
                | b"ssl"
        )
        .then_some(KeyClass::Password);
    }
    if ends(b"secret") {
        return Some(KeyClass::Secret);
    }
    if ends(b"token") || ends(b"tokens") || ends(b"cookie") {
        return (!word.starts_with(b"csrf") && !word.starts_with(b"xsrf"))
            .then_some(KeyClass::Token);
    }
    if ends(b"key") {
        let owner = &word[..word.len() - 3];
        let known = is_secret_key_of(owner)
            || owner.ends_with(b"secret")
            || owner.ends_with(b"access")
            || owner.ends_with(b"private")
            || owner.ends_with(b"api");
        return known.then_some(KeyClass::Token);
    }
    None
}

/// What `name` says about its value. Fast for names that say nothing; names over [`MAX_NAME`] bytes
/// say nothing.
pub(crate) fn classify(name: &[u8]) -> KeyClass {
    let mut words = Words::none();
    if !name.is_ascii() && tongues::is_password(name) {
        return KeyClass::Password;
    }
    if !words.split(name) {
        return KeyClass::None;
    }
    if words.iter().any(is_harmless) {
        return KeyClass::None;
    }
    let mut last = words.len - 1;
    // `secret_key_base`, `password_2`, `token_prod`: the tail is no part of the meaning.
    while last > 0 && is_tail(words.get(last)) {
        last -= 1;
    }
    match judge(&words, last) {
        Verdict::Is(class) => class,
        Verdict::Harmless => KeyClass::None,
        Verdict::Unknown => {
            // `API_KEY_OPENAI`, `TOKEN_READONLY`: a telling word, then an owner's name. The value
            // must prove the rest.
            for back in 1..=2.min(last) {
                if let Verdict::Is(class) = judge(&words, last - back) {
                    let cap = if words.screaming {
                        KeyClass::Token
                    } else {
                        KeyClass::Weak
                    };
                    return class.min(cap);
                }
            }
            KeyClass::None
        }
    }
}

enum Verdict {
    Is(KeyClass),
    Harmless,
    Unknown,
}

fn judge(words: &Words, at: usize) -> Verdict {
    use KeyClass::*;
    let word = words.get(at);
    let before = words.before(at);
    let alone = words.len == 1;
    let class = match word {
        b"password" | b"passwords" | b"passwd" => {
            // A hash is worth hiding, but only a hash.
            if matches!(before, b"hashed" | b"encrypted" | b"crypted") {
                Token
            } else {
                Password
            }
        }
        _ if is_password(word) => Password,
        b"phrase" if matches!(before, b"pass" | b"seed" | b"recovery") => Password,
        b"word" if before == b"pass" => Password,
        b"code" if before == b"pass" => Password,
        b"pwd" => {
            if before == b"old" && words.screaming {
                return Verdict::Harmless;
            }
            Password
        }
        b"pass" => match before {
            b"first" | b"second" | b"third" | b"render" | b"compiler" | b"opt" | b"last"
            | b"next" | b"one" | b"two" | b"multi" | b"single" | b"all" | b"test" | b"tests"
            | b"must" | b"will" | b"does" | b"not" | b"by" | b"shadow" | b"this" | b"band"
            | b"high" | b"low" | b"optimization" | b"analysis" | b"lint" | b"per" | b"each"
            | b"did" => {
                return Verdict::Harmless;
            }
            _ => Password,
        },
        b"secret" | b"secrets" => Secret,
        b"token" => match before {
            b"start" | b"end" | b"stop" | b"special" | b"mask" | b"next" | b"prev"
            | b"previous" | b"current" | b"peek" | b"last" | b"first" | b"sync" | b"per"
            | b"bucket" | b"string" | b"identifier" | b"punctuation" => Weak,
            _ => Token,
        },
        b"cookie"
            if matches!(
                before,
                b"release" | b"erlang" | b"node" | b"dist" | b"distribution"
            ) =>
        {
            Password
        }
        b"setcookie" => Password,
        b"psk" if alone || matches!(before, b"wpa" | b"wifi" | b"ike" | b"ipsec") => Password,
        b"passe" => Password,
        b"signer" => Token,
        b"team" if before == b"honeycomb" => Token,
        b"tokens" | b"jwt" | b"bearer" | b"cookie" | b"cookies" | b"credential"
        | b"credentials" | b"creds" | b"cred" | b"salt" | b"apikey" | b"apitoken"
        | b"secretkey" | b"accesskey" | b"privatekey" | b"authkey" | b"masterkey"
        | b"signingkey" | b"encryptionkey" | b"accountkey" | b"sharedaccesskey" | b"licensekey"
        | b"identitytoken" | b"presharedkey" => Token,
        b"auth"
            if alone || matches!(before, b"_" | b"proxy" | b"basic" | b"http" | b"registry") =>
        {
            Auth
        }
        b"auth" if words.screaming => Token,
        b"authorization" => Auth,
        b"key" | b"keys" => {
            // An id is public, except the one that names an AWS account.
            if is_plain_key_of(before) {
                return Verdict::Harmless;
            }
            // `VENDOR_KEY`: in capitals it is a setting, and its owner's name says whose key it is.
            if is_secret_key_of(before) || words.screaming && words.len == 2 && word == b"key" {
                Token
            } else {
                Weak
            }
        }
        b"id" if before == b"key" && words.iter().any(|w| w == b"access") => Token,
        b"nonce" | b"iv" | b"hmac" | b"sig" | b"signature" | b"mac" | b"code" | b"otp"
        | b"hash" => {
            if word == b"hash" && words.iter().any(is_password) {
                Token
            } else {
                Weak
            }
        }
        b"pat" | b"sas" if words.len > 1 => Token,
        b"pat" | b"sas" => Weak,
        b"dsn" | b"userinfo" | b"authority" => Url,
        b"url" | b"uri" | b"urls"
            if words
                .iter()
                .any(|w| matches!(w, b"webhook" | b"webhooks" | b"hook")) =>
        {
            Url
        }
        b"webhook" => Url,
        b"url" | b"uri" | b"string"
            if matches!(
                before,
                b"database" | b"db" | b"redis" | b"connection" | b"amqp" | b"mongo" | b"broker"
            ) =>
        {
            Url
        }
        b"connectionstring" => Url,
        b"d" | b"k" if alone => None,
        _ if is_about(word) => return Verdict::Harmless,
        _ => match glued(word) {
            Some(class) => class,
            Option::None => return Verdict::Unknown,
        },
    };
    Verdict::Is(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_case_style() {
        for name in [
            "password",
            "db_password",
            "DB_PASSWORD",
            "dbPassword",
            "db-password",
            "smtp.password",
            "password2",
            "PASSWORD_PROD",
            "PGPASSWORD",
            "user_pass",
            "passwordConfirmation",
            "mysqlpwd",
            "SMTPPassword",
        ] {
            assert_eq!(classify(name.as_bytes()), KeyClass::Password, "{name}");
        }
        for name in [
            "token",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "secret_key_base",
            "STRIPE_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "authToken",
            "accesstoken",
            "signing_salt",
            "hashed_password",
            "AccountKey",
            "API_KEY_OPENAI",
            "private_key",
        ] {
            assert_eq!(classify(name.as_bytes()), KeyClass::Token, "{name}");
        }
        for name in ["client_secret", "SECRET", "clientsecret"] {
            assert_eq!(classify(name.as_bytes()), KeyClass::Secret, "{name}");
        }
    }

    #[test]
    fn names_that_only_sound_secret() {
        for name in [
            "bypass",
            "compass",
            "passing",
            "monkey",
            "keyboard",
            "author",
            "max_tokens",
            "token_count",
            "tokenType",
            "public_key",
            "primary_key",
            "partition_key",
            "cacheKey",
            "idempotency-key",
            "password_file",
            "password_path",
            "secretName",
            "secretKeyRef",
            "csrf_token",
            "password_min_length",
            "secretary",
            "tokenizer",
            "password_changed_at",
            "render_pass",
            "author_id",
            "OLDPWD",
        ] {
            assert!(
                classify(name.as_bytes()) <= KeyClass::Weak,
                "{name}: {:?}",
                classify(name.as_bytes())
            );
        }
    }
}
