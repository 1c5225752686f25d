//! A search from its start to its report.
//!
//! Three kinds of threads take part. The caller's waits for the end, for the deadline or for the
//! token, whichever comes first. The job's owns the walk. The walk's workers search. The caller
//! never waits for a worker that the kernel holds (a dead network mount, a pipe where a rule file
//! was expected): past the deadline it reports what the shared state holds by then and leaves the
//! job to end by itself. A job left so keeps its place among the [`MAX_RUNNING`] until it has
//! really ended.

use crate::gather::{Found, Gather, Row, RowKind, Wanted};
use crate::globs::Globs;
use crate::listing::{Listing, name};
use crate::place::Place;
use crate::reader::{HEAD, Reader};
use crate::report::{Report, Skipped};
use crate::rules::Rules;
use crate::stop::{CancelToken, Stop};
use crate::{Error, Options, OutputMode, file_type, pattern};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use ignore::types::Types;
use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Memory for the text of one file on one thread: the longest line that is searched or, in
/// multi-line mode, the largest file.
pub const FILE_MEMORY: usize = 4 << 20;

/// Most searches at one time in this process. Further ones wait for their turn, and end as
/// [`Error::Busy`] when it does not come in time.
pub const MAX_RUNNING: usize = 16;

const MAX_THREADS: usize = 8;

/// Beyond this a deadline has no meaning, and an absurd one would overflow the clock.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// How often the caller's thread looks at the token. Workers look at it themselves, per file and
/// per read.
const TOKEN_INTERVAL: Duration = Duration::from_millis(10);

/// What workers get to leave their files after the deadline before they are left behind.
const GRACE: Duration = Duration::from_millis(250);

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// What to look for, and where.
#[derive(Clone, Debug)]
pub struct Search {
    /// The project's root. Nothing outside it is read but the ignore rules of the directories
    /// above.
    pub root: PathBuf,
    /// The directory or file to search: relative to the root, or absolute and beneath it.
    pub path: PathBuf,
    /// A regular expression in the syntax of the `regex` crate.
    pub pattern: String,
    /// How it is done.
    pub options: Options,
}

impl Search {
    /// Does the search, in `timeout` at most (plus a quarter of a second for leaving open files).
    ///
    /// When time runs out the report has what was found by then and says so. A search that found
    /// nothing by then is an error, because an empty report would read like an answer.
    pub fn run(&self, cancel: &CancelToken, timeout: Duration) -> Result<Report, Error> {
        let stop = Stop {
            token: cancel.clone(),
            deadline: Instant::now() + timeout.min(MAX_TIMEOUT),
        };
        let slot = Slot::take(&stop)?;
        let (ended, end) = mpsc::channel();
        let shared = Arc::new(Shared::new(&self.options));
        let job = {
            let search = self.clone();
            let shared = Arc::clone(&shared);
            let stop = stop.clone();
            move || {
                let result = catch_unwind(AssertUnwindSafe(|| search.walk(&shared, &stop)));
                drop(slot);
                let _ = ended.send(result.unwrap_or(Err(Error::Internal)));
            }
        };
        std::thread::Builder::new()
            .name("code-search".into())
            .spawn(job)
            .map_err(|_| Error::Busy)?;
        let done = wait(&end, &stop);
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let timed_out = match done {
            Some(result) => {
                result?;
                shared.stopped.load(Ordering::Relaxed)
            }
            None => true,
        };
        let report = shared.report(timed_out);
        if timed_out && report.total == 0 {
            return Err(Error::TimedOut {
                files_searched: report.files_searched,
            });
        }
        Ok(report)
    }

    fn walk(&self, shared: &Arc<Shared>, stop: &Stop) -> Result<(), Error> {
        let options = &self.options;
        let matcher = pattern::compile(&self.pattern, options.case_insensitive, options.multiline)?;
        let types = options
            .file_type
            .as_deref()
            .map(file_type::select)
            .transpose()?;
        let globs = options.glob.as_deref().map(Globs::compile).transpose()?;
        let place = Arc::new(Place::resolve(&self.root, &self.path)?);
        let filter = Filter {
            place: Arc::clone(&place),
            globs: globs.map(Arc::new),
        };
        let task = Task {
            matcher,
            options,
            place: &place,
            shared,
            stop,
        };
        if place.is_file {
            Worker::new(&task).search(&place.base);
            return Ok(());
        }
        if !shared.rules.admit(&place.base) {
            return Err(Error::UnsafeRules);
        }
        walker(&filter, types, options, shared, stop)
            .build_parallel()
            .visit(&mut Builder(&task));
        Ok(())
    }
}

