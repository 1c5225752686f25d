//! What the name of a key says about its value.
//!
//! Names are split into words (snake, kebab, dotted, camel and screaming case), the last word that
//! carries meaning decides, and other words may take the meaning away: `max_tokens`,
//! `password_file`, `public_key`, `bypass`.

use super::key_words::{ABOUT, HARMLESS, PASSWORD, PLAIN_KEY_OF, SECRET_KEY_OF, TAIL, TELLS, says};
use super::password_names;
use crate::word_list::WordList;

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
    /// Recovery codes, PINs: what has digits, and is short.
    Code,
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
/// Words of a name that are looked at, more than people write; of a longer name the last ones.
const MAX_WORDS: usize = 14;

/// A name in lower case, where its words are, and what each of them says.
struct Words {
    buffer: [u8; MAX_NAME],
    bounds: [(u8, u8); MAX_WORDS],
    says: [u8; MAX_WORDS],
    len: usize,
    screaming: bool,
}

impl Words {
    fn none() -> Words {
        Words {
            buffer: [0; MAX_NAME],
            bounds: [(0, 0); MAX_WORDS],
            says: [0; MAX_WORDS],
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
                self.says.copy_within(1.., 0);
                self.len -= 1;
            }
            self.bounds[self.len] = (start as u8, end as u8);
            self.says[self.len] = says(&self.buffer[start..end]);
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

    /// Does the word before say this?
    fn says_before(&self, index: usize, bit: u8) -> bool {
        index > 0 && self.says[index - 1] & bit != 0
    }

    /// Does any word say this?
    fn any_says(&self, bit: u8) -> bool {
        self.says[..self.len].iter().any(|says| says & bit != 0)
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len).map(|i| self.get(i))
    }
}

/// Whose password a word that ends in `pass` or `pwd` names: `dbpass`, `pgpwd`; not `bypass`,
/// `compass`.
#[rustfmt::skip]
static OWNERS: WordList = WordList::new(&[
    "admin", "database", "db", "ftp", "http", "imap", "key", "ldap", "login", "mail", "my", "mysql",
    "pg", "proxy", "rabbitmq", "redis", "root", "smtp", "sql", "ssh", "ssl", "store", "user",
]);

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
        return OWNERS.has(owner).then_some(KeyClass::Password);
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
        let known = says(owner) & SECRET_KEY_OF != 0
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
    if !name.is_ascii() && password_names::is_password(name) {
        return KeyClass::Password;
    }
    if !words.split(name) {
        return KeyClass::None;
    }
    if words.any_says(HARMLESS) {
        return KeyClass::None;
    }
    let mut last = words.len - 1;
    // `secret_key_base`, `password_2`, `token_prod`: the tail is no part of the meaning.
    while last > 0 && words.says[last] & TAIL != 0 {
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
    let says = words.says[at];
    let told = match says & (TELLS | PASSWORD) {
        0 => None,
        _ => password(words, at)
            .or_else(|| token(words, at))
            .or_else(|| key(words, at))
            .or_else(|| address(words, at)),
    };
    if let Some(verdict) = told {
        return verdict;
    }
    if says & ABOUT != 0 {
        return Verdict::Harmless;
    }
    glued(words.get(at)).map_or(Verdict::Unknown, Verdict::Is)
}

/// Words for passwords.
fn password(words: &Words, at: usize) -> Option<Verdict> {
    let (word, before) = (words.get(at), words.before(at));
    let class = match word {
        // A hash is worth hiding, but only a hash.
        b"password" | b"passwords" | b"passwd"
            if matches!(before, b"hashed" | b"encrypted" | b"crypted") =>
        {
            KeyClass::Token
        }
        _ if words.says[at] & PASSWORD != 0 => KeyClass::Password,
        b"phrase" if matches!(before, b"pass" | b"seed" | b"recovery") => KeyClass::Password,
        b"word" | b"code" if before == b"pass" => KeyClass::Password,
        b"pwd" if before == b"old" && words.screaming => return Some(Verdict::Harmless),
        b"pass" if passes(before) => return Some(Verdict::Harmless),
        b"pwd" | b"pass" | b"passe" | b"setcookie" => KeyClass::Password,
        b"cookie"
            if matches!(
                before,
                b"release" | b"erlang" | b"node" | b"dist" | b"distribution"
            ) =>
        {
            KeyClass::Password
        }
        b"psk" if words.len == 1 || matches!(before, b"wpa" | b"wifi" | b"ike" | b"ipsec") => {
            KeyClass::Password
        }
        _ => return None,
    };
    Some(Verdict::Is(class))
}

/// What passes, or how: a round of work, a test.
#[rustfmt::skip]
static ROUNDS: WordList = WordList::new(&[
    "all", "analysis", "band", "by", "compiler", "did", "does", "each", "first", "high", "last",
    "lint", "low", "multi", "must", "next", "not", "one", "opt", "optimization", "per", "render",
    "second", "shadow", "single", "test", "tests", "third", "this", "two", "will",
]);

