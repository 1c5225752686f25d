//! The inner of the two processes: starts the commands, keeps their output, and ends their tree.
//!
//! One thread, one `poll`. The life of a plan is `Phase`: it runs; then, for whatever reason, what is left of its
//! tree is asked to end, then killed; then the report goes out. The tree is ended after a normal end, too: a process
//! left behind would hold the pipes, or run on unseen.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitStatus};

use crate::capture::{Budget, Capture};
use crate::confine::{Confinement, Mode, Surroundings};
use crate::guard;
use crate::limits::Applied;
use crate::repository::Repositories;
use crate::repository::keeper::Keeper;
use crate::scratch::Scratch;
use crate::signals::Signals;
use crate::spawn::{self, Failure};
use crate::spec::{Connector, Spec, Stage, Step};
use crate::toolchain;
use crate::tree;
use crate::wire::{FrameReader, FrameWriter, Input, Term};

/// The exit status of a worker that could not do its work; a command's own status travels in the report.
pub const FAILED: u8 = 70;

/// What a process left over after a normal end gets to end by itself. A service that a test started may want to
/// write its state; a stray `sleep` must not hold the result up for the whole grace time.
const GRACE_AFTER_END: Duration = Duration::from_millis(500);

/// How often to look for orphans that came from deeper in the tree: their coming makes no signal.
const TICK: Duration = Duration::from_millis(10);

/// A killed process is gone in microseconds, but for one that waits for a device. Past this, the report names the
/// number left and the guard goes on waiting for them.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// Reads from each stream before the others get their turn.
const READS_PER_TURN: usize = 16;

/// Runs as the worker of the guard with the given id; returns the exit status.
pub fn run(guard: Pid, scratch: Scratch) -> u8 {
    let ended = Worker::start(guard, scratch.clone()).map(Worker::serve);
    if rustix::process::getppid() != Some(guard) {
        // No one else is left to do it.
        guard::clean_up(&scratch);
    }
    match ended {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("jido_command_runner: {error}");
            FAILED
        }
    }
}

/// Why the plan is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Finished,
    Timeout,
    /// Asked for by the BEAM, or by a signal to this process.
    Stopped,
    /// No one is left to report to.
    Abandoned,
}

enum Phase {
    Running,
    /// All of the tree was asked to end.
    Asked {
        until: Instant,
        asked: HashSet<Pid>,
    },
    Killing {
        until: Instant,
    },
    Over,
}

struct Worker {
    scratch: Scratch,
    signals: Signals,
    input: Option<std::io::Stdin>,
    frames: FrameReader,
    out: FrameWriter,
    job: Option<Job>,
    over: bool,
}

impl Worker {
    fn start(guard: Pid, scratch: Scratch) -> io::Result<Self> {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(guard) {
            return Err(Errno::SRCH.into());
        }
        tree::adopt_orphans()?;
        set_nonblocking(std::io::stdin())?;
        set_nonblocking(std::io::stdout())?;
        Ok(Self {
            scratch,
            signals: Signals::listen()?,
            input: Some(std::io::stdin()),
            frames: FrameReader::default(),
            out: FrameWriter::default(),
            job: None,
            over: false,
        })
    }

