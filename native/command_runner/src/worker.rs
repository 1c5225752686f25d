//! The inner of the two processes: starts the commands, keeps their output, and ends their tree.
//!
//! One thread, one `poll`. The life of a plan is `Phase`: it runs; then, for whatever reason, what
//! is left of its tree is asked to end, then killed; then the report goes out. The tree is ended
//! after a normal end, too: a process left behind would hold the pipes, or run on unseen.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};
use security_core::path_boundary::Boundary;

use crate::capture::{Budget, Capture};
use crate::confine::{Confinement, Mode, Surroundings};
use crate::guard;
use crate::limits::Applied;
use crate::meter::Meter;
use crate::repository::keeper::Keeper;
use crate::repository::{Repositories, Submodules, appeared};
use crate::scratch::Scratch;
use crate::shell::{Machine, Outcome, Run, Shell, note_end};
use crate::signals::Signals;
use crate::spec::Spec;
use crate::toolchain;
use crate::tree;
use crate::wire::{FrameReader, FrameWriter, Input, Term};

/// The exit status of a worker that could not do its work; a command's own status travels in the
/// report.
pub const FAILED: u8 = 70;

/// What a process left over after a normal end gets to end by itself. A service that a test started
/// may want to write its state; a stray `sleep` must not hold the result up for the whole grace
/// time.
const GRACE_AFTER_END: Duration = Duration::from_millis(500);

/// How often to look for orphans that came from deeper in the tree: their coming makes no signal.
const TICK: Duration = Duration::from_millis(10);