/// `first_pass`, `render pass`
fn passes(before: &[u8]) -> bool {
    ROUNDS.has(before)
}

/// Words for secrets, tokens and what is sent with a request.
fn token(words: &Words, at: usize) -> Option<Verdict> {
    let (word, before, alone) = (words.get(at), words.before(at), words.len == 1);
    let class = match word {
        b"secret" | b"secrets" => KeyClass::Secret,
        b"token" => match before {
            b"start" | b"end" | b"stop" | b"special" | b"mask" | b"next" | b"prev"
            | b"previous" | b"current" | b"peek" | b"last" | b"first" | b"sync" | b"per"
            | b"bucket" | b"string" | b"identifier" | b"punctuation" => KeyClass::Weak,
            _ => KeyClass::Token,
        },
        b"signer" => KeyClass::Token,
        b"team" if before == b"honeycomb" => KeyClass::Token,
        b"tokens" | b"jwt" | b"bearer" | b"cookie" | b"cookies" | b"credential"
        | b"credentials" | b"creds" | b"cred" | b"salt" | b"apikey" | b"apitoken"
        | b"secretkey" | b"accesskey" | b"privatekey" | b"authkey" | b"masterkey"
        | b"signingkey" | b"encryptionkey" | b"accountkey" | b"sharedaccesskey" | b"licensekey"
        | b"identitytoken" | b"presharedkey" => KeyClass::Token,
        b"auth"
            if alone || matches!(before, b"_" | b"proxy" | b"basic" | b"http" | b"registry") =>
        {
            KeyClass::Auth
        }
        b"auth" if words.screaming => KeyClass::Token,
        b"authorization" => KeyClass::Auth,
        b"otp" | b"pin" if alone => KeyClass::Code,
        b"code" | b"codes" if opens(before) => KeyClass::Code,
        b"nonce" | b"iv" | b"hmac" | b"sig" | b"signature" | b"mac" | b"code" | b"otp" => {
            KeyClass::Weak
        }
        b"hash" if words.any_says(PASSWORD) => KeyClass::Token,
        b"hash" => KeyClass::Weak,
        b"pat" | b"sas" if !alone => KeyClass::Token,
        b"pat" | b"sas" => KeyClass::Weak,
        _ => return None,
    };
    Some(Verdict::Is(class))
}

/// Whose codes open an account: `recovery_codes`, `otp_code`. Status and country codes don't, and a
/// `pin_code` is India's postal code.
#[rustfmt::skip]
static CODES: WordList = WordList::new(&["backup", "otp", "recovery", "totp", "verification"]);

fn opens(before: &[u8]) -> bool {
    CODES.has(before)
}

/// Keys, by what they open.
fn key(words: &Words, at: usize) -> Option<Verdict> {
    let (word, before) = (words.get(at), words.before(at));
    match word {
        b"key" | b"keys" if words.says_before(at, PLAIN_KEY_OF) => Some(Verdict::Harmless),
        b"key" | b"keys" => {
            // `VENDOR_KEY`: in capitals it is a setting, and its owner's name says whose key it is.
            let vendor = words.screaming && words.len == 2 && word == b"key";
            let class = match words.says_before(at, SECRET_KEY_OF) || vendor {
                true => KeyClass::Token,
                false => KeyClass::Weak,
            };
            Some(Verdict::Is(class))
        }
        // An id is public, except the one that names an AWS account.
        b"id" if before == b"key" && words.iter().any(|w| w == b"access") => {
            Some(Verdict::Is(KeyClass::Token))
        }
        b"d" | b"k" if words.len == 1 => Some(Verdict::Is(KeyClass::None)),
        _ => None,
    }
}

/// Addresses that have a secret in them.
fn address(words: &Words, at: usize) -> Option<Verdict> {
    let hook = |word: &[u8]| matches!(word, b"webhook" | b"webhooks" | b"hook");
    let told = match words.get(at) {
        b"dsn" | b"userinfo" | b"authority" | b"webhook" | b"connectionstring" => true,
        b"url" | b"uri" | b"urls" if words.iter().any(hook) => true,
        b"url" | b"uri" | b"string" => matches!(
            words.before(at),
            b"database" | b"db" | b"redis" | b"connection" | b"amqp" | b"mongo" | b"broker"
        ),
        _ => false,
    };
    told.then_some(Verdict::Is(KeyClass::Url))
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
    fn codes_that_open_an_account() {
        for name in [
            "backup_codes",
            "recoveryCodes",
            "verification_code",
            "PIN",
            "otp",
        ] {
            assert_eq!(classify(name.as_bytes()), KeyClass::Code, "{name}");
        }
        for name in [
            "status_code",
            "country_codes",
            "code",
            "pin_code",
            "pin_number",
            "led_pin",
            "codes",
        ] {
            assert!(classify(name.as_bytes()) <= KeyClass::Weak, "{name}");
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
