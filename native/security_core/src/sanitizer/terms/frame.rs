//! What the walk holds of a term while its parts are looked at.

use std::rc::Rc;

use super::Replaced;
use crate::sanitizer::KeyClass;

/// How a term is looked at.
#[derive(Clone)]
pub(super) enum Look {
    Plain,
    /// As cells under columns.
    Row(Rc<Columns>),
    /// As rows of such cells.
    Rows(Rc<Columns>),
}

/// What the columns of a table say about their cells.
pub(super) struct Columns {
    pub(super) classes: Vec<KeyClass>,
    /// Where a name stands, and the value that it speaks of.
    pub(super) pair: Option<(usize, usize)>,
}

/// A part that is yet to be looked into.
pub(super) struct Child<T> {
    pub(super) slot: usize,
    pub(super) term: T,
    pub(super) class: KeyClass,
    pub(super) look: Look,
}

/// What a part of a list is as a text.
pub(super) enum Piece<T> {
    /// None.
    No,
    /// A binary or a byte, or a list that was searched as one text.
    Yes,
    /// A list that is a text in pieces: as it was before these were judged one by one.
    Apart(T),
}

/// A term that was judged, and what takes its place.
pub(super) struct Judged<T> {
    pub(super) change: Option<T>,
    pub(super) piece: Piece<T>,
}

impl<T> Judged<T> {
    pub(super) fn clean() -> Judged<T> {
        Judged {
            change: None,
            piece: Piece::No,
        }
    }

    pub(super) fn text(change: Option<T>) -> Judged<T> {
        Judged {
            change,
            piece: Piece::Yes,
        }
    }

    pub(super) fn other(change: Option<T>) -> Judged<T> {
        Judged {
            change,
            piece: Piece::No,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Tuple,
    List,
    Map,
}

/// A term whose parts are being looked at. In a map, member `i` has its key in slot `2 i` and its
/// value in the next.
pub(super) struct Frame<T> {
    pub(super) term: T,
    pub(super) shape: Shape,
    pub(super) slot: usize,
    pub(super) children: std::vec::IntoIter<Child<T>>,
    pub(super) changed: Vec<(usize, T)>,
    pub(super) apart: Vec<(usize, T, bool)>,
    /// So far, all parts are pieces of a text.
    pub(super) pieces: bool,
    /// Whether it stands under a telling name.
    pub(super) named: bool,
}

/// The parts of a term as they are gathered, before it becomes a frame.
pub(super) struct Parts<T> {
    pub(super) children: Vec<Child<T>>,
    pub(super) changed: Vec<(usize, T)>,
    pub(super) pieces: bool,
}

impl<T> Parts<T> {
    pub(super) fn new() -> Parts<T> {
        Parts {
            children: Vec::new(),
            changed: Vec::new(),
            pieces: true,
        }
    }
}

pub(super) enum Opened<T> {
    Done(Judged<T>),
    Frame(Frame<T>),
}

impl<T: Clone> Frame<T> {
    pub(super) fn take(&mut self, slot: usize, judged: Judged<T>) {
        let changed = judged.change.is_some();
        self.changed
            .extend(judged.change.map(|change| (slot, change)));
        match judged.piece {
            Piece::No => self.pieces = false,
            Piece::Yes => {}
            Piece::Apart(original) => self.apart.push((slot, original, changed)),
        }
    }
}

/// What a map is by its members.
#[derive(Default)]
pub(super) struct MapKind {
    /// What the member `name` says about the member `value`:
    /// `%{name: "DB_PASSWORD", value: "..."}`.
    pub(super) named: KeyClass,
    pub(super) columns: Option<Rc<Columns>>,
    pub(super) uri: bool,
    /// What the name above says about the keys.
    pub(super) keys: KeyClass,
}

/// Changed slots as changed members.
pub(super) fn replacements<T: Clone>(
    members: Vec<(T, T)>,
    mut changed: Vec<(usize, T)>,
) -> Vec<Replaced<T>> {
    // Stable: of two changes of one slot the later comes second.
    changed.sort_by_key(|(slot, _)| *slot);
    let mut replaced: Vec<(usize, Replaced<T>)> = Vec::new();
    for (slot, change) in changed {
        let (key, value) = &members[slot / 2];
        if replaced.last().is_none_or(|(at, _)| *at != slot / 2) {
            let unchanged = Replaced {
                key: key.clone(),
                new_key: None,
                value: value.clone(),
            };
            replaced.push((slot / 2, unchanged));
        }
        if let Some((_, member)) = replaced.last_mut() {
            match slot % 2 {
                0 => member.new_key = Some(change),
                _ => member.value = change,
            }
        }
    }
    replaced.into_iter().map(|(_, member)| member).collect()
}
