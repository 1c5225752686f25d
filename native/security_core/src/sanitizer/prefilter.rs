//! Finds, at memory speed, the few places of a text that may start a secret.
//!
//! Every rule hangs on a piece of two to four bytes ("piece") that any match must contain. The
//! pieces are spread over groups of eight buckets; for each of four neighbouring bytes two 16-entry
//! tables, one per nibble, say which buckets that byte allows, so that thirty-two positions are
//! decided by a handful of byte shuffles. What survives is looked up by its hash and compared
//! exactly, hence the vector code and the portable code report the very same hits.

/// A piece of up to four bytes, with a mask for letters of either case and for bytes that don't
/// matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    value: u32,
    mask: u32,
    /// What the caller wants to know at a hit.
    pub(crate) id: u16,
}

impl Piece {
    /// A piece that must occur as it is.
    pub(crate) fn exact(bytes: &[u8], id: u16) -> Piece {
        Piece::masked(bytes, &[0xff; 4], id)
    }

    /// A piece whose letters may be of either case.
    pub(crate) fn any_case(bytes: &[u8], id: u16) -> Piece {
        let mut mask = [0xff; 4];
        for (m, b) in mask.iter_mut().zip(bytes) {
            if b.is_ascii_alphabetic() {
                *m = 0xdf;
            }
        }
        Piece::masked(bytes, &mask, id)
    }

    /// A piece of which only the bits of `mask` count.
    pub(crate) fn masked(bytes: &[u8], mask: &[u8], id: u16) -> Piece {
        debug_assert!((1..=4).contains(&bytes.len()));
        let (mut v, mut m) = ([0u8; 4], [0u8; 4]);
        for (i, &b) in bytes.iter().take(4).enumerate() {
            m[i] = mask[i];
            v[i] = b & mask[i];
        }
        Piece {
            value: u32::from_le_bytes(v),
            mask: u32::from_le_bytes(m),
            id,
        }
    }

    fn length(&self) -> usize {
        (4 - self.mask.leading_zeros() / 8) as usize
    }

    /// The bytes that it asks for; of letters of either case the small ones.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let small = |(i, b): (usize, u8)| match (self.mask >> (8 * i)) as u8 {
            0xdf => b.to_ascii_lowercase(),
            _ => b,
        };
        let bytes = self.value.to_le_bytes().into_iter().enumerate();
        bytes.take(self.length()).map(small).collect()
    }

    fn allows(&self, position: usize, byte: u8) -> bool {
        let shift = 8 * position;
        (u32::from(byte) << shift) & self.mask == self.value & (0xff << shift)
    }
}

/// A place where a piece occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hit {
    pub(crate) at: u32,
    pub(crate) id: u16,
}

/// Hits are handed over in batches, so that nothing is allocated.
pub(crate) const BATCH: usize = 64;

/// The hits of a stretch of text, and where to go on.
pub(crate) struct Batch {
    hits: [Hit; BATCH],
    len: usize,
    /// Everything before this position has been looked at.
    pub(crate) next: usize,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch {
            hits: [Hit::default(); BATCH],
            len: 0,
            next: 0,
        }
    }

    pub(crate) fn hits(&self) -> &[Hit] {
        &self.hits[..self.len]
    }

    /// Takes those of `pieces` that stand at `at`. The lower id is the more specific rule, and
    /// comes first.
    fn compare(&mut self, window: u32, pieces: &[Piece], at: usize) {
        let at = at as u32;
        for piece in pieces {
            if window & piece.mask == piece.value {
                let mut slot = self.len;
                while slot > 0 && self.hits[slot - 1].at == at && self.hits[slot - 1].id > piece.id
                {
                    self.hits[slot] = self.hits[slot - 1];
                    slot -= 1;
                }
                self.hits[slot] = Hit { at, id: piece.id };
                self.len += 1;
            }
        }
    }
}

/// Eight buckets' tables: for each byte of a window, by low and by high nibble, the buckets that
/// allow it.
struct Group {
    low: [[u8; 16]; 4],
    high: [[u8; 16]; 4],
}

const GROUPS: usize = 4;

