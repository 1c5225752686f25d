//! Searches run on threads of their own, so that no scheduler, dirty or not, is held for their
//! seconds.
//!
//! A search that was started sends its caller exactly one message,
//! `{:jido_code_search, ref, result}`, also when it was cancelled. It is cancelled by
//! [`search_cancel`] and by its caller's death.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use code_search::{CancelToken, Cut, Error, Options, OutputMode, PatternFault, Report, Search};
use rustler::env::OwnedEnv;
use rustler::{
    Atom, Binary, Encoder, Env, LocalPid, Monitor, NifMap, NifUnitEnum, Reference, Resource,
    ResourceArc, Term,
};

mod atoms {
    rustler::atoms! {
        ok,
        error,
        jido_code_search,
        // what cut a listing
        head_limit,
        budget,
        // why there is none
        pattern,
        glob,
        unknown_file_type,
        root,
        not_found,
        outside,
        not_searchable,
        unreadable,
        unsafe_rules,
        cancelled,
        timeout,
        busy,
        internal,
        // what is wrong with a pattern
        empty,
        too_long,
        look_around,
        backreference,
        brace,
        unbalanced,
        nothing_to_repeat,
        line_end,
        too_big,
        syntax,
    }
}

/// A search that runs. Its thread holds a reference too: were the caller's the last one, the
/// monitor would end with the caller's next garbage collection.
pub struct Running(CancelToken);

#[rustler::resource_impl]
impl Resource for Running {
    fn down<'a>(&'a self, _env: Env<'a>, _pid: LocalPid, _monitor: Monitor) {
        self.0.cancel();
    }
}

#[derive(NifUnitEnum)]
enum Mode {
    Content,
    FilesWithMatches,
    Count,
}

#[derive(NifMap)]
struct Request<'a> {
    root: Binary<'a>,
    path: Binary<'a>,
    pattern: String,
    output_mode: Mode,
    context_before: usize,
    context_after: usize,
    file_type: Option<String>,
    glob: Option<String>,
    case_insensitive: bool,
    multiline: bool,
    head_limit: Option<usize>,
    budget: usize,
    timeout_ms: u64,
}

#[derive(NifMap)]
struct Answer {
    text: String,
    shown: u64,
    total: u64,
    files_matched: u64,
    files_searched: u64,
    lines_cut: u64,
    cut: Option<Atom>,
    timed_out: bool,
    binary: u64,
    too_large: u64,
    unreadable: u64,
    unsafe_rules: u64,
}

/// `{:ok, handle}`, or `{:error, :busy}` when no thread can be had. Starting a thread takes
/// microseconds, but how many is the kernel's affair.
#[rustler::nif(schedule = "DirtyIo")]
fn search_start<'a>(env: Env<'a>, reference: Reference<'a>, request: Request<'a>) -> Term<'a> {
    let timeout = Duration::from_millis(request.timeout_ms);
    let search = search(&request);
    let running = ResourceArc::new(Running(CancelToken::new()));
    let caller = env.pid();
    let mut message_env = OwnedEnv::new();
    let reference = message_env.save(reference);
    // The caller runs, so it is alive; a monitor that fails all the same must not leave a search
    // that nobody ends.
    if env.monitor(&running, &caller).is_none() {
        return (atoms::error(), atoms::internal()).encode(env);
    }
    let job = {
        let running = running.clone();
        move || {
            let found = catch_unwind(AssertUnwindSafe(|| search.run(&running.0, timeout)));
            // A caller that is gone gets nothing.
            let _ = message_env.send_and_clear(&caller, |env| {
                let result = result(env, found.unwrap_or(Err(Error::Internal)));
                (atoms::jido_code_search(), reference.load(env), result)
            });
        }
    };
    match std::thread::Builder::new()
        .name("code-search-wait".into())
        .spawn(job)
    {
        Ok(_) => (atoms::ok(), running).encode(env),
        Err(_) => (atoms::error(), atoms::busy()).encode(env),
    }
}

#[rustler::nif]
fn search_cancel(running: ResourceArc<Running>) -> Atom {
    running.0.cancel();
    atoms::ok()
}

fn search(request: &Request<'_>) -> Search {
    let path = |binary: &Binary<'_>| PathBuf::from(OsStr::from_bytes(binary.as_slice()));
    Search {
        root: path(&request.root),
        path: path(&request.path),
        pattern: request.pattern.clone(),
        options: Options {
            output_mode: match request.output_mode {
                Mode::Content => OutputMode::Content,
                Mode::FilesWithMatches => OutputMode::FilesWithMatches,
                Mode::Count => OutputMode::Count,
            },
            context_before: request.context_before,
            context_after: request.context_after,
            file_type: request.file_type.clone(),
            glob: request.glob.clone(),
            case_insensitive: request.case_insensitive,
            multiline: request.multiline,
            head_limit: request.head_limit,
            budget: request.budget,
            ..Options::default()
        },
    }
}

fn result(env: Env<'_>, found: Result<Report, Error>) -> Term<'_> {
    match found {
        Ok(report) => (atoms::ok(), answer(report)).encode(env),
        Err(error) => (atoms::error(), reason(env, error)).encode(env),
    }
}

fn answer(report: Report) -> Answer {
    Answer {
        text: report.text,
        shown: report.shown,
        total: report.total,
        files_matched: report.files_matched,
        files_searched: report.files_searched,
        lines_cut: report.lines_cut,
        cut: report.cut.map(|cut| match cut {
            Cut::HeadLimit => atoms::head_limit(),
            Cut::Budget => atoms::budget(),
        }),
        timed_out: report.timed_out,
        binary: report.skipped.binary,
        too_large: report.skipped.too_large,
        unreadable: report.skipped.unreadable,
        unsafe_rules: report.skipped.unsafe_rules,
    }
}

fn reason(env: Env<'_>, error: Error) -> Term<'_> {
    match error {
        Error::Pattern {
            fault,
            detail,
            position,
        } => (atoms::pattern(), pattern_fault(fault), detail, position).encode(env),
        Error::Glob { detail } => (atoms::glob(), detail).encode(env),
        Error::UnknownFileType { near } => (atoms::unknown_file_type(), near).encode(env),
        Error::TimedOut { files_searched } => (atoms::timeout(), files_searched).encode(env),
        Error::Root => atoms::root().encode(env),
        Error::NotFound => atoms::not_found().encode(env),
        Error::Outside => atoms::outside().encode(env),
        Error::NotSearchable => atoms::not_searchable().encode(env),
        Error::Unreadable => atoms::unreadable().encode(env),
        Error::UnsafeRules => atoms::unsafe_rules().encode(env),
        Error::Cancelled => atoms::cancelled().encode(env),
        Error::Busy => atoms::busy().encode(env),
        _ => atoms::internal().encode(env),
    }
}

fn pattern_fault(fault: PatternFault) -> Atom {
    match fault {
        PatternFault::Empty => atoms::empty(),
        PatternFault::TooLong => atoms::too_long(),
        PatternFault::LookAround => atoms::look_around(),
        PatternFault::Backreference => atoms::backreference(),
        PatternFault::Brace => atoms::brace(),
        PatternFault::Unbalanced => atoms::unbalanced(),
        PatternFault::NothingToRepeat => atoms::nothing_to_repeat(),
        PatternFault::LineEnd => atoms::line_end(),
        PatternFault::TooBig => atoms::too_big(),
        _ => atoms::syntax(),
    }
}
