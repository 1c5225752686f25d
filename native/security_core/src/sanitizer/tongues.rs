//! What a password is called in other languages: in messages, settings and tables' headers.

use super::key::{self, Key};
use super::keys::KeyClass;
use super::literal::Quote;
use super::prefilter::Piece;
use super::prose;
use super::scan::Scan;
use super::shape::{WORD, is};
use std::sync::LazyLock;

/// A word in small letters, and the piece of it that the prefilter looks for.
struct Name {
    word: &'static str,
    /// Where in the word the piece stands.
    offset: usize,
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

/// Stands glued to a name where a sentence says what it is.
static PARTICLES: &[&str] = &["は", "는", "은", "是", "为", "為"];

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
fn name_at<'t>(at: impl Fn(&Name) -> Option<&'t [u8]>) -> Option<&'static Name> {
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

/// A piece of a name stands at `at`: reads the name, what follows it, and the value.
pub(crate) fn named(scan: &mut Scan, at: usize) {
    let text = scan.text;
    scan.spend(32);
    let name = name_at(|name| {
        let start = at.checked_sub(name.offset)?;
        text.get(start..start + name.word.len())
    });
    let Some(name) = name else {
        return;
    };
    let (start, end) = (at - name.offset, at - name.offset + name.word.len());
    // A piece of a longer name is not a name; where words are not divided, the one before ends
    // here.
    let glued = |at: usize| name.word.as_bytes()[0] < 0x80 && text.get(at).is_some_and(letter);
    if start < scan.value_until
        || end <= scan.key_end
        || start > 0 && glued(start - 1)
        || glued(end)
    {
        return;
    }
    scan.key_end = end;
    let key = Key {
        name: &text[start..end],
        start,
        dashes: 0,
        quote: Quote::ending_at(text, start).map(|(quote, _)| quote),
        atom: start > 0 && text[start - 1] == b':',
    };
    match PARTICLES
        .iter()
        .find(|particle| text[end..].starts_with(particle.as_bytes()))
    {
        Some(particle) => prose::said(scan, &key, KeyClass::Password, end + particle.len()),
        None => key::told(scan, key, end, KeyClass::Password),
    }
}

fn letter(byte: &u8) -> bool {
    is(*byte, WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitizer::tests::{clean, redacts};

    #[test]
    fn names_of_other_languages() {
        redacts("contraseña: §hunter22§");
        redacts("Пароль: §hunter22§");
        redacts("密码：§hunter22§");
        redacts("パスワードは §hunter22§ です");
        redacts("Das Kennwort für ann lautet §hunter22§.");
        redacts("{\"senha\":\"§hunter22§\"}");
        redacts("КОНФИГ ПАРОЛЬ=§hunter22§");
        assert!(is_password("Hasło".as_bytes()));
        assert!(!is_password(b"password"));
    }

    #[test]
    fn sentences_without_a_value_stay() {
        clean("contraseña: obligatoria");
        clean("Пароль неверный.");
        clean("密码错误：请重试");
        clean("パスワードは必須です");
        clean("Das Kennwort ist falsch.");
    }

    #[test]
    fn capitals_are_as_long_as_small_letters() {
        for name in NAMES {
            assert_eq!(name.word.to_uppercase().len(), name.word.len());
        }
    }
}
