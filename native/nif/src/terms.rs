//! Terms as bytes and as sizes, walked with an explicit stack: native stacks are small, and terms
//! nest as deep as they like.

use rustler::{Binary, MapIterator, Term, TermType};

pub use security_core::sanitizer::terms::Budget;

/// Well under a millisecond, whatever the nodes are.
pub const NORMAL: Budget = Budget {
    nodes: 2_000,
    bytes: 64 * 1024,
};

/// Why bytes could not be made.
#[derive(Debug)]
pub struct OverBudget;

enum Step<'a> {
    Visit(Term<'a>),
    Mark(u8),
}

/// Writes a term so that equal terms have equal bytes, whatever the order in which a map holds its
/// keys, and different terms different bytes.
pub fn canonical(term: Term, mut budget: Budget) -> Result<Vec<u8>, OverBudget> {
    let mut out = Vec::with_capacity(256);
    let mut steps = vec![Step::Visit(term)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Mark(mark) => out.push(mark),
            Step::Visit(term) => write_node(term, &mut out, &mut steps, &mut budget)?,
        }
    }
    Ok(out)
}

fn write_node<'a>(
    term: Term<'a>,
    out: &mut Vec<u8>,
    steps: &mut Vec<Step<'a>>,
    budget: &mut Budget,
) -> Result<(), OverBudget> {
    match term.get_type() {
        TermType::Binary => {
            if let Ok(binary) = Binary::from_term(term) {
                spend(budget, binary.len())?;
                write_bytes(out, b'b', binary.as_slice());
                return Ok(());
            }
        }
        TermType::Map => return write_map(term, out, steps, budget),
        TermType::List => {
            spend(budget, 0)?;
            let Ok((head, tail)) = term.list_get_cell() else {
                out.push(b'e');
                return Ok(());
            };
            out.push(b'c');
            steps.push(Step::Visit(tail));
            steps.push(Step::Visit(head));
            return Ok(());
        }
        TermType::Tuple => {
            spend(budget, 0)?;
            let elements = rustler::types::tuple::get_tuple(term).unwrap_or_default();
            if elements.len() > budget.nodes {
                return Err(OverBudget);
            }
            out.push(b'(');
            out.extend_from_slice(&(elements.len() as u64).to_be_bytes());
            steps.push(Step::Mark(b')'));
            steps.extend(elements.into_iter().rev().map(Step::Visit));
            return Ok(());
        }
        _ => {}
    }
    write_scalar(term, out, budget)
}

/// Keys in the order of their bytes, then the values in the same order.
fn write_map<'a>(
    term: Term<'a>,
    out: &mut Vec<u8>,
    steps: &mut Vec<Step<'a>>,
    budget: &mut Budget,
) -> Result<(), OverBudget> {
    spend(budget, 0)?;
    let size = term.map_size().unwrap_or(0);
    if size > budget.nodes {
        return Err(OverBudget);
    }
    out.push(b'{');
    out.extend_from_slice(&(size as u64).to_be_bytes());
    // Keys are written to the end of the buffer as they come, and moved into order once all of them
    // stand there.
    let start = out.len();
    let mut pairs: Vec<(usize, usize, Term)> = Vec::with_capacity(size);
    for (key, value) in MapIterator::new(term).into_iter().flatten() {
        let from = out.len();
        write_scalar(key, out, budget)?;
        pairs.push((from - start, out.len() - start, value));
    }
    let sorted = |out: &[u8]| {
        pairs
            .windows(2)
            .all(|pair| out[pair[0].0..pair[0].1] <= out[pair[1].0..pair[1].1])
    };
    if !sorted(&out[start..]) {
        let keys = out[start..].to_vec();
        pairs.sort_by(|left, right| keys[left.0..left.1].cmp(&keys[right.0..right.1]));
        out.truncate(start);
        for (from, to, _) in &pairs {
            out.extend_from_slice(&keys[*from..*to]);
        }
    }
    steps.extend(pairs.iter().rev().map(|(_, _, value)| Step::Visit(*value)));
    Ok(())
}

fn spend(budget: &mut Budget, bytes: usize) -> Result<(), OverBudget> {
    if budget.take(bytes) {
        Ok(())
    } else {
        Err(OverBudget)
    }
}

fn write_bytes(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// A map's key, or anything that is not walked: by its content where that is cheap, else in the
/// external format.
fn write_scalar(term: Term, out: &mut Vec<u8>, budget: &mut Budget) -> Result<(), OverBudget> {
    if let Ok(binary) = Binary::from_term(term) {
        spend(budget, binary.len())?;
        write_bytes(out, b'b', binary.as_slice());
    } else if let Ok(number) = term.decode::<i64>() {
        spend(budget, 8)?;
        write_bytes(out, b'i', &number.to_be_bytes());
    } else if term.is_atom() {
        spend(budget, 16)?;
        write_bytes(
            out,
            b'a',
            term.atom_to_string().unwrap_or_default().as_bytes(),
        );
    } else {
        // A key that is itself a structure: bounded by its size on the heap before it is written
        // out.
        let words = size_within(term, budget.bytes / 8, Some(budget.nodes)).ok_or(OverBudget)?;
        spend(budget, words * 8)?;
        write_bytes(out, b't', term.to_binary().as_slice());
    }
    Ok(())
}

/// Words that a copy of the term takes on a heap, if they are at most `limit` and there are at most
/// `nodes` nodes.
///
/// Shared parts count as often as they are reached, since a copy unfolds them.
pub fn size_within(term: Term, limit: usize, nodes: Option<usize>) -> Option<usize> {
    let mut words = 0usize;
    let mut seen = 0usize;
    let mut stack = vec![term];
    while let Some(term) = stack.pop() {
        seen += 1;
        if nodes.is_some_and(|nodes| seen > nodes) {
            return None;
        }
        match term.get_type() {
            TermType::List => {
                if let Ok((head, tail)) = term.list_get_cell() {
                    words += 2;
                    stack.push(tail);
                    stack.push(head);
                }
            }
            TermType::Tuple => {
                let elements = rustler::types::tuple::get_tuple(term).unwrap_or_default();
                words += elements.len() + 1;
                stack.extend(elements);
            }
            TermType::Map => {
                words += 2 * term.map_size().unwrap_or(0) + 4;
                if words > limit {
                    return None;
                }
                for (key, value) in MapIterator::new(term).into_iter().flatten() {
                    stack.push(key);
                    stack.push(value);
                }
            }
            TermType::Binary => {
                // Up to 64 bytes live on the heap, larger ones behind a reference.
                let length = Binary::from_term(term).map_or(0, |binary| binary.len());
                words += if length <= 64 {
                    2 + length.div_ceil(8)
                } else {
                    6
                };
            }
            TermType::Atom => {}
            TermType::Integer => words += 1,
            // Funs, references, external pids: more than this they rarely take.
            _ => words += 8,
        }
        if words > limit {
            return None;
        }
    }
    Some(words)
}

/// Whether a copy of the term takes at most `words`; `:dirty` when that can't be said quickly.
#[rustler::nif]
fn term_within<'a>(env: rustler::Env<'a>, term: Term<'a>, words: usize) -> Term<'a> {
    use rustler::Encoder;
    match size_within(term, words, Some(NORMAL.nodes)) {
        Some(_) => true.encode(env),
        None => crate::atoms::dirty().encode(env),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn term_within_dirty(term: Term, words: usize) -> bool {
    size_within(term, words, None).is_some()
}
