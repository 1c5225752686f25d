//! What was found out about names, remembered: an atom is the same word wherever it stands, and a
//! map of a thousand members names them all again each time it is shown.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::sanitizer::KeyClass;

/// What a map's member is for, besides its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    None,
    /// Its value is the name of what stands in the member `value`.
    Names,
    /// What such a name speaks of.
    Value,
    /// Names of the columns of [`Role::Rows`].
    Columns,
    /// Rows of cells.
    Rows,
    /// A structure's kind.
    Struct,
}

impl Role {
    pub(super) fn of(name: &[u8]) -> Role {
        match name {
            b"name" | b"key" | b"header" | b"variable" => Role::Names,
            b"value" => Role::Value,
            b"columns" | b"fields" => Role::Columns,
            b"rows" | b"values" => Role::Rows,
            b"__struct__" => Role::Struct,
            _ => Role::None,
        }
    }
}

/// A name, judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub class: KeyClass,
    pub role: Role,
    /// Holds no secret itself.
    pub clean: bool,
    /// Made of words, or too short to be a value of any session.
    pub word: bool,
}

/// A value's kind by the class of its name, in the words of a summary.
pub(super) fn kind_of(class: KeyClass) -> &'static str {
    match class {
        KeyClass::Password => "password",
        KeyClass::Token | KeyClass::Code | KeyClass::Auth | KeyClass::Weak => "token",
        KeyClass::None | KeyClass::Url | KeyClass::Secret | KeyClass::Field => "secret",
    }
}

const CLASSES: [KeyClass; 9] = [
    KeyClass::None,
    KeyClass::Weak,
    KeyClass::Token,
    KeyClass::Code,
    KeyClass::Auth,
    KeyClass::Url,
    KeyClass::Secret,
    KeyClass::Password,
    KeyClass::Field,
];

const ROLES: [Role; 6] = [
    Role::None,
    Role::Names,
    Role::Value,
    Role::Columns,
    Role::Rows,
    Role::Struct,
];

/// A power of two: 32 kB of memory, more names than a system's maps use in a while.
const SLOTS: usize = 4096;

/// An atom's number takes the bits above these: four for the class, three for the role, one each
/// for `clean` and `word`, one that is always set, so that no judgement is zero.
const NUMBER: u32 = 10;

/// A table without locks: each slot is one word that is whole in itself, and a newer name takes an
/// older one's place.
///
/// It belongs to one sanitizer with one set of known values, since both decide what a name is.
pub struct Names(Box<[AtomicU64]>);

impl Names {
    /// An empty table.
    pub fn new() -> Names {
        Names((0..SLOTS).map(|_| AtomicU64::new(0)).collect())
    }

    fn slot(&self, atom: u64) -> &AtomicU64 {
        // Fibonacci hashing: atoms made one after another have neighbouring numbers.
        let at = atom.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.trailing_zeros());
        &self.0[at as usize]
    }

    pub(super) fn get(&self, atom: u64) -> Option<Name> {
        let word = self.slot(atom).load(Ordering::Relaxed);
        if word >> NUMBER != atom || word & 1 == 0 {
            return None;
        }
        Some(Name {
            class: *CLASSES.get((word >> 6 & 15) as usize)?,
            role: *ROLES.get((word >> 3 & 7) as usize)?,
            clean: word & 4 != 0,
            word: word & 2 != 0,
        })
    }

    pub(super) fn put(&self, atom: u64, name: Name) {
        // A number that doesn't fit is not remembered.
        if atom >> (64 - NUMBER) != 0 {
            return;
        }
        let at = |found: Option<usize>| found.unwrap_or(0) as u64;
        let class = at(CLASSES.iter().position(|class| *class == name.class));
        let role = at(ROLES.iter().position(|role| *role == name.role));
        let flags = u64::from(name.clean) << 2 | u64::from(name.word) << 1 | 1;
        let word = atom << NUMBER | class << 6 | role << 3 | flags;
        self.slot(atom).store(word, Ordering::Relaxed);
    }
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_it_was_put() {
        let names = Names::new();
        let mut atom = 11;
        for class in CLASSES {
            for role in ROLES {
                for (clean, word) in [(false, false), (true, false), (false, true), (true, true)] {
                    let name = Name {
                        class,
                        role,
                        clean,
                        word,
                    };
                    names.put(atom, name);
                    assert_eq!(names.get(atom), Some(name));
                    atom += 64;
                }
            }
        }
    }

    #[test]
    fn a_name_that_lost_its_place_is_not_taken_for_the_one_that_took_it() {
        let names = Names::new();
        let name = |atom: u64| Name {
            class: CLASSES[(atom % 8) as usize],
            role: Role::None,
            clean: true,
            word: true,
        };
        for atom in 0..100_000 {
            names.put(atom, name(atom));
        }
        let kept = (0..100_000).filter_map(|atom| Some((atom, names.get(atom)?)));
        let kept: Vec<(u64, Name)> = kept.collect();
        assert!(kept.len() > SLOTS / 2 && kept.len() <= SLOTS);
        assert!(kept.iter().all(|(atom, kept)| *kept == name(*atom)));
    }

    #[test]
    fn a_number_that_does_not_fit_is_not_remembered() {
        let names = Names::new();
        let name = Name {
            class: KeyClass::None,
            role: Role::None,
            clean: true,
            word: true,
        };
        names.put(u64::MAX, name);
        assert_eq!(names.get(u64::MAX), None);
        assert_eq!(names.get(0), None);
    }
}
