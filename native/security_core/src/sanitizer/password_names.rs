//! What a password is called in other languages.

use super::prefilter::Piece;
use std::sync::LazyLock;

/// A word in small letters, and the piece of it that the prefilter looks for.
pub(crate) struct Name {
    pub(crate) word: &'static str,
    /// Where in the word the piece stands.
    pub(crate) offset: usize,
    /// How long the piece is.
    length: usize,
}

const fn name(word: &'static str, offset: usize, length: usize) -> Name {
    Name {
        word,
        offset,
        length,
    }
}

/// What has "pass" in it is found as in English. Capitals take as many bytes as small letters in
/// all of these.
static NAMES: &[Name] = &[
    name("contraseña", 4, 4),
    name("contrasena", 4, 4),
    name("hasło", 0, 4),
    name("heslo", 0, 4),
    name("kennwort", 2, 4),
    name("lösenord", 3, 4),
    name("senha", 0, 4),
    name("wachtwoord", 2, 4),
    name("şifre", 2, 4),
    name("пароль", 8, 4),
    name("口令", 1, 4),
    name("密码", 1, 4),
    name("密碼", 1, 4),
    name("パスワード", 6, 4),
    name("비밀번호", 0, 4),
];

/// The pieces of all names, in small letters and in capitals.
pub(crate) fn pieces(mut add: impl FnMut(&dyn Fn(u16) -> Piece)) {
    for name in NAMES {
        let small = &name.word.as_bytes()[name.offset..name.offset + name.length];
        let upper = name.word.to_uppercase();
        let capital = &upper.as_bytes()[name.offset..name.offset + name.length];
        add(&|id| Piece::any_case(small, id));
        if !small.eq_ignore_ascii_case(capital) {
            add(&|id| Piece::any_case(capital, id));
        }
    }
}

/// Is this what a password is called somewhere?
pub(crate) fn is_password(name: &[u8]) -> bool {
    name_at(|_| Some(name)).is_some()
}

/// The names in capitals.
static CAPITALS: LazyLock<Vec<String>> =
    LazyLock::new(|| NAMES.iter().map(|name| name.word.to_uppercase()).collect());

/// The name that `text` reads as at some place, whatever the case there. Bytes are compared, not
/// letters: hostile text has many that begin alike.
pub(crate) fn name_at<'t>(at: impl Fn(&Name) -> Option<&'t [u8]>) -> Option<&'static Name> {
    let reads = |(name, capitals): &(&'static Name, &String)| {
        at(name).is_some_and(|found| {
            let cases = name.word.bytes().zip(capitals.bytes());
            let alike =
                |(byte, (small, capital)): (&u8, (u8, u8))| *byte == small || *byte == capital;
            found.len() == name.word.len() && found.iter().zip(cases).all(alike)
        })
    };
    NAMES
        .iter()
        .zip(CAPITALS.iter())
        .find(reads)
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_case() {
        assert!(is_password("Hasło".as_bytes()));
        assert!(!is_password(b"password"));
    }

    #[test]
    fn capitals_are_as_long_as_small_letters() {
        for name in NAMES {
            assert_eq!(name.word.to_uppercase().len(), name.word.len());
        }
    }
}