    fn serve(mut self) {
        while !(self.over && self.out.is_empty()) {
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.wait();
        // Before reaping: a child that ends after the reaping then wakes the next wait.
        self.signals.drain();
        self.read_input();
        if self.signals.asked_to_stop() {
            self.end(Reason::Stopped);
        }
        if let Some(job) = &mut self.job {
            job.read_output();
            job.advance();
            if matches!(job.phase, Phase::Over) {
                self.over = true;
                if let Some(job) = self.job.take() {
                    self.out.push(&job.report());
                }
            }
        }
        if self.out.flush(std::io::stdout()).is_err() {
            self.abandon();
        }
    }

    fn wait(&self) {
        let (input, output) = (std::io::stdin(), std::io::stdout());
        let mut watched = self.signals.poll_fds().to_vec();
        if self.input.is_some() {
            watched.push(PollFd::new(&input, PollFlags::IN));
        }
        if !self.out.is_empty() {
            watched.push(PollFd::new(&output, PollFlags::OUT));
        }
        let timeout = self.job.as_ref().and_then(|job| {
            watched.extend(
                job.pipes
                    .iter()
                    .flatten()
                    .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            );
            job.next_deadline()
        });
        let timeout = timeout.map(|at| at.saturating_duration_since(Instant::now()));
        // An interrupted wait is a turn like any other.
        let _ = rustix::event::poll(
            &mut watched,
            timeout.and_then(|timeout| timeout.try_into().ok()).as_ref(),
        );
    }

    fn read_input(&mut self) {
        let Some(input) = &self.input else { return };
        match self.frames.fill(input) {
            Input::None => return,
            Input::Closed => return self.abandon(),
            Input::Some => {}
        }
        loop {
            match self
                .frames
                .next_frame()
                .and_then(|frame| frame.as_deref().map(Term::decode).transpose())
            {
                Ok(None) => return,
                Ok(Some(term)) => self.obey(term),
                // The stream is out of step: nothing after this can be trusted.
                Err(error) => {
                    self.refuse("bad_spec", &error);
                    return self.abandon();
                }
            }
        }
    }

    fn obey(&mut self, term: Term) {
        match (&mut self.job, &term) {
            (None, _) if !self.over => match Job::start(term, &self.scratch) {
                Ok(job) => {
                    if job.runs.iter().any(|run| run.outcome.code().is_none()) {
                        self.out.push(&Term::map([
                            ("event", Term::text("started")),
                            ("confinement", job.confinement.report()),
                        ]));
                    }
                    self.job = Some(job);
                }
                Err((kind, message)) => self.refuse(kind, &message),
            },
            (Some(_), Term::Atom(name)) if name == "stop" => self.end(Reason::Stopped),
            (Some(job), Term::Tuple(items)) => {
                if let [
                    Term::Int(id),
                    Term::Int(output),
                    Term::Int(errors),
                    Term::Int(channel),
                    Term::Int(limit),
                ] = items.as_slice()
                {
                    let answer = job.read([*output, *errors, *channel], *limit, *id);
                    self.out.push(&answer);
                }
            }
            // A question that crossed with the report; the report has the answer.
            _ => {}
        }
    }

    fn refuse(&mut self, kind: &str, message: &str) {
        let error = [
            ("event", Term::text("refused")),
            ("kind", Term::text(kind)),
            ("message", Term::text(message)),
        ];
        self.out.push(&Term::map(error));
        self.over = true;
    }

    fn end(&mut self, reason: Reason) {
        match &mut self.job {
            Some(job) => job.end(reason),
            None => self.over = true,
        }
    }

    fn abandon(&mut self) {
        self.input = None;
        self.out = FrameWriter::default();
        self.end(Reason::Abandoned);
    }
}

fn set_nonblocking(descriptor: impl std::os::fd::AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&descriptor)?;
    Ok(rustix::fs::fcntl_setfl(
        &descriptor,
        flags | rustix::fs::OFlags::NONBLOCK,
    )?)
}

/// Confines, and arranges what depends on how it could be done: where temporary files go, who commits, what is compared
/// afterwards.
fn confine(
    spec: &mut Spec,
    scratch: &Scratch,
) -> Result<(Confinement, Option<Keeper>), (&'static str, String)> {
    let refused = |error| ("confinement", error);
    let homes = toolchain::homes(&spec.environment);
    let repositories = match (&spec.policy.write, spec.policy.mode) {
        (None, _) | (_, Mode::Off) => Repositories::default(),
        (Some(write), _) => Repositories::find(write, &homes),
    };
    let surroundings = Surroundings {
        environment: &spec.environment,
        folder: &spec.folder,
        scratch: scratch.path(),
        repositories: &repositories,
        runs_git: spec.runs_git(),
    };
    let confinement = Confinement::prepare(spec.policy.clone(), surroundings).map_err(refused)?;
    let missing = confinement.missing();
    if spec.policy.mode == Mode::Required && !missing.is_empty() {
        return Err(refused(missing.join("; ")));
    }
    let fenced = confinement.fence().is_some();
    let own = match &spec.policy.temporary {
        _ if fenced => spec.policy.temporary_inside(scratch.path()),
        Some(shared) => shared,
        None => scratch.path(),
    };
    let own = own.to_owned();
    for (_, value) in &mut spec.environment {
        if value == scratch.path() {
            *value = own.as_os_str().to_owned();
        }
    }
    if !fenced && spec.policy.write.is_some() && spec.policy.mode != Mode::Off {
        spec.policy
            .write
            .iter_mut()
            .for_each(|write| write.push(own.clone()));
        if spec.policy.read.is_some() {
            toolchain::replace_home(&mut spec.environment, &homes, &own);
        }
    }
    if spec.policy.mode != Mode::Off {
        spec.add_to_git(&repositories.identity);
    }
    // Within the fence mounts hold all but what git is given to write, and a folder around what is named: that can be
    // moved away with it.
    let mut compared = repositories.named;
    if !fenced || spec.runs_git() {
        compared.extend(repositories.control);
    }
    let keeper = (!compared.is_empty()).then(|| Keeper::of(&compared));
    Ok((confinement, keeper))
}