pub(crate) struct Prefilter {
    groups: [Group; GROUPS],
    /// The portable path: for each byte of the window, the buckets that allow it, one byte per
    /// group.
    bytes: Box<[[u32; 256]; 4]>,
    /// Pieces by their length, the shortest being one or two bytes long.
    lengths: [Lookup; 3],
    /// The most pieces that can hit at one position.
    crowd: usize,
}

/// The pieces of one length by the hash of a window that begins with them, without regard to the
/// letters' case. The nibble tables let about one position in thirty of ordinary text pass, this one
/// in several hundred; and no window costs more than the few pieces that share its slot.
struct Lookup {
    /// The bytes of a window that count.
    window: u32,
    /// Which slots have pieces: a table that stays near the processor.
    taken: Box<[u64; SLOTS / 64]>,
    /// Where each slot's pieces begin.
    starts: Box<[u16]>,
    pieces: Vec<Piece>,
}

const SLOTS: usize = 1 << 16;

impl Lookup {
    const FOLD: u32 = 0xdfdf_dfdf;

    fn new<'p>(pieces: impl Iterator<Item = &'p Piece>, length: usize) -> Lookup {
        let mut entries: Vec<(usize, Piece)> = pieces
            .flat_map(|piece| slots(piece, length).into_iter().map(|slot| (slot, *piece)))
            .collect();
        entries.sort_by_key(|(slot, piece)| (*slot, piece.id));
        assert!(entries.len() < usize::from(u16::MAX), "too many pieces");
        let mut taken = Box::new([0; SLOTS / 64]);
        let mut starts = vec![0; SLOTS + 1];
        for (slot, _) in &entries {
            taken[slot / 64] |= 1 << (slot % 64);
            starts[slot + 1] += 1;
        }
        for slot in 0..SLOTS {
            starts[slot + 1] += starts[slot];
        }
        Lookup {
            window: u32::MAX >> (32 - 8 * length),
            taken,
            starts: starts.into(),
            pieces: entries.into_iter().map(|(_, piece)| piece).collect(),
        }
    }

    #[inline(always)]
    fn slot(window: u32) -> usize {
        ((window & Lookup::FOLD).wrapping_mul(0x9e37_79b1) >> 16) as usize
    }

    #[inline(always)]
    fn at(&self, window: u32) -> &[Piece] {
        let slot = Lookup::slot(window & self.window);
        if self.taken[slot / 64] >> (slot % 64) & 1 == 0 {
            return &[];
        }
        &self.pieces[self.starts[slot].into()..self.starts[slot + 1].into()]
    }
}

