//! A password under its name in another language: in messages, settings and tables' headers.

use super::key;
use super::keys::KeyClass;
use super::literal::Quote;
use super::name::Key;
use super::password_names::name_at;
use super::prose;
use super::scan::Scan;
use super::shape::{WORD, is};

/// Stands glued to a name where a sentence says what it is.
static PARTICLES: &[&str] = &["は", "는", "은", "是", "为", "為"];

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
    }

    #[test]
    fn sentences_without_a_value_stay() {
        clean("contraseña: obligatoria");
        clean("Пароль неверный.");
        clean("密码错误：请重试");
        clean("パスワードは必須です");
        clean("Das Kennwort ist falsch.");
    }
}