/// How a command of the plan ended.
enum Outcome {
    Running(Pid),
    Exited(i32),
    Signaled(i32),
    NotStarted { code: i32, message: String },
}

impl Outcome {
    /// The exit code as a shell tells it.
    fn code(&self) -> Option<i32> {
        match self {
            Self::Running(_) => None,
            Self::Exited(code) | Self::NotStarted { code, .. } => Some(*code),
            Self::Signaled(signal) => Some(128 + signal),
        }
    }
}

/// A command and how it ended.
struct Run {
    program: Vec<u8>,
    outcome: Outcome,
}

/// A plan under way.
struct Job {
    spec: Spec,
    limits: Arc<Applied>,
    confinement: Arc<Confinement>,
    keeper: Option<Keeper>,
    phase: Phase,
    reason: Reason,
    started: Instant,
    deadline: Option<Instant>,
    steps: std::vec::IntoIter<Step>,
    /// Every command so far; those from `current` on are of the pipeline under way.
    runs: Vec<Run>,
    current: usize,
    /// Of the standard output, the standard error and the channel.
    captures: [Capture; 3],
    pipes: [Option<OwnedFd>; 3],
    /// The writing ends, kept for the pipelines to come.
    sinks: [OwnedFd; 2],
    channel: Option<OwnedFd>,
    failure: Option<String>,
    left: usize,
}

impl Job {
    fn start(term: Term, scratch: &Scratch) -> Result<Self, (&'static str, String)> {
        let mut spec = Spec::from_term(term).map_err(|error| ("bad_spec", error))?;
        let name = scratch
            .path()
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        let limits = Applied::prepare(&spec.limits, name);
        let (confinement, keeper) = confine(&mut spec, scratch)?;
        let system = |error: Errno| ("system", io::Error::from(error).to_string());
        let (output, output_sink) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
        let (errors, errors_sink) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
        let (channel, channel_sink) = match spec.channel {
            Some(_) => {
                let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
                (Some(pipe.0), Some(pipe.1))
            }
            None => (None, None),
        };
        for pipe in [Some(&output), Some(&errors), channel.as_ref()]
            .into_iter()
            .flatten()
        {
            // Only the reading ends: commands expect to write to a pipe that waits.
            set_nonblocking(pipe).map_err(|error| ("system", error.to_string()))?;
        }
        let started = Instant::now();
        let mut job = Self {
            limits: Arc::new(limits),
            confinement: Arc::new(confinement),
            keeper,
            phase: Phase::Running,
            reason: Reason::Finished,
            started,
            deadline: started.checked_add(spec.timeout),
            steps: std::mem::take(&mut spec.plan).into_iter(),
            runs: Vec::new(),
            current: 0,
            captures: [
                spec.budgets[0],
                spec.budgets[1],
                spec.channel.unwrap_or(Budget { head: 0, tail: 0 }),
            ]
            .map(Capture::new),
            pipes: [Some(output), Some(errors), channel],
            sinks: [output_sink, errors_sink],
            channel: channel_sink,
            failure: None,
            left: 0,
            spec,
        };
        job.next_step();
        Ok(job)
    }

