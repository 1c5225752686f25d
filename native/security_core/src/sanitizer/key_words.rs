//! The words that names are made of, by what they say about a value.

use std::sync::LazyLock;

/// The word itself says something, mostly by the words beside it.
pub(super) const TELLS: u8 = 1 << 0;
/// Passwords, in several languages.
pub(super) const PASSWORD: u8 = 1 << 1;
/// May follow the telling word without changing what it tells.
pub(super) const TAIL: u8 = 1 << 2;
/// After it the name is about the secret, not the secret itself.
pub(super) const ABOUT: u8 = 1 << 3;
/// Words with which no name is a secret's, wherever they stand.
pub(super) const HARMLESS: u8 = 1 << 4;
/// What makes a `key` a secret one.
pub(super) const SECRET_KEY_OF: u8 = 1 << 5;
/// Words before `key` that make it a lookup key.
pub(super) const PLAIN_KEY_OF: u8 = 1 << 6;

/// The words, and what each of them says.
#[rustfmt::skip]
static LISTS: &[(u8, &str)] = &[
    (TELLS, "accesskey accountkey apikey apitoken auth authkey authority authorization bearer code \
     codes connectionstring cookie cookies cred credential credentials creds d dsn encryptionkey hash \
     hmac id identitytoken iv jwt k key keys licensekey mac masterkey nonce otp pass passe passwd \
     password passwords pat phrase pin presharedkey privatekey psk pwd salt sas secret secretkey \
     secrets setcookie sharedaccesskey sig signature signer signingkey string team token tokens \
     uri url urls userinfo webhook word"),
    (PASSWORD, "contrasena heslo kennwort masterauth mnemonic passcode passord passphrase passphrases passw \
     passwd password passwords passwort pgpass pgpassword psw pswd pw pword requirepass senha \
     userpass wachtwoord"),
    (TAIL, "a again b b64 backup base base64 ci confirm confirmation current data default dev \
     development encoded eu hex live local main new old override plain plaintext previous primary \
     prod production raw repeat ro rw sandbox secondary stage staging str string test testing \
     text us v val value"),
    (ABOUT, "age alg algo algorithm arn at attempts audience begin bits budget button by bytes callback \
     changed changes class cmd color column command cost count counts date days days_valid \
     delimiter desc description dialog dir directory disabled domain enabled end endpoint entropy \
     env envvar error errors expiration expire expired expires expiry field fields file filename \
     files fn form format func function generator handler header headers helper helpers hint host \
     html icon id ids in index input issuer iterations kind label len length lifetime limit \
     limits link list location manager map message method modal mode module msg name names of \
     offset on only option options out page param params path paths pattern patterns placeholder \
     plugin policy port position prefix program prompt provider ref refs regex required reset \
     retries rounds rule rules scope scopes screen seconds separator service services set size \
     start state status store strength style suffix table template time timeout timestamp title \
     to ttl type types uri url urls usage validation validator var variable version view"),
    (HARMLESS, "allow allows bos can cancellation check cls completion continuation csrf disable enable eos \
     expired foreign forgot generate has hide i18n idempotency idempotent input invalid is \
     keyboard keyword lexer locale max maximum min minimum missing needs no num number output pad \
     page pagination parser partition prompt pub public publishable recaptcha_site require \
     requires rotate sep should show sort syntax total translation unk use uses validate verify \
     without xsrf"),
    (SECRET_KEY_OF, "access account admin aes api apikey app application auth bot cert certificate cipher client \
     cloak consumer cookie crypto decryption deploy ecdsa ed25519 encrypt encryption fernet \
     function functions gpg guardian hex hmac host ingest ingestion integration jwt licence \
     license management master oban pgp preshared priv private psk push read recovery root rsa \
     salt secret seed server service session shared sign signature signing ssh ssl storage \
     subscription symmetric tls token unseal upload user vault webhook wireguard wrap wrapping \
     write"),
    (PLAIN_KEY_OF, "arrow bucket cache column composite config context dedup dict enter escape event foreign \
     group hash hot i18n idempotency index issue item lock lookup map meta metadata natural \
     object partition primary project public query range react registry routing row s3 shortcut \
     site sort sorting store surrogate tab translation unique"),
];

/// Twice as many as there are words, so that most are found at the first look.
const SLOTS: usize = 1024;

/// The words by their bytes, each as one number: no list is walked for any of them.
struct Table {
    words: [u128; SLOTS],
    says: [u8; SLOTS],
}

static TABLE: LazyLock<Box<Table>> = LazyLock::new(|| {
    let mut table = Box::new(Table {
        words: [0; SLOTS],
        says: [0; SLOTS],
    });
    for (bit, words) in LISTS {
        for word in words.split_ascii_whitespace() {
            let number = number(word.as_bytes());
            let slot = table.slot(number);
            table.words[slot] = number;
            table.says[slot] |= bit;
        }
    }
    table
});

impl Table {
    /// Where a word stands, or would stand.
    fn slot(&self, word: u128) -> usize {
        let folded = (word as u64) ^ ((word >> 64) as u64).rotate_left(29);
        let mut slot = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        while self.words[slot] != 0 && self.words[slot] != word {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

/// Zero for a word that is too long for any list.
fn number(word: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    if let Some(start) = bytes.get_mut(..word.len()) {
        start.copy_from_slice(word);
    }
    u128::from_le_bytes(bytes)
}

/// What a word in small letters says, as bits. Digits are a [`TAIL`].
pub(super) fn says(word: &[u8]) -> u8 {
    if word.first().is_some_and(u8::is_ascii_digit) && word.iter().all(u8::is_ascii_digit) {
        return TAIL;
    }
    let number = number(word);
    if number == 0 {
        return 0;
    }
    TABLE.says[TABLE.slot(number)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_says_what_its_list_is_for_and_others_say_nothing() {
        let mut words = 0;
        for (bit, list) in LISTS {
            for word in list.split_ascii_whitespace() {
                assert!(says(word.as_bytes()) & bit != 0, "{word}");
                words += 1;
            }
        }
        assert!(words < SLOTS);
        assert_eq!(says(b"42"), TAIL);
        for word in [
            "",
            "passwor",
            "passwordx",
            "a1",
            "zebra",
            "sharedaccesskeyxyz",
        ] {
            assert_eq!(says(word.as_bytes()), 0, "{word}");
        }
    }
}
