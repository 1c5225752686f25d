//! Frames and terms as the BEAM speaks them on a port.
//!
//! Messages travel with a four-byte length in front (`{:packet, 4}`) and hold one term in the
//! external term format. Elixir has no JSON before 1.18, while every release writes and reads this
//! format by itself; a spec needs only its small subset of integers, binaries, atoms, lists, tuples
//! and maps. Everything else is refused.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;

/// A frame above this size is refused: no spec comes near it, and a length gone wrong must not
/// allocate gigabytes.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Specs nest six levels deep; the reader recurses, so it needs a bound of its own.
const MAX_DEPTH: usize = 12;

const VERSION: u8 = 131;
const SMALL_INTEGER: u8 = 97;
const INTEGER: u8 = 98;
const ATOM: u8 = 100;
const SMALL_TUPLE: u8 = 104;
const NIL: u8 = 106;
const STRING: u8 = 107;
const LIST: u8 = 108;
const BINARY: u8 = 109;
const SMALL_BIG: u8 = 110;
const MAP: u8 = 116;
const ATOM_UTF8: u8 = 118;
const SMALL_ATOM_UTF8: u8 = 119;

/// An Erlang term, as far as this program speaks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// An integer of 64 bits.
    Int(i64),
    /// An atom by its name.
    Atom(String),
    /// A binary.
    Bytes(Vec<u8>),
    /// A proper list.
    List(Vec<Term>),
    /// A tuple.
    Tuple(Vec<Term>),
    /// A map, in the order of the wire.
    Map(Vec<(Term, Term)>),
}

impl Term {
    /// A binary from text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }

    /// An integer; counters beyond the range saturate, which no counter here reaches.
    pub fn count(count: u64) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The atom `true` or `false`.
    pub fn bool(value: bool) -> Self {
        Self::Atom(if value { "true" } else { "false" }.to_owned())
    }

    /// The atom `nil`.
    pub fn nil() -> Self {
        Self::Atom("nil".to_owned())
    }

    /// A map whose keys are binaries, so that the reader on the other side never makes atoms from
    /// them.
    pub fn map<const N: usize>(fields: [(&str, Term); N]) -> Self {
        Self::Map(
            fields
                .into_iter()
                .map(|(key, value)| (Self::text(key), value))
                .collect(),
        )
    }

    /// Reads one term; `Err` says what is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut input = bytes;
        if take::<1>(&mut input)? != [VERSION] {
            return Err("not an external term".to_owned());
        }
        let term = decode(&mut input, MAX_DEPTH)?;
        if input.is_empty() {
            Ok(term)
        } else {
            Err("bytes after the term".to_owned())
        }
    }

    /// Writes the term with its version byte.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        encode(self, &mut out);
        out
    }
}

fn take<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], String> {
    let (front, rest) = input.split_first_chunk::<N>().ok_or("term is cut short")?;
    *input = rest;
    Ok(*front)
}

fn take_slice<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (front, rest) = input.split_at_checked(length).ok_or("term is cut short")?;
    *input = rest;
    Ok(front)
}

fn length(input: &mut &[u8]) -> Result<usize, String> {
    Ok(u32::from_be_bytes(take(input)?) as usize)
}

fn atom(bytes: &[u8]) -> Result<Term, String> {
    let name = std::str::from_utf8(bytes).map_err(|_| "atom is not UTF-8")?;
    Ok(Term::Atom(name.to_owned()))
}

fn terms(input: &mut &[u8], count: usize, depth: usize) -> Result<Vec<Term>, String> {
    // Each term takes at least one byte: a count beyond that is a lie, found before memory is
    // reserved for it.
    if count > input.len() {
        return Err("term is cut short".to_owned());
    }
    (0..count).map(|_| decode(input, depth)).collect()
}