/// The slots of every window that a piece allows in its first `length` bytes.
fn slots(piece: &Piece, length: usize) -> Vec<usize> {
    let mut windows = vec![0u32];
    for position in 0..length {
        let mut folded = [false; 256];
        for byte in (0..=255u8).filter(|&b| piece.allows(position, b)) {
            folded[usize::from(byte & 0xdf)] = true;
        }
        let bytes: Vec<u32> = (0..256).filter(|&b| folded[b as usize]).collect();
        let longer = |w: &u32| {
            let w = *w;
            bytes.iter().map(move |b| w | b << (8 * position))
        };
        windows = windows.iter().flat_map(longer).collect();
    }
    let mut slots: Vec<usize> = windows.into_iter().map(Lookup::slot).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

impl Prefilter {
    pub(crate) fn new(pieces: Vec<Piece>) -> Prefilter {
        let compatible =
            |a: &Piece, b: &Piece| a.value & a.mask & b.mask == b.value & a.mask & b.mask;
        let crowd = pieces
            .iter()
            .map(|a| pieces.iter().filter(|b| compatible(a, b)).count())
            .max()
            .unwrap_or(0);
        assert!(crowd <= BATCH, "too many pieces for one position");
        let lengths = [2, 3, 4].map(|length| {
            let same = |piece: &&Piece| piece.length().max(2) == length;
            Lookup::new(pieces.iter().filter(same), length)
        });
        let mut buckets = pack(pieces);
        buckets.resize_with(8 * GROUPS, Vec::new);
        let mut buckets = buckets.into_iter();
        let groups = std::array::from_fn(|_| {
            let eight: [Vec<Piece>; 8] =
                std::array::from_fn(|_| buckets.next().unwrap_or_default());
            Group::new(&eight)
        });
        let mut bytes = Box::new([[0u32; 256]; 4]);
        for (position, table) in bytes.iter_mut().enumerate() {
            for (byte, entry) in table.iter_mut().enumerate() {
                for (g, group) in groups.iter().enumerate() {
                    let set = group.low[position][byte & 15] & group.high[position][byte >> 4];
                    *entry |= u32::from(set) << (8 * g);
                }
            }
        }
        Prefilter {
            groups,
            bytes,
            lengths,
            crowd,
        }
    }

    /// Fills `batch` with the hits from `from` on, in ascending order, until it is full or the text
    /// ends.
    pub(crate) fn fill(&self, text: &[u8], from: usize, batch: &mut Batch) {
        batch.len = 0;
        batch.next = from;
        #[cfg(target_arch = "x86_64")]
        if text.len() >= from + 35 && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2, as just asked.
            unsafe { self.fill_avx2(text, batch) };
        }
        self.fill_portable(text, batch);
    }

    /// May any piece occur? Exact enough for texts of some bytes, of which terms have many.
    pub(crate) fn may_hit(&self, text: &[u8]) -> bool {
        (0..text.len()).any(|at| {
            let window = match text[at..].first_chunk() {
                Some(window) => *window,
                None => {
                    let mut window = [0; 4];
                    window[..text.len() - at].copy_from_slice(&text[at..]);
                    window
                }
            };
            let [a, b, c, d] = window.map(usize::from);
            let set = self.bytes[0][a] & self.bytes[1][b] & self.bytes[2][c] & self.bytes[3][d];
            let window = u32::from_le_bytes(window);
            set != 0
                && self
                    .lengths
                    .iter()
                    .any(|pieces| !pieces.at(window).is_empty())
        })
    }

    #[inline]
    fn full(&self, batch: &Batch) -> bool {
        batch.len + self.crowd > BATCH
    }

    fn fill_portable(&self, text: &[u8], batch: &mut Batch) {
        let mut at = batch.next;
        while at + 4 <= text.len() && !self.full(batch) {
            let [a, b, c, d] =
                [text[at], text[at + 1], text[at + 2], text[at + 3]].map(usize::from);
            let set = self.bytes[0][a] & self.bytes[1][b] & self.bytes[2][c] & self.bytes[3][d];
            if set != 0 {
                let window = u32::from_le_bytes([a as u8, b as u8, c as u8, d as u8]);
                self.confirm(window, at, batch);
            }
            at += 1;
        }
        // The last three windows reach past the end; zero bytes stand there, which no piece asks
        // for.
        while at < text.len() && !self.full(batch) && at + 4 > text.len() {
            let mut window = [0u8; 4];
            window[..text.len() - at].copy_from_slice(&text[at..]);
            let [a, b, c, d] = window.map(usize::from);
            let set = self.bytes[0][a] & self.bytes[1][b] & self.bytes[2][c] & self.bytes[3][d];
            if set != 0 {
                self.confirm(u32::from_le_bytes(window), at, batch);
            }
            at += 1;
        }
        batch.next = at;
    }

    #[inline(always)]
    fn confirm(&self, window: u32, at: usize, batch: &mut Batch) {
        for pieces in &self.lengths {
            let here = pieces.at(window);
            if !here.is_empty() {
                batch.compare(window, here, at);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_avx2(&self, text: &[u8], batch: &mut Batch) {
        use std::arch::x86_64::*;

        // Broadcast where it is used: there are more tables than registers, and short texts don't
        // pay for copies of them.
        let load16 = |table: &[u8; 16]| -> __m256i {
            // SAFETY: `table` is 16 bytes, and the load needs no alignment.
            let half = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
            _mm256_broadcastsi128_si256(half)
        };
        let nibble = _mm256_set1_epi8(0x0f);
        let zero = _mm256_setzero_si256();
        let mut at = batch.next;
        // Each step reads 32 bytes at each of four offsets: up to `block + 35`. The last step goes
        // back so far that it ends with the text, and leaves three bytes to the portable path.
        while at + 3 < text.len() && text.len() >= 35 {
            let block = at.min(text.len() - 35);
            let mut sets = [_mm256_set1_epi8(-1); GROUPS];
            for position in 0..4 {
                // SAFETY: `block + position + 32 <= text.len()` by the choice of `block`.
                let bytes =
                    unsafe { _mm256_loadu_si256(text.as_ptr().add(block + position).cast()) };
                let low = _mm256_and_si256(bytes, nibble);
                let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble);
                for (set, group) in sets.iter_mut().zip(&self.groups) {
                    let allowed = _mm256_and_si256(
                        _mm256_shuffle_epi8(load16(&group.low[position]), low),
                        _mm256_shuffle_epi8(load16(&group.high[position]), high),
                    );
                    *set = _mm256_and_si256(*set, allowed);
                }
            }
            let union = sets
                .into_iter()
                .fold(zero, |union, set| _mm256_or_si256(union, set));
            let seen = u32::MAX.checked_shl((at - block) as u32).unwrap_or(0);
            let mut positions =
                !(_mm256_movemask_epi8(_mm256_cmpeq_epi8(union, zero)) as u32) & seen;
            while positions != 0 {
                let here = block + positions.trailing_zeros() as usize;
                positions &= positions - 1;
                if self.full(batch) {
                    batch.next = here;
                    return;
                }
                let window = [text[here], text[here + 1], text[here + 2], text[here + 3]];
                self.confirm(u32::from_le_bytes(window), here, batch);
            }
            at = block + 32;
        }
        batch.next = at;
    }
}

impl Group {
    fn new(buckets: &[Vec<Piece>; 8]) -> Group {
        let (mut low, mut high) = ([[0u8; 16]; 4], [[0u8; 16]; 4]);
        for (bucket, pieces) in buckets.iter().enumerate() {
            for piece in pieces {
                for position in 0..4 {
                    for byte in 0..=255u8 {
                        if piece.allows(position, byte) {
                            low[position][usize::from(byte & 15)] |= 1 << bucket;
                            high[position][usize::from(byte >> 4)] |= 1 << bucket;
                        }
                    }
                }
            }
        }
        Group { low, high }
    }
}

/// The nibbles that a bucket allows at each of the four positions.
#[derive(Clone, Copy)]
struct Shape([(u16, u16); 4]);

impl Shape {
    fn of(piece: &Piece) -> Shape {
        let mut shape = [(0, 0); 4];
        for (position, (low, high)) in shape.iter_mut().enumerate() {
            for byte in (0..=255u8).filter(|&b| piece.allows(position, b)) {
                *low |= 1 << (byte & 15);
                *high |= 1 << (byte >> 4);
            }
        }
        Shape(shape)
    }

    fn union(self, other: Shape) -> Shape {
        Shape(std::array::from_fn(|i| {
            (self.0[i].0 | other.0[i].0, self.0[i].1 | other.0[i].1)
        }))
    }

    /// How often ordinary text passes, roughly: the product over the positions of the chance that a
    /// byte is allowed.
    fn cost(self) -> f32 {
        self.0
            .iter()
            .map(|&(low, high)| chance(low, high))
            .product()
    }
}

/// The chance that a byte of ordinary text has one of these low nibbles and one of these high
/// nibbles.
fn chance(low: u16, high: u16) -> f32 {
    let mut sum = 0.0;
    let mut highs = high;
    while highs != 0 {
        let row = (highs.trailing_zeros() << 4) as u8;
        highs &= highs - 1;
        let mut lows = low;
        while lows != 0 {
            sum += weight(row | lows.trailing_zeros() as u8);
            lows &= lows - 1;
        }
    }
    sum
}

fn weight(byte: u8) -> f32 {
    match byte {
        b' ' => 0.15,
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0.05,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'h' | b'f' | b'_' | b'\n' => 0.025,
        b'a'..=b'z' => 0.01,
        b'.' | b',' | b'"' | b'(' | b')' | b':' | b'-' | b'=' | b'/' | b'0' | b'1' => 0.012,
        b'0'..=b'9' | b'A'..=b'Z' => 0.004,
        b'!'..=b'~' => 0.004,
        _ => 0.0005,
    }
}

/// Joins the pieces into as many buckets as there are, always the two whose union lets the least
/// text pass.
fn pack(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut buckets: Vec<(Shape, f32, Vec<Piece>)> = Vec::new();
    for piece in pieces {
        let shape = Shape::of(&piece);
        // Pieces of one shape share a bucket for nothing.
        match buckets.iter_mut().find(|(s, _, _)| s.0 == shape.0) {
            Some((_, _, same)) => same.push(piece),
            None => buckets.push((shape, shape.cost(), vec![piece])),
        }
    }
    while buckets.len() > 8 * GROUPS {
        // The cheapest bucket to give up goes to the one that grows least by it: quadratic in all,
        // not cubic.
        let mut best = (f32::MAX, 0, 0);
        let Some(victim) =
            (0..buckets.len()).min_by(|&a, &b| buckets[a].1.total_cmp(&buckets[b].1))
        else {
            break;
        };
        for other in (0..buckets.len()).filter(|&o| o != victim) {
            let grown = buckets[victim].0.union(buckets[other].0).cost() - buckets[other].1;
            if grown < best.0 {
                best = (grown, victim, other);
            }
        }
        let (_, victim, other) = best;
        let (shape, _, moved) = buckets.swap_remove(victim);
        let other = if other == buckets.len() {
            victim
        } else {
            other
        };
        let target = &mut buckets[other];
        target.0 = target.0.union(shape);
        target.1 = target.0.cost();
        target.2.extend(moved);
    }
    buckets.into_iter().map(|(_, _, pieces)| pieces).collect()
}

/// Calls `found` with the start of every run of at least `LONG_RUN` letters and digits.
pub(crate) fn long_runs(text: &[u8], found: &mut dyn FnMut(usize)) {
    #[cfg(target_arch = "x86_64")]
    if text.len() >= 64 && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2, as just asked.
        return unsafe { long_runs_avx2(text, found) };
    }
    long_runs_portable(text, 0, found);
}

/// The length from which a run of letters and digits is worth a look: longer than nearly all words.
pub(crate) const LONG_RUN: usize = 20;

/// Looks at every twentieth byte only: a run that long cannot slip between two looks.
fn long_runs_portable(text: &[u8], mut start: usize, found: &mut dyn FnMut(usize)) {
    use super::shape::{ALNUM, is};
    loop {
        let probe = start + LONG_RUN - 1;
        if probe >= text.len() {
            return;
        }
        match (start..=probe).rev().find(|&i| !is(text[i], ALNUM)) {
            Some(stop) => start = stop + 1,
            None => {
                found(start);
                start = super::shape::run_end(text, probe, ALNUM) + 1;
            }
        }
    }
}

/// As the portable walk, with a bitmap of letters and digits for 64 bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn long_runs_avx2(text: &[u8], found: &mut dyn FnMut(usize)) {
    use std::arch::x86_64::*;

    // A letter or digit has a bit in common between its two nibbles' entries: 1 for digits, 2 and 4
    // for the letter columns.
    let low = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 2, 2, 2, 2, 2,
    ));
    let high = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 0, 0, 1, 2, 4, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0,
    ));
    let nibble = _mm256_set1_epi8(0x0f);
    let zero = _mm256_setzero_si256();
    let bitmap = |at: usize| -> u32 {
        // SAFETY: callers stay below `text.len() - 31`.
        let bytes = unsafe { _mm256_loadu_si256(text.as_ptr().add(at).cast()) };
        let set = _mm256_and_si256(
            _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble)),
            _mm256_shuffle_epi8(
                high,
                _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble),
            ),
        );
        !(_mm256_movemask_epi8(_mm256_cmpeq_epi8(set, zero)) as u32)
    };

    // How many letters and digits end right before the block, up to what makes a run long.
    let mut before = 0usize;
    let mut at = 0;
    while at + 64 <= text.len() {
        let bits = u64::from(bitmap(at)) | u64::from(bitmap(at + 32)) << 32;
        let lead = (!bits).trailing_zeros() as usize;
        if before < LONG_RUN && before + lead >= LONG_RUN {
            found(at - before);
        }
        if lead < 64 {
            // Bit i survives when bits i to i + 15 are set; two more shifts make that twenty.
            let mut runs = bits & bits >> 1;
            runs &= runs >> 2;
            runs &= runs >> 4;
            runs &= runs >> 8;
            runs &= runs >> 4;
            // Only the first bit of each run counts, and the run that reaches in from before is
            // done.
            let mut starts = runs & !(bits << 1);
            if before > 0 {
                starts &= !1;
            }
            // Runs shorter than 20 that touch the block's end are carried over below.
            if bits & 1 == 1 && before == 0 && lead >= LONG_RUN {
                starts &= !1;
                // `before + lead` reported it already.
            }
            while starts != 0 {
                found(at + starts.trailing_zeros() as usize);
                starts &= starts - 1;
            }
            before = bits.leading_ones() as usize;
        } else {
            before += 64;
        }
        at += 64;
    }
    // The tail, with the run that may reach into it; one that is long already has been reported.
    let start = if before >= LONG_RUN {
        super::shape::run_end(text, at, super::shape::ALNUM)
    } else {
        at - before
    };
    long_runs_portable(text, start, found);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    fn sample() -> &'static Prefilter {
        static SAMPLE: std::sync::OnceLock<Prefilter> = std::sync::OnceLock::new();
        SAMPLE.get_or_init(build_sample)
    }

    fn build_sample() -> Prefilter {
        let mut pieces = Vec::new();
        for (id, piece) in ["ghp_", "sk-", "eyJ", "://", "AKIA", "aa", "[1"]
            .iter()
            .enumerate()
        {
            pieces.push(Piece::exact(piece.as_bytes(), id as u16));
        }
        for (id, piece) in ["pass", "key", "toke"].iter().enumerate() {
            pieces.push(Piece::any_case(piece.as_bytes(), 100 + id as u16));
        }
        for n in 0..80u16 {
            let bytes = [
                b'a' + (n % 26) as u8,
                b'0' + (n % 10) as u8,
                b'_',
                b'A' + (n / 4) as u8,
            ];
            pieces.push(Piece::exact(&bytes, 200 + n));
        }
        Prefilter::new(pieces)
    }

    fn collect(filter: &Prefilter, text: &[u8], portable: bool) -> Vec<Hit> {
        let mut batch = Batch::new();
        let mut hits = Vec::new();
        let mut from = 0;
        while from < text.len() {
            if portable {
                batch.len = 0;
                batch.next = from;
                filter.fill_portable(text, &mut batch);
            } else {
                filter.fill(text, from, &mut batch);
            }
            assert!(batch.next > from);
            hits.extend_from_slice(batch.hits());
            from = batch.next;
        }
        hits
    }

    fn runs(text: &[u8], portable: bool) -> Vec<usize> {
        let mut starts = Vec::new();
        if portable {
            long_runs_portable(text, 0, &mut |at| starts.push(at));
        } else {
            long_runs(text, &mut |at| starts.push(at));
        }
        starts
    }

    #[test]
    fn pieces_are_found_at_every_offset_and_in_either_case() {
        let filter = sample();
        for offset in 0..70 {
            let mut text = vec![b' '; offset];
            text.extend_from_slice(b"ghp_ PASS sk-");
            let ids: Vec<u16> = collect(filter, &text, false)
                .iter()
                .map(|hit| hit.id)
                .collect();
            assert_eq!(ids, [0, 100, 1]);
            assert!(filter.may_hit(&text) && filter.may_hit(&text[offset + 10..]));
            assert!(!filter.may_hit(&text[..offset + 3]));
        }
    }

    proptest! {
        #[test]
        fn vector_and_portable_agree(text in proptest::collection::vec(
            prop_oneof![Just(b'a'), Just(b'p'), Just(b's'), Just(b'S'), Just(b'_'), Just(b'g'), Just(b'h'), Just(b'k'), Just(b'-'), any::<u8>()], 0..600,
        )) {
            let filter = sample();
            prop_assert_eq!(collect(filter, &text, false), collect(filter, &text, true));
            prop_assert!(filter.may_hit(&text) || collect(filter, &text, true).is_empty());
        }

        #[test]
        fn long_runs_agree_with_a_plain_walk(parts in proptest::collection::vec((0usize..100, 0u8..3), 0..20)) {
            let mut text = Vec::new();
            for (length, gap) in parts {
                text.extend(std::iter::repeat_n(b'a', length));
                text.extend(std::iter::repeat_n(b'-', gap.into()));
            }
            let mut plain = Vec::new();
            let mut at = 0;
            for run in text.split(|&b| b == b'-') {
                if run.len() >= LONG_RUN {
                    plain.push(at);
                }
                at += run.len() + 1;
            }
            prop_assert_eq!(runs(&text, true), plain.clone());
            prop_assert_eq!(runs(&text, false), plain);
        }
    }
}
