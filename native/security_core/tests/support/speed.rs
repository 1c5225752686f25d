//! Texts to measure speed on.

use super::rng::Rng;
use super::sample;

/// Clean lines in the manner of sources, logs and test output.
pub fn clean(size: usize) -> Vec<u8> {
    let rng = &mut Rng::named(7, "clean");
    let lines = [
        "  def handle_call({:fetch, id}, _from, state) do\n    {:reply, Map.get(state.items, id), state}\n  end\n",
        "§time§ [info] GET /users/§n§?page=2\n§time§ [info] Sent 200 in §n§µs\n",
        "  * test case §n§ of the parser (Acme.ParserTest) (§n§ms) [L#§n§]\n",
        "commit §~hex:40§\nAuthor: Jane Doe <jane@acme.test>\n",
        "    \"integrity\": \"sha512-§~b64:64§\",\n",
        "fn next(&mut self) -> Option<Token> { self.tokens.get(self.position).copied() }\n",
        "The key difference is that a token is opaque, and that nobody reads it but its issuer.\n",
    ];
    let mut text = Vec::with_capacity(size + 256);
    while text.len() < size {
        let line = lines[rng.below(lines.len())];
        text.extend_from_slice(sample::filler(line, rng).as_bytes());
    }
    text.truncate(size);
    // A cut inside a character would make the text something else than UTF-8.
    text.truncate(std::str::from_utf8(&text).map_or_else(|e| e.valid_up_to(), str::len));
    text
}

/// Clean text with a secret about every 2 KB.
pub fn sprinkled(size: usize) -> Vec<u8> {
    let rng = &mut Rng::named(7, "sprinkled");
    let secrets = [
        "token §any§ used\n",
        "%{user: \"a\", §key§: \"§pass§\"}\n",
        "§KEY§=§envpass§\n",
        "ecto://a:§urlpass§@db/acme\n",
    ];
    let mut text = Vec::with_capacity(size + 256);
    for part in clean(size).chunks(2000) {
        // Between lines, so that no secret is glued to a word.
        let end = part
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(part.len(), |at| at + 1);
        text.extend_from_slice(&part[..end]);
        text.extend_from_slice(sample::filler(secrets[rng.below(secrets.len())], rng).as_bytes());
        text.extend_from_slice(&part[end..]);
    }
    text
}

/// The texts by name that reports and benches speak of.
pub fn texts() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("200 bytes, clean", clean(200)),
        ("1 MB, clean", clean(1 << 20)),
        ("1 MB, a secret every 2 KB", sprinkled(1 << 20)),
    ]
}
