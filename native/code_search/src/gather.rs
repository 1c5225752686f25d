//! One file's results, taken down as the searcher finds them.

use crate::OutputMode;
use crate::excerpt::excerpt;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};
use std::io;

/// One line of a file's listing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    pub(crate) text: String,
    pub(crate) cut: bool,
}

/// A row's part in its result: a limit on results must not leave the lines before a match without
/// the match, nor a match without the lines after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The first line of a match: begins a result.
    Match,
    /// A further line of a match that spans several.
    MatchRest,
    /// Context of the match to come.
    Before,
    /// Context of the match just seen.
    After,
    /// `--` between lines that don't follow each other.
    Break,
}

impl RowKind {
    /// Whether the row belongs to what was shown before it.
    pub(crate) fn trails(self) -> bool {
        matches!(self, RowKind::MatchRest | RowKind::After)
    }
}

impl Row {
    /// Characters that the row takes in a listing.
    pub(crate) fn cost(&self) -> usize {
        self.text.chars().count() + 1
    }
}

/// How much of one file may end up in the report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) results: usize,
    pub(crate) characters: usize,
    pub(crate) line_limit: usize,
}

/// What a file gave.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) rows: Vec<Row>,
    /// Results of the file, shown or not.
    pub(crate) results: u64,
    pub(crate) binary: bool,
}

/// The sink of one file. Without `wanted` it only counts.
pub(crate) struct Gather<'a> {
    matcher: &'a RegexMatcher,
    mode: OutputMode,
    multiline: bool,
    wanted: Option<Wanted>,
    found: Found,
    cost: usize,
    taken: usize,
    full: bool,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(
        matcher: &'a RegexMatcher,
        mode: OutputMode,
        multiline: bool,
        wanted: Option<Wanted>,
    ) -> Self {
        let wanted = wanted.filter(|_| mode == OutputMode::Content);
        Gather {
            matcher,
            mode,
            multiline,
            wanted,
            found: Found::default(),
            cost: 0,
            taken: 0,
            full: false,
        }
    }

    pub(crate) fn into_found(mut self) -> Found {
        while self
            .found
            .rows
            .last()
            .is_some_and(|row| row.kind == RowKind::Break)
        {
            self.found.rows.pop();
        }
        self.found
    }

    fn push(&mut self, kind: RowKind, number: Option<u64>, line: &[u8]) {
        let Some(wanted) = self.wanted else { return };
        let spent = self.taken >= wanted.results && !kind.trails();
        if self.full || spent || self.cost >= wanted.characters {
            self.full = true;
            return;
        }
        let row = if kind == RowKind::Break {
            Row {
                kind,
                text: "--".to_string(),
                cut: false,
            }
        } else {
            let is_match = matches!(kind, RowKind::Match | RowKind::MatchRest);
            row(
                kind,
                number.unwrap_or(0),
                line,
                wanted.line_limit,
                is_match.then_some(self.matcher),
            )
        };
        self.cost += row.cost();
        self.taken += usize::from(kind == RowKind::Match);
        self.found.rows.push(row);
    }

    /// Matches in a block of lines, which one or several matches cover without a gap.
    fn matches_in(&self, block: &SinkMatch<'_>) -> u64 {
        // An assertion at the block's end may look a little beyond it, but a search for the next
        // match must not run through the rest of the file for every block.
        const LOOK_AHEAD: usize = 128;
        let range = block.bytes_range_in_buffer();
        let buffer = block.buffer();
        let bytes = &buffer[..buffer.len().min(range.end + LOOK_AHEAD)];
        let mut count = 0;
        let walked = self.matcher.find_iter_at(bytes, range.start, |found| {
            let inside = found.start() < range.end;
            count += u64::from(inside);
            inside
        });
        if walked.is_ok() { count } else { 1 }
    }
}

fn row(
    kind: RowKind,
    number: u64,
    line: &[u8],
    limit: usize,
    matcher: Option<&RegexMatcher>,
) -> Row {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let hit = match matcher {
        Some(matcher) if line.len() > limit => matcher
            .find(line)
            .ok()
            .flatten()
            .map(|m| m.start()..m.end()),
        _ => None,
    };
    let (content, cut) = excerpt(line, hit, limit);
    let mark = if matcher.is_some() { ':' } else { '-' };
    Row {
        kind,
        text: format!("{number}{mark}{content}"),
        cut,
    }
}

impl Sink for Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.mode {
            OutputMode::FilesWithMatches => {
                self.found.results = 1;
                return Ok(false);
            }
            OutputMode::Count if self.multiline => self.found.results += self.matches_in(found),
            OutputMode::Count => self.found.results += 1,
            OutputMode::Content => {
                self.found.results += 1;
                let first = found.line_number();
                for (at, line) in found.lines().enumerate() {
                    let kind = if at == 0 {
                        RowKind::Match
                    } else {
                        RowKind::MatchRest
                    };
                    self.push(kind, first.map(|first| first + at as u64), line);
                    if self.wanted.is_none() || self.full {
                        break;
                    }
                }
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let kind = match context.kind() {
            SinkContextKind::After => RowKind::After,
            _ => RowKind::Before,
        };
        self.push(kind, context.line_number(), context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !self.found.rows.is_empty() {
            self.push(RowKind::Break, None, b"");
        }
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        let _ = searcher;
        self.found.binary = finish.binary_byte_offset().is_some();
        // Lines before the first NUL are real lines, but a file that turns out to be binary is no
        // result where only its name or its count would be shown.
        if self.found.binary && self.mode != OutputMode::Content {
            self.found.results = 0;
        }
        Ok(())
    }
}