    /// Starts the next pipeline whose connector allows it, or ends the plan.
    fn next_step(&mut self) {
        loop {
            let last = self.runs.last().and_then(|run| run.outcome.code());
            let Some(step) = self.steps.find(|step| match (step.connector, last) {
                (Connector::Then, _) | (_, None) => true,
                (Connector::And, Some(code)) => code == 0,
                (Connector::Or, Some(code)) => code != 0,
            }) else {
                return self.end(Reason::Finished);
            };
            self.current = self.runs.len();
            if let Err(error) = self.start_pipeline(&step.stages) {
                self.failure = Some(error);
                return self.end(Reason::Finished);
            }
            if self.runs[self.current..]
                .iter()
                .any(|run| run.outcome.code().is_none())
            {
                return;
            }
        }
    }

    fn start_pipeline(&mut self, stages: &[Stage]) -> Result<(), String> {
        let text = |error: io::Error| error.to_string();
        let null = || {
            let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
            rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
                .map_err(|error| text(error.into()))
        };
        let mut input = null()?;
        for (place, stage) in stages.iter().enumerate() {
            let (output, next) = if place + 1 == stages.len() {
                (self.sinks[0].try_clone().map_err(text)?, None)
            } else {
                let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
                    .map_err(|error| text(error.into()))?;
                (write, Some(read))
            };
            let descriptors = [input, output, self.sinks[1].try_clone().map_err(text)?];
            let outcome = match spawn::spawn(
                stage,
                descriptors,
                self.channel.as_ref(),
                &self.spec,
                &self.limits,
                &self.confinement,
            ) {
                Ok(pid) => Outcome::Running(pid),
                Err(Failure::Command { code, message }) => {
                    self.captures[1].push(format!("{message}\n").as_bytes());
                    Outcome::NotStarted { code, message }
                }
                Err(Failure::Unsafe(message)) => return Err(message),
            };
            let program = stage.arguments[0].as_encoded_bytes().to_vec();
            self.runs.push(Run { program, outcome });
            input = match next {
                Some(read) => read,
                None => return Ok(()),
            };
        }
        Ok(())
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Running => self.deadline,
            Phase::Asked { until, .. } | Phase::Killing { until } => {
                Some((Instant::now() + TICK).min(*until))
            }
            Phase::Over => None,
        }
    }

    /// The plan is over: ask what is left of the tree to end.
    fn end(&mut self, reason: Reason) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        self.reason = reason;
        let grace = match reason {
            Reason::Finished => self.spec.grace.min(GRACE_AFTER_END),
            _ => self.spec.grace,
        };
        if let Some(fence) = self.confinement.fence() {
            fence.ask();
        }
        self.phase = Phase::Asked {
            until: Instant::now() + grace,
            asked: HashSet::new(),
        };
    }

    /// Moves the plan on as far as it goes without waiting.
    fn advance(&mut self) {
        let mut alive = self.reap();
        if matches!(self.phase, Phase::Running) {
            if self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
            {
                self.end(Reason::Timeout);
            } else if self.runs[self.current..]
                .iter()
                .all(|run| run.outcome.code().is_some())
            {
                self.next_step();
                // What was just started may be the only thing alive.
                alive = self.reap();
            }
        }
        let now = Instant::now();
        match &mut self.phase {
            Phase::Running | Phase::Over => {}
            _ if !alive => self.phase = Phase::Over,
            Phase::Asked { until, .. } if now < *until && self.confinement.fence().is_some() => {
                if let Some(fence) = self.confinement.fence() {
                    // Stages are below this process, not below the first one inside, which waits for the others.
                    if tree::children() == [fence.init()] {
                        fence.release();
                    }
                }
            }
            Phase::Asked { until, asked } if now < *until => {
                // Once each: those that become orphans by the end of others are asked when they are seen.
                let mut fresh = HashSet::new();
                tree::signal(Signal::TERM, |pid| {
                    !asked.contains(&pid) && fresh.insert(pid)
                });
                // A stopped process takes no signal before it goes on.
                tree::signal(Signal::CONT, |pid| fresh.contains(&pid));
                asked.extend(fresh);
            }
            Phase::Asked { .. } => {
                self.limits.freeze_growth();
                tree::signal(Signal::KILL, |_| true);
                self.phase = Phase::Killing {
                    until: now + KILL_PATIENCE,
                };
            }
            Phase::Killing { until } if now < *until => tree::signal(Signal::KILL, |_| true),
            Phase::Killing { .. } => {
                self.left = tree::children().len();
                self.phase = Phase::Over;
            }
        }
    }

    fn reap(&mut self) -> bool {
        let runs = &mut self.runs;
        tree::reap(|pid, status| note_end(runs, pid, status))
    }

    fn read_output(&mut self) {
        for (pipe, capture) in self.pipes.iter_mut().zip(&mut self.captures) {
            let mut chunk = [0_u8; 64 * 1024];
            for _ in 0..READS_PER_TURN {
                let Some(descriptor) = pipe.as_ref() else {
                    break;
                };
                match rustix::io::read(descriptor, &mut chunk) {
                    Ok(0) => *pipe = None,
                    Ok(count) => capture.push(&chunk[..count]),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => break,
                    Err(_) => *pipe = None,
                }
            }
        }
    }

    /// Text kept from three positions on. What is told over the channel is much, and wanted whole.
    fn read(&mut self, positions: [i64; 3], limit: i64, id: i64) -> Term {
        const MORE: usize = 16;
        // The longest character has four bytes: a smaller limit could not move on.
        let limit = usize::try_from(limit).unwrap_or(0).max(4);
        let [output, errors, channel] = &mut self.captures;
        let [output, errors, channel] = [
            (output, positions[0], limit),
            (errors, positions[1], limit),
            (channel, positions[2], limit.saturating_mul(MORE)),
        ]
        .map(|(capture, position, limit)| {
            let slice = capture.read(u64::try_from(position).unwrap_or(0), limit);
            Term::map([
                ("text", Term::Bytes(slice.text)),
                ("next", Term::count(slice.next)),
                ("dropped", Term::count(slice.dropped)),
            ])
        });
        Term::map([
            ("event", Term::text("read")),
            ("id", Term::Int(id)),
            ("stdout", output),
            ("stderr", errors),
            ("channel", channel),
        ])
    }

    /// What there is to tell once the tree is gone.
    fn report(mut self) -> Term {
        // Whatever the dead wrote is in the pipes by now. A pipe need not end: its writing end may have been passed
        // to a process outside the tree.
        self.read_output();
        self.captures.iter_mut().for_each(Capture::finish);
        let put_back = self
            .keeper
            .take()
            .map_or_else(Vec::new, |keeper| keeper.restore());
        let [output, errors, channel] = &mut self.captures;

        let last = self.runs.last().map(|run| &run.outcome);
        let status = match (self.reason, last) {
            (Reason::Timeout, _) => "timeout",
            (Reason::Stopped | Reason::Abandoned, _) => "stopped",
            (Reason::Finished, Some(Outcome::Signaled(_))) => "signaled",
            (Reason::Finished, _) => "exited",
        };
        Term::map([
            ("event", Term::text("done")),
            ("status", Term::text(status)),
            (
                "stages",
                Term::List(self.runs.iter().map(Run::report).collect()),
            ),
            ("stdout", output.report()),
            ("stderr", errors.report()),
            ("channel", channel.report()),
            (
                "duration",
                Term::count(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)),
            ),
            ("confinement", self.confinement.report()),
            ("limits", self.limits.report()),
            (
                "put_back",
                Term::List(put_back.into_iter().map(Term::text).collect()),
            ),
            ("failure", self.failure.map_or_else(Term::nil, Term::text)),
            ("processes_left", Term::count(self.left as u64)),
        ])
    }
}

impl Run {
    fn report(&self) -> Term {
        let (signal, error) = match &self.outcome {
            Outcome::Signaled(number) => (Term::text(signal_name(*number)), Term::nil()),
            Outcome::NotStarted { message, .. } => (Term::nil(), Term::text(message)),
            _ => (Term::nil(), Term::nil()),
        };
        Term::map([
            ("program", Term::Bytes(self.program.clone())),
            (
                "exit_code",
                self.outcome
                    .code()
                    .map_or_else(Term::nil, |code| Term::Int(i64::from(code))),
            ),
            ("signal", signal),
            ("error", error),
        ])
    }
}

fn signal_name(number: i32) -> String {
    let name = match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        other => return format!("SIG{other}"),
    };
    name.to_owned()
}

fn note_end(runs: &mut [Run], pid: Pid, status: WaitStatus) {
    let Some(run) = runs
        .iter_mut()
        .find(|run| matches!(run.outcome, Outcome::Running(other) if other == pid))
    else {
        return;
    };
    run.outcome = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(signal)) => Outcome::Signaled(signal),
        (None, None) => return,
    };
}
