//! The lists of words that the policies and the redactor look into.

/// No word of a list is longer; a longer one is in none.
const LONGEST: usize = 24;

/// Words in ascending order, none twice: a list that is not so does not compile.
pub struct WordList(&'static [&'static str]);

impl WordList {
    /// A list of words that are sorted by their bytes.
    pub(crate) const fn new(words: &'static [&'static str]) -> Self {
        let mut i = 0;
        while i < words.len() {
            assert!(words[i].len() <= LONGEST, "a word is too long");
            assert!(
                i == 0 || comes_before(words[i - 1].as_bytes(), words[i].as_bytes()),
                "the words are not sorted, or one is there twice"
            );
            i += 1;
        }
        Self(words)
    }

    /// Is this word in the list, letter by letter?
    pub fn contains(&self, word: &str) -> bool {
        self.has(word.as_bytes())
    }

    /// As [`contains`](Self::contains), for bytes.
    pub(crate) fn has(&self, word: &[u8]) -> bool {
        self.0
            .binary_search_by(|known| known.as_bytes().cmp(word))
            .is_ok()
    }

    /// Is this word, whatever its letters' case, in a list of words in small letters?
    pub(crate) fn has_in_any_case(&self, word: &[u8]) -> bool {
        let mut buffer = [0u8; LONGEST];
        let Some(small) = buffer.get_mut(..word.len()) else {
            return false;
        };
        small.copy_from_slice(word);
        small.make_ascii_lowercase();
        self.has(small)
    }

    /// The words, first to last.
    pub(crate) const fn words(&self) -> &'static [&'static str] {
        self.0
    }

    /// The words' bytes, first to last.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &'static [u8]> {
        self.0.iter().map(|word| word.as_bytes())
    }
}

const fn comes_before(left: &[u8], right: &[u8]) -> bool {
    let mut i = 0;
    while i < left.len() && i < right.len() {
        if left[i] != right[i] {
            return left[i] < right[i];
        }
        i += 1;
    }
    left.len() < right.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    static WORDS: WordList = WordList::new(&["", "alpha", "alphabet", "beta", "größe"]);

    #[test]
    fn finds_its_words_and_no_others() {
        for word in WORDS.words() {
            assert!(WORDS.contains(word) && WORDS.has_in_any_case(word.as_bytes()));
        }
        for word in ["Alpha", "alph", "alphabets", "gamma"] {
            assert!(!WORDS.contains(word), "{word}");
        }
        assert!(WORDS.has_in_any_case(b"ALPHAbet"));
        assert!(!WORDS.has_in_any_case(b"alpha beta alpha beta alpha beta"));
    }

    #[test]
    fn sorts_by_bytes() {
        assert!(comes_before(b"a", b"ab") && comes_before(b"Z", b"a"));
        assert!(!comes_before(b"ab", b"a") && !comes_before(b"a", b"a"));
    }
}
