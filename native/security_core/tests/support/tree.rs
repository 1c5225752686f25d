//! Terms as plain Rust values, for tests of what is done to terms.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use security_core::sanitizer::terms::{Kind, REDACTED, Replaced, Terms};

/// A term. Maps keep the order in which they were written.
#[derive(Clone, PartialEq)]
pub enum Tree {
    Text(Rc<[u8]>),
    Atom(Rc<str>),
    Integer(i128),
    Float(f64),
    List(Rc<Cell>),
    Nil,
    Tuple(Rc<[Tree]>),
    Map(Rc<[(Tree, Tree)]>),
    Pid,
}

#[derive(PartialEq)]
pub struct Cell {
    pub head: Tree,
    pub tail: RefCell<Tree>,
}

/// A list of a million cells would end the stack if each freed the next.
impl Drop for Cell {
    fn drop(&mut self) {
        let mut next = self.tail.replace(Tree::Nil);
        while let Tree::List(cell) = next {
            match Rc::try_unwrap(cell) {
                Ok(cell) => next = cell.tail.replace(Tree::Nil),
                Err(_) => break,
            }
        }
    }
}

pub fn text(text: &str) -> Tree {
    Tree::Text(text.as_bytes().into())
}

pub fn bytes(bytes: &[u8]) -> Tree {
    Tree::Text(bytes.into())
}

pub fn atom(name: &str) -> Tree {
    Tree::Atom(name.into())
}

pub fn list(elements: impl IntoIterator<Item = Tree, IntoIter: DoubleEndedIterator>) -> Tree {
    improper(elements, Tree::Nil)
}

pub fn improper(
    elements: impl IntoIterator<Item = Tree, IntoIter: DoubleEndedIterator>,
    tail: Tree,
) -> Tree {
    let cell = |tail, head| {
        let tail = RefCell::new(tail);
        Tree::List(Rc::new(Cell { head, tail }))
    };
    elements.into_iter().rev().fold(tail, cell)
}

pub fn chars(text: &str) -> Tree {
    list(
        text.chars()
            .map(|c| Tree::Integer(c as i128))
            .collect::<Vec<_>>(),
    )
}

pub fn tuple(elements: impl IntoIterator<Item = Tree>) -> Tree {
    Tree::Tuple(elements.into_iter().collect())
}

pub fn map(members: impl IntoIterator<Item = (Tree, Tree)>) -> Tree {
    Tree::Map(members.into_iter().collect())
}

/// As Elixir writes it.
impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tree::Text(text) => write!(f, "{:?}", String::from_utf8_lossy(text)),
            Tree::Atom(name) => write!(f, ":{name}"),
            Tree::Integer(number) => write!(f, "{number}"),
            Tree::Float(number) => write!(f, "{number:?}"),
            Tree::Nil => write!(f, "[]"),
            Tree::Pid => write!(f, "#PID<0.1.0>"),
            Tree::List(_) => {
                let mut list = f.debug_list();
                let mut rest = self.clone();
                while let Tree::List(cell) = rest {
                    list.entry(&cell.head);
                    rest = cell.tail.borrow().clone();
                }
                if rest != Tree::Nil {
                    list.entry(&"|").entry(&rest);
                }
                list.finish()
            }
            Tree::Tuple(elements) => f.debug_set().entries(elements.iter()).finish(),
            Tree::Map(members) => f
                .debug_map()
                .entries(members.iter().map(|(k, v)| (k, v)))
                .finish(),
        }
    }
}

/// Gives atoms numbers as they are met.
#[derive(Default)]
pub struct Trees {
    atoms: RefCell<HashMap<Rc<str>, u64>>,
}

impl Terms for Trees {
    type Term = Tree;

    fn kind<'t>(&'t self, term: &'t Tree) -> Kind<'t> {
        match term {
            Tree::Text(text) => Kind::Text(text),
            Tree::Atom(name) => {
                let mut atoms = self.atoms.borrow_mut();
                let next = atoms.len() as u64;
                Kind::Atom(*atoms.entry(Rc::clone(name)).or_insert(next))
            }
            Tree::Integer(number) => Kind::Integer(u32::try_from(*number).ok()),
            Tree::Float(_) => Kind::Float,
            Tree::List(_) | Tree::Nil => Kind::List,
            Tree::Tuple(_) => Kind::Tuple,
            Tree::Map(_) => Kind::Map,
            Tree::Pid => Kind::Opaque,
        }
    }

    fn atom_name(&self, atom: &Tree) -> String {
        match atom {
            Tree::Atom(name) => name.to_string(),
            _ => String::new(),
        }
    }

    fn cell(&self, list: &Tree) -> Option<(Tree, Tree)> {
        match list {
            Tree::List(cell) => Some((cell.head.clone(), cell.tail.borrow().clone())),
            _ => None,
        }
    }

    fn elements(&self, tuple: &Tree) -> Vec<Tree> {
        match tuple {
            Tree::Tuple(elements) => elements.to_vec(),
            _ => Vec::new(),
        }
    }

    fn size(&self, map: &Tree) -> usize {
        match map {
            Tree::Map(members) => members.len(),
            _ => 0,
        }
    }

    fn members(&self, map: &Tree) -> Vec<(Tree, Tree)> {
        match map {
            Tree::Map(members) => members.to_vec(),
            _ => Vec::new(),
        }
    }

    fn text(&self, text: &[u8]) -> Tree {
        bytes(text)
    }

    fn chars(&self, text: &str) -> Tree {
        chars(text)
    }

    fn marker(&self) -> Tree {
        atom(REDACTED)
    }

    fn list(&self, elements: Vec<Tree>, tail: Option<Tree>) -> Tree {
        improper(elements, tail.unwrap_or(Tree::Nil))
    }

    fn tuple(&self, elements: Vec<Tree>) -> Tree {
        tuple(elements)
    }

    fn replaced(&self, map: &Tree, members: Vec<Replaced<Tree>>) -> Tree {
        let mut all = self.members(map);
        for member in members {
            for (key, value) in all.iter_mut().filter(|(key, _)| *key == member.key) {
                *value = member.value.clone();
                *key = member.new_key.clone().unwrap_or_else(|| key.clone());
            }
        }
        Tree::Map(all.into())
    }
}
