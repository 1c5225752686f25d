//! JSON in base64: what stands in it is read as a text of its own. Kubernetes' secrets and queues'
//! messages look so.

use super::dump::Line;
use super::headers::sextet;
use super::scan::{Scan, boundary};
use super::shape::*;

/// Shorter ones hold no name and value.
const SHORTEST: usize = 24;
/// Longer ones are cut by whoever prints them.
const LONGEST: usize = 16 * 1024;

/// `eyJ…`: the base64 of `{"…`, up to the brace that closes it.
pub(crate) fn json(scan: &mut Scan, at: usize, shown: &mut Vec<u8>) -> Vec<Line> {
    let text = scan.text;
    shown.clear();
    if at < scan.value_until || at < scan.encoded_until || !boundary(text, at) {
        return Vec::new();
    }
    let end = run_end_capped(text, at, STD64 | URL64, LONGEST);
    scan.spend(2 * (end - at));
    scan.encoded_until = end;
    if end - at < SHORTEST || text.get(end) == Some(&b'.') {
        return Vec::new();
    }
    for four in text[at..end].chunks(4) {
        let (mut bits, mut count) = (0u32, 0u32);
        for six in four.iter().map_while(|&b| sextet(b)) {
            bits = bits << 6 | six;
            count += 1;
        }
        let bytes = (bits << (6 * (4 - count))).to_be_bytes();
        shown.extend_from_slice(&bytes[1..1 + (count * 6 / 8) as usize]);
        if count < 4 {
            break;
        }
    }
    if !shown.trim_ascii_end().ends_with(b"}") {
        shown.clear();
        return Vec::new();
    }
    vec![Line {
        shown: shown.len(),
        start: at,
        end,
    }]
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::tests::{clean, redacts};

    #[test]
    fn secrets_in_encoded_json() {
        // {"password":"hunter22"}, {"auths":{"r":{"auth":"YW5uOmh1bnRlcjIy"}}}
        redacts("data: §eyJwYXNzd29yZCI6Imh1bnRlcjIyIn0=§\n");
        redacts(
            ".dockerconfigjson: §eyJhdXRocyI6eyJyIjp7ImF1dGgiOiJZVzV1T21oMWJuUmxjakl5In19fQ==§",
        );
        // {"a":1,"b":2,"c":3,"d":4}
        clean("data: eyJhIjoxLCJiIjoyLCJjIjozLCJkIjo0fQ==\n");
    }
}