fn decode(input: &mut &[u8], depth: usize) -> Result<Term, String> {
    let depth = depth.checked_sub(1).ok_or("term is nested too deeply")?;
    let [tag] = take(input)?;
    match tag {
        SMALL_INTEGER => Ok(Term::Int(i64::from(take::<1>(input)?[0]))),
        INTEGER => Ok(Term::Int(i64::from(i32::from_be_bytes(take(input)?)))),
        SMALL_BIG => {
            let [size, sign] = take(input)?;
            let mut magnitude = [0_u8; 16];
            let digits = take_slice(input, usize::from(size))?;
            magnitude
                .get_mut(..digits.len())
                .ok_or("integer is too large")?
                .copy_from_slice(digits);
            let magnitude = i128::try_from(u128::from_le_bytes(magnitude))
                .map_err(|_| "integer is too large")?;
            let value = if sign == 0 { magnitude } else { -magnitude };
            Ok(Term::Int(
                i64::try_from(value).map_err(|_| "integer is too large")?,
            ))
        }
        ATOM | ATOM_UTF8 => {
            let size = usize::from(u16::from_be_bytes(take(input)?));
            atom(take_slice(input, size)?)
        }
        SMALL_ATOM_UTF8 => {
            let size = usize::from(take::<1>(input)?[0]);
            atom(take_slice(input, size)?)
        }
        BINARY => {
            let size = length(input)?;
            Ok(Term::Bytes(take_slice(input, size)?.to_vec()))
        }
        NIL => Ok(Term::List(Vec::new())),
        // How the BEAM writes a list of bytes, such as a list of port numbers below 256.
        STRING => {
            let size = usize::from(u16::from_be_bytes(take(input)?));
            let bytes = take_slice(input, size)?;
            Ok(Term::List(
                bytes
                    .iter()
                    .map(|byte| Term::Int(i64::from(*byte)))
                    .collect(),
            ))
        }
        LIST => {
            let count = length(input)?;
            let items = terms(input, count, depth)?;
            if take::<1>(input)? == [NIL] {
                Ok(Term::List(items))
            } else {
                Err("improper list".to_owned())
            }
        }
        SMALL_TUPLE => {
            let count = usize::from(take::<1>(input)?[0]);
            Ok(Term::Tuple(terms(input, count, depth)?))
        }
        MAP => {
            let count = length(input)?;
            let mut flat = terms(input, count.saturating_mul(2), depth)?.into_iter();
            let mut pairs = Vec::with_capacity(count);
            while let (Some(key), Some(value)) = (flat.next(), flat.next()) {
                pairs.push((key, value));
            }
            Ok(Term::Map(pairs))
        }
        other => Err(format!("term of an unknown kind ({other})")),
    }
}

fn encode_length(length: usize, out: &mut Vec<u8>) {
    // Everything that leaves this program is bounded by the capture budgets, far below 4 GiB.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

// Recurses over terms that this program made itself, a few levels deep.
fn encode(term: &Term, out: &mut Vec<u8>) {
    match term {
        Term::Int(value) => match i32::try_from(*value) {
            Ok(value) => {
                out.push(INTEGER);
                out.extend_from_slice(&value.to_be_bytes());
            }
            Err(_) => {
                out.extend_from_slice(&[SMALL_BIG, 8, u8::from(*value < 0)]);
                out.extend_from_slice(&value.unsigned_abs().to_le_bytes());
            }
        },
        Term::Atom(name) => {
            let name = name.as_bytes();
            out.push(ATOM_UTF8);
            out.extend_from_slice(&u16::try_from(name.len()).unwrap_or(u16::MAX).to_be_bytes());
            out.extend_from_slice(name);
        }
        Term::Bytes(bytes) => {
            out.push(BINARY);
            encode_length(bytes.len(), out);
            out.extend_from_slice(bytes);
        }
        Term::List(items) => {
            if !items.is_empty() {
                out.push(LIST);
                encode_length(items.len(), out);
                for item in items {
                    encode(item, out);
                }
            }
            out.push(NIL);
        }
        Term::Tuple(items) => {
            out.extend_from_slice(&[SMALL_TUPLE, u8::try_from(items.len()).unwrap_or(u8::MAX)]);
            for item in items {
                encode(item, out);
            }
        }
        Term::Map(pairs) => {
            out.push(MAP);
            encode_length(pairs.len(), out);
            for (key, value) in pairs {
                encode(key, out);
                encode(value, out);
            }
        }
    }
}

/// Cuts the byte stream from the BEAM into frames.
#[derive(Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
}

/// What one attempt to read brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// Bytes, perhaps whole frames.
    Some,
    /// Nothing for now.
    None,
    /// The other side is gone.
    Closed,
}