fn wait(end: &mpsc::Receiver<Result<(), Error>>, stop: &Stop) -> Option<Result<(), Error>> {
    let last = stop.deadline + GRACE;
    loop {
        let now = Instant::now();
        if stop.token.is_cancelled() || now >= last {
            return None;
        }
        match end.recv_timeout(TOKEN_INTERVAL.min(last - now)) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Disconnected) => return Some(Err(Error::Internal)),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Which paths of the place take part.
#[derive(Clone)]
struct Filter {
    place: Arc<Place>,
    globs: Option<Arc<Globs>>,
}

impl Filter {
    fn admit(&self, path: &Path, is_directory: bool) -> bool {
        match (&self.globs, self.place.relative(path)) {
            (Some(globs), Some(relative)) => globs.admit(relative, is_directory),
            _ => true,
        }
    }
}

fn walker(
    filter: &Filter,
    types: Option<Types>,
    options: &Options,
    shared: &Arc<Shared>,
    stop: &Stop,
) -> WalkBuilder {
    let place = &filter.place;
    let mut walk = WalkBuilder::new(&place.base);
    walk.follow_links(false)
        .git_global(false)
        .add_custom_ignore_filename(".rgignore")
        .parents(
            place
                .base
                .ancestors()
                .skip(1)
                .all(|above| shared.rules.admit(above)),
        )
        .threads(options.threads.unwrap_or_else(parallelism));
    if let Some(types) = types {
        walk.types(types);
    }
    let shared = Arc::clone(shared);
    let stop = stop.clone();
    let filter = filter.clone();
    walk.filter_entry(move |entry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !filter.admit(entry.path(), is_directory) {
            return false;
        }
        if !is_directory {
            return true;
        }
        // A large directory is listed as a whole before its files are visited.
        if stop.reached() {
            shared.stopped.store(true, Ordering::Relaxed);
            return false;
        }
        let safe = shared.rules.admit(entry.path());
        if !safe {
            shared.unsafe_rules.fetch_add(1, Ordering::Relaxed);
        }
        safe
    });
    walk
}

fn parallelism() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(MAX_THREADS)
}

/// A place among the searches that may run at a time, from here until dropped.
struct Slot;