/// A killed process is gone in microseconds, but for one that waits for a device. Past this, the
/// report names the number left and the guard goes on waiting for them.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// What the BEAM gets to read the last answer, should it be so slow; it hangs up when it is gone.
const PARTING: Duration = Duration::from_secs(5);

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
    /// More was written to the temporary folder than it may hold.
    Full,
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
    /// The BEAM has read the last answer.
    taken: bool,
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
            taken: false,
        })
    }

    fn serve(mut self) {
        while !(self.over && self.out.is_empty()) {
            self.turn();
        }
        self.part();
    }

    /// Waits until the last answer is read. A question that crosses with it would find nobody to
    /// read it, and the port, which fails at once then, would lose the answer.
    fn part(&mut self) {
        let until = Instant::now() + PARTING;
        let input = std::io::stdin();
        while self.input.is_some() && !self.taken && !self.signals.asked_to_stop() {
            let left = until.saturating_duration_since(Instant::now());
            let Some(left) = left.try_into().ok().filter(|_| !left.is_zero()) else {
                return;
            };
            let mut watched = self.signals.poll_fds().to_vec();
            watched.push(PollFd::new(&input, PollFlags::IN));
            let _ = rustix::event::poll(&mut watched, Some(&left));
            self.signals.drain();
            self.read_input();
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
            (None, Term::Atom(name)) if name == "taken" => self.taken = true,
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

/// Confines, and arranges what depends on how it could be done: where temporary files go, who
/// commits, what is compared afterwards.
fn confine(spec: &mut Spec, scratch: &Scratch) -> Result<Confined, (&'static str, String)> {
    let refused = |error| ("confinement", error);
    if let (Some(write), true) = (&spec.policy.write, spec.policy.mode != Mode::Off) {
        toolchain::leave_out_writable(&mut spec.environment, write);
    }
    let homes = toolchain::homes(&spec.environment);
    let repositories = match (&spec.policy.write, spec.policy.mode) {
        (None, _) | (_, Mode::Off) => Repositories::default(),
        (Some(write), _) => Repositories::find(write, &homes),
    };
    let runs_git = spec.runs_git();
    let surroundings = Surroundings {
        environment: &spec.environment,
        folder: &spec.folder,
        scratch: scratch.path(),
        repositories: &repositories,
        runs_git,
    };
    let confinement = Confinement::prepare(spec.policy.clone(), surroundings).map_err(refused)?;
    let missing = confinement.missing();
    if spec.policy.mode == Mode::Required && !missing.is_empty() {
        return Err(refused(missing.join("; ")));
    }
    let fenced = confinement.fence().is_some();
    let on_disk = spec.policy.temporary_on_disk(scratch.path()).to_owned();
    let own = match fenced {
        true => spec.policy.temporary_inside(scratch.path()).to_owned(),
        false => on_disk.clone(),
    };
    for (_, value) in &mut spec.environment {
        if value == scratch.path() {
            *value = own.as_os_str().to_owned();
        }
    }
    if !fenced && spec.policy.write.is_some() && spec.policy.mode != Mode::Off {
        // A home is the command's own, also where the session shares its temporary folder: else one
        // command could write what git and others read there as a person's configuration.
        spec.policy
            .write
            .iter_mut()
            .for_each(|write| write.extend([own.clone(), scratch.path().to_owned()]));
        if spec.policy.read.is_some() {
            toolchain::replace_home(&mut spec.environment, &homes, scratch.path());
        }
    }
    if spec.policy.mode != Mode::Off {
        spec.add_to_git(&repositories.identity);
    }
    // Within the fence mounts hold all but what git is given to write, and a folder around what is
    // named: that can be moved away with it.
    let mut compared = repositories.named;
    if !fenced || runs_git {
        compared.extend(repositories.control);
    }
    let keeper = Keeper::of(&compared, &repositories.entries);
    let submodules = match !fenced || runs_git {
        true => repositories.submodules,
        false => Vec::new(),
    };
    // In memory the kernel keeps the bound.
    let in_memory = fenced && (spec.policy.temporary.is_none() || spec.policy.holder.is_some());
    let meter = (!in_memory).then(|| Meter::of(&on_disk, spec.policy.temporary_bytes));
    Ok(Confined {
        confinement,
        keeper,
        submodules,
        meter,
    })
}

/// What [`confine`] arranged.
struct Confined {
    confinement: Confinement,
    keeper: Keeper,
    /// Of repositories that the command may add some to.
    submodules: Vec<Submodules>,
    meter: Option<Meter>,
}

/// A plan under way.
struct Job {
    spec: Spec,
    limits: Arc<Applied>,
    confinement: Arc<Confinement>,
    keeper: Keeper,
    submodules: Vec<Submodules>,
    /// Of the temporary folder, where no file system of its own bounds it.
    meter: Option<Meter>,
    phase: Phase,
    reason: Reason,
    started: Instant,
    /// The same by the clock that files are dated by.
    began: SystemTime,
    deadline: Option<Instant>,
    shell: Shell,
    /// The project of a judged line.
    boundary: Option<Boundary>,
    /// Every command so far.
    runs: Vec<Run>,
    /// Of the standard output, the standard error and the channel.
    captures: [Capture; 3],
    pipes: [Option<OwnedFd>; 3],
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
        let began = SystemTime::now();
        let limits = Applied::prepare(&spec.limits, name);
        let Confined {
            confinement,
            keeper,
            submodules,
            meter,
        } = confine(&mut spec, scratch)?;
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
        let null = OFlags::RDWR | OFlags::CLOEXEC;
        let null =
            rustix::fs::open("/dev/null", null, rustix::fs::Mode::empty()).map_err(system)?;
        let ends = [null, output_sink, errors_sink];
        let (boundary, folder) = match spec.project.take() {
            None => (None, String::new()),
            Some((root, folder)) => {
                let boundary = Boundary::open(&root);
                (
                    Some(boundary.map_err(|error| ("bad_spec", error.to_string()))?),
                    folder,
                )
            }
        };
        let started = Instant::now();
        let mut job = Self {
            limits: Arc::new(limits),
            confinement: Arc::new(confinement),
            keeper,
            submodules,
            meter,
            phase: Phase::Running,
            reason: Reason::Finished,
            started,
            began,
            deadline: started.checked_add(spec.timeout),
            shell: Shell::new(std::mem::take(&mut spec.plan), folder, ends),
            boundary,
            runs: Vec::new(),
            captures: [
                spec.budgets[0],
                spec.budgets[1],
                spec.channel.unwrap_or(Budget { head: 0, tail: 0 }),
            ]
            .map(Capture::new),
            pipes: [Some(output), Some(errors), channel],
            channel: channel_sink,
            failure: None,
            left: 0,
            spec,
        };
        job.go_on();
        Ok(job)
    }

    /// Starts what can be started, or ends the plan.
    fn go_on(&mut self) {
        let Self {
            shell,
            spec,
            limits,
            confinement,
            boundary,
            channel,
            runs,
            captures,
            ..
        } = self;
        let boundary = boundary.as_ref();
        let [_, errors, _] = captures;
        let channel = channel.as_ref();
        let mut machine = Machine {
            spec,
            limits,
            confinement,
            boundary,
            channel,
            runs,
            errors,
        };
        match shell.advance(&mut machine) {
            Ok(false) => {}
            Ok(true) => self.end(Reason::Finished),
            Err(error) => {
                self.failure = Some(error);
                self.end(Reason::Finished);
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Running => {
                let counting = self.meter.as_ref().map(Meter::next);
                self.deadline.into_iter().chain(counting).min()
            }
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
            } else if self.meter.as_mut().is_some_and(Meter::is_over) {
                self.end(Reason::Full);
            } else {
                self.go_on();
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
                    // Stages are below this process, not below the first one inside, which waits
                    // for the others.
                    if tree::children() == [fence.init()] {
                        fence.release();
                    }
                }
            }
            Phase::Asked { until, asked } if now < *until => {
                // Once each: those that become orphans by the end of others are asked when they are
                // seen.
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
        // Whatever the dead wrote is in the pipes by now. A pipe need not end: its writing end may
        // have been passed to a process outside the tree.
        self.read_output();
        self.captures.iter_mut().for_each(Capture::finish);
        let put_back = self.keeper.restore();
        // The first of the writable places is the project.
        let project = self.spec.policy.write.as_deref().and_then(<[_]>::first);
        let project = project.and_then(|project| project.canonicalize().ok());
        let mut appeared = match self.spec.policy.mode {
            Mode::Off => Vec::new(),
            _ => project.map_or_else(Vec::new, |project| appeared::since(&project, self.began)),
        };
        appeared.extend(self.submodules.iter().flat_map(Submodules::added));
        let emptied = self.meter.as_mut().and_then(Meter::settle);
        let [output, errors, channel] = &mut self.captures;

        let code = self.shell.last();
        let last = self.runs.last().map(|run| &run.outcome);
        let status = match (self.reason, last) {
            (Reason::Timeout, _) => "timeout",
            (Reason::Full | Reason::Stopped | Reason::Abandoned, _) => "stopped",
            (Reason::Finished, Some(Outcome::Signaled(signal))) if code == 128 + signal => {
                "signaled"
            }
            (Reason::Finished, _) => "exited",
        };
        Term::map([
            ("event", Term::text("done")),
            ("status", Term::text(status)),
            ("exit_code", Term::Int(i64::from(code))),
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
            (
                "appeared",
                Term::List(appeared.into_iter().map(Term::text).collect()),
            ),
            ("emptied", emptied.map_or_else(Term::nil, Term::text)),
            ("failure", self.failure.map_or_else(Term::nil, Term::text)),
            ("processes_left", Term::count(self.left as u64)),
        ])
    }
}