impl FrameReader {
    /// Reads once from the descriptor.
    pub fn fill(&mut self, from: impl AsFd) -> Input {
        let mut chunk = [0_u8; 64 * 1024];
        match rustix::io::read(from, &mut chunk) {
            Ok(0) => Input::Closed,
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Input::Some
            }
            Err(Errno::INTR | Errno::AGAIN) => Input::None,
            Err(_) => Input::Closed,
        }
    }

    /// The next whole frame; an error when its length is beyond reason.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_FRAME {
            return Err(format!("frame of {length} bytes"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = rest[..length].to_vec();
        self.buffer.drain(..4 + length);
        Ok(Some(frame))
    }
}

/// Frames on their way to the BEAM. Nothing is sent unasked except one start and one end, so this
/// stays small.
#[derive(Default)]
pub struct FrameWriter {
    buffer: VecDeque<u8>,
}

impl FrameWriter {
    /// Queues one term.
    pub fn push(&mut self, term: &Term) {
        let body = term.encode();
        self.buffer
            .extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.buffer.extend(body);
    }

    /// True when all has been written.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Writes as much as the descriptor takes now.
    pub fn flush(&mut self, to: impl AsFd) -> io::Result<()> {
        while !self.buffer.is_empty() {
            match rustix::io::write(&to, self.buffer.as_slices().0) {
                Ok(count) => drop(self.buffer.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let term = Term::map([
            ("small", Term::Int(7)),
            ("negative", Term::Int(-1)),
            ("large", Term::Int(i64::MAX)),
            ("least", Term::Int(i64::MIN)),
            (
                "list",
                Term::List(vec![Term::bool(true), Term::nil(), Term::List(vec![])]),
            ),
            (
                "tuple",
                Term::Tuple(vec![Term::text("é"), Term::Bytes(vec![255, 0])]),
            ),
        ]);
        assert_eq!(Term::decode(&term.encode()).unwrap(), term);
    }

    #[test]
    fn reads_what_the_beam_writes() {
        // :erlang.term_to_binary(%{a: [80, 443], b: [1, 2]}) on OTP 25: old atom tags, a byte list
        // as a string.
        let bytes = [
            131, 116, 0, 0, 0, 2, 100, 0, 1, 97, 108, 0, 0, 0, 2, 97, 80, 98, 0, 0, 1, 187, 106,
            100, 0, 1, 98, 107, 0, 2, 1, 2,
        ];
        let expected = Term::Map(vec![
            (
                Term::Atom("a".into()),
                Term::List(vec![Term::Int(80), Term::Int(443)]),
            ),
            (
                Term::Atom("b".into()),
                Term::List(vec![Term::Int(1), Term::Int(2)]),
            ),
        ]);
        assert_eq!(Term::decode(&bytes).unwrap(), expected);
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_an_answer_not_a_panic() {
        let bytes =
            Term::map([("k", Term::List(vec![Term::Int(1 << 40), Term::text("abc")]))]).encode();
        for end in 0..bytes.len() {
            assert!(Term::decode(&bytes[..end]).is_err());
        }
        for place in 0..bytes.len() {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[place] = value;
                let _ = Term::decode(&changed);
            }
        }
    }

    #[test]
    fn depth_and_counts_are_bounded() {
        let mut deep = vec![131];
        for _ in 0..100_000 {
            deep.extend_from_slice(&[SMALL_TUPLE, 1]);
        }
        assert_eq!(
            Term::decode(&deep).unwrap_err(),
            "term is nested too deeply"
        );
        assert!(Term::decode(&[131, LIST, 255, 255, 255, 255, 106]).is_err());
    }

    #[test]
    fn frames_arrive_in_pieces() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut out = FrameWriter::default();
        out.push(&Term::Int(1));
        out.push(&Term::Int(2));
        let bytes: Vec<u8> = out.buffer.iter().copied().collect();
        let mut frames = FrameReader::default();
        let mut seen = Vec::new();
        for byte in bytes {
            rustix::io::write(&writer, &[byte]).unwrap();
            assert_eq!(frames.fill(&reader), Input::Some);
            while let Some(frame) = frames.next_frame().unwrap() {
                seen.push(Term::decode(&frame).unwrap());
            }
        }
        assert_eq!(seen, [Term::Int(1), Term::Int(2)]);
        drop(writer);
        assert_eq!(frames.fill(&reader), Input::Closed);
    }

    #[test]
    fn an_absurd_frame_is_refused_before_it_is_awaited() {
        let mut frames = FrameReader {
            buffer: vec![255, 255, 255, 255, 1],
        };
        assert!(frames.next_frame().is_err());
    }
}