impl Slot {
    /// Waits for a place as long as the search itself might last.
    fn take(stop: &Stop) -> Result<Slot, Error> {
        loop {
            if RUNNING.fetch_add(1, Ordering::AcqRel) < MAX_RUNNING {
                return Ok(Slot);
            }
            RUNNING.fetch_sub(1, Ordering::AcqRel);
            if stop.token.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if stop.reached() {
                return Err(Error::Busy);
            }
            std::thread::sleep(TOKEN_INTERVAL);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What all threads of a search share. Counters are only added to and read once at the end, so the
/// order in which threads see them does not matter.
#[derive(Debug)]
struct Shared {
    listing: Mutex<Listing>,
    rules: Rules,
    total: AtomicU64,
    files_matched: AtomicU64,
    files_searched: AtomicU64,
    binary: AtomicU64,
    too_large: AtomicU64,
    unreadable: AtomicU64,
    unsafe_rules: AtomicU64,
    stopped: AtomicBool,
}

impl Shared {
    fn new(options: &Options) -> Self {
        let limit = options.head_limit.unwrap_or(usize::MAX);
        Shared {
            listing: Mutex::new(Listing::new(limit, options.budget)),
            rules: Rules::default(),
            total: AtomicU64::new(0),
            files_matched: AtomicU64::new(0),
            files_searched: AtomicU64::new(0),
            binary: AtomicU64::new(0),
            too_large: AtomicU64::new(0),
            unreadable: AtomicU64::new(0),
            unsafe_rules: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// A panic in another worker leaves the listing whole: it is changed by calls that do not panic
    /// between two steps, and the search ends as an internal error anyway.
    fn listing(&self) -> MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, timed_out: bool) -> Report {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let listing = self.listing();
        let mut report = Report {
            total: read(&self.total),
            files_matched: read(&self.files_matched),
            files_searched: read(&self.files_searched),
            timed_out,
            skipped: Skipped {
                binary: read(&self.binary),
                too_large: read(&self.too_large),
                unreadable: read(&self.unreadable),
                unsafe_rules: read(&self.unsafe_rules),
            },
            ..Report::default()
        };
        listing.render(&mut report);
        report
    }
}

/// What every worker needs to know.
struct Task<'a> {
    matcher: RegexMatcher,
    options: &'a Options,
    place: &'a Place,
    shared: &'a Shared,
    stop: &'a Stop,
}

/// One thread's part of a search.
struct Worker<'a> {
    task: &'a Task<'a>,
    /// A clone per thread: clones don't contend for the matcher's caches.
    matcher: RegexMatcher,
    full: Searcher,
    /// For files that are only counted. Not in multi-line mode, where each searcher keeps a buffer
    /// as large as the largest file that it saw.
    count: Option<Searcher>,
    head: Box<[u8]>,
    listing_full: bool,
}

impl<'a> Worker<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let options = task.options;
        let mut searcher = SearcherBuilder::new();
        searcher
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(FILE_MEMORY))
            .multi_line(options.multiline)
            .line_number(false);
        let count = (!options.multiline).then(|| searcher.build());
        if options.output_mode == OutputMode::Content {
            searcher
                .line_number(true)
                .before_context(options.context_before)
                .after_context(options.context_after);
        }
        Worker {
            task,
            matcher: task.matcher.clone(),
            full: searcher.build(),
            count,
            head: vec![0; HEAD].into(),
            listing_full: false,
        }
    }

    fn search(&mut self, path: &Path) {
        let Task {
            options,
            place,
            shared,
            stop,
            ..
        } = *self.task;
        let Some(relative) = place.relative(path) else {
            return;
        };
        let (file, size) = match place.open(relative) {
            Ok(opened) => opened,
            Err(_) => {
                shared.unreadable.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let wanted = self.wanted(relative);
        let searcher = match &mut self.count {
            Some(count) if wanted.is_none() => count,
            _ => &mut self.full,
        };
        let mut gather = Gather::new(
            &self.matcher,
            options.output_mode,
            options.multiline,
            wanted,
        );
        let reader = Reader::new(file, size, stop, &mut self.head);
        let outcome = searcher.search_reader(&self.matcher, reader, &mut gather);
        let found = gather.into_found();
        if outcome.is_err() {
            if stop.reached() {
                shared.stopped.store(true, Ordering::Relaxed);
            } else if size >= FILE_MEMORY as u64 {
                shared.too_large.fetch_add(1, Ordering::Relaxed);
            } else {
                shared.unreadable.fetch_add(1, Ordering::Relaxed);
            }
        }
        shared.files_searched.fetch_add(1, Ordering::Relaxed);
        self.take(relative, found);
    }

    fn take(&mut self, path: &Path, found: Found) {
        let Task {
            options, shared, ..
        } = *self.task;
        if found.binary {
            shared.binary.fetch_add(1, Ordering::Relaxed);
        }
        if found.results == 0 {
            return;
        }
        shared.files_matched.fetch_add(1, Ordering::Relaxed);
        let (rows, results) = match options.output_mode {
            OutputMode::Content => (found.rows, found.results),
            OutputMode::FilesWithMatches => (vec![one_row(name(path))], 1),
            OutputMode::Count => (
                vec![one_row(format!("{}:{}", name(path), found.results))],
                1,
            ),
        };
        shared.total.fetch_add(results, Ordering::Relaxed);
        let mut listing = shared.listing();
        listing.add(path, rows, options.output_mode == OutputMode::Content);
        self.listing_full |= listing.is_full();
    }

    /// What to take down of a file; nothing once files before it fill the report.
    fn wanted(&self, path: &Path) -> Option<Wanted> {
        let options = self.task.options;
        if self.listing_full && !self.task.shared.listing().wants(path) {
            return None;
        }
        Some(Wanted {
            results: options.head_limit.unwrap_or(usize::MAX),
            characters: options.budget,
            line_limit: options.line_limit,
        })
    }
}

fn one_row(text: String) -> Row {
    Row {
        kind: RowKind::Match,
        text,
        cut: false,
    }
}

struct Builder<'a>(&'a Task<'a>);

impl<'a> ParallelVisitorBuilder<'a> for Builder<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Worker::new(self.0))
    }
}

impl ParallelVisitor for Worker<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        if self.task.stop.reached() {
            self.task.shared.stopped.store(true, Ordering::Relaxed);
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                self.search(entry.path())
            }
            Ok(_) => {}
            Err(_) => {
                self.task.shared.unreadable.fetch_add(1, Ordering::Relaxed);
            }
        }
        WalkState::Continue
    }
}
