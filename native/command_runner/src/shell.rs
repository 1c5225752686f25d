//! Carries out a plan as a shell would: pipelines one after the other, groups with a folder and
//! variables of their own, `$?`, `!`, `time`.
//!
//! Nothing waits here. [`Shell::advance`] goes on as far as it can, and is called again when a
//! process has ended.
//!
//! What a line was judged with is compared before each command starts: the folder, the values of
//! variables, where its paths and patterns lead, and its name. A command for which something has
//! changed is not run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{MemfdFlags, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitStatus};
use security_core::command_policy::{
    BoundRedirection, BoundTarget, Command, Hardening, SHELLS, Statement, bind_redirections,
    git_hardening,
};
use security_core::path_boundary::Boundary;

use crate::capture::Capture;
use crate::confine::Confinement;
use crate::limits::Applied;
use crate::spawn::{self, Descriptors, Failure};
use crate::spec::{Connector, Part, Redirection, Spec, Stage, Step, Target};
use crate::wire::Term;

/// Not run, as a shell says of a file that it can't execute.
const NOT_RUN: i32 = 126;

/// How a command ended.
#[derive(Debug)]
pub enum Outcome {
    /// Not yet.
    Running(Pid),
    /// By itself.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
    /// It was not started.
    NotStarted {
        /// The exit code that a shell gives it.
        code: i32,
        /// Why, in words.
        message: String,
    },
}

impl Outcome {
    /// The exit code as a shell tells it.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Running(_) => None,
            Self::Exited(code) | Self::NotStarted { code, .. } => Some(*code),
            Self::Signaled(signal) => Some(128 + signal),
        }
    }
}

/// A command and how it ended.
#[derive(Debug)]
pub struct Run {
    /// Its name.
    pub program: Vec<u8>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Run {
    /// What is told of it.
    pub fn report(&self) -> Term {
        let (signal, error) = match &self.outcome {
            Outcome::Signaled(number) => (Term::text(signal_name(*number)), Term::nil()),
            Outcome::NotStarted { message, .. } => (Term::nil(), Term::text(message)),
            _ => (Term::nil(), Term::nil()),
        };
        let code = self.outcome.code();
        Term::map([
            ("program", Term::Bytes(self.program.clone())),
            (
                "exit_code",
                code.map_or_else(Term::nil, |code| Term::Int(i64::from(code))),
            ),
            ("signal", signal),
            ("error", error),
        ])
    }
}

/// The name of a signal, as `SIGTERM`.
fn signal_name(number: i32) -> String {
    match signal_hook::low_level::signal_name(number) {
        Some(name) => name.to_owned(),
        None => format!("SIG{number}"),
    }
}

/// Notes how a process ended, when it is one of the commands.
pub fn note_end(runs: &mut [Run], pid: Pid, status: WaitStatus) {
    let is_own = |run: &&mut Run| matches!(run.outcome, Outcome::Running(other) if other == pid);
    let Some(run) = runs.iter_mut().find(is_own) else {
        return;
    };
    run.outcome = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(signal)) => Outcome::Signaled(signal),
        (None, None) => return,
    };
}

/// What all shells of a plan share.
pub struct Machine<'a> {
    /// What was asked for.
    pub spec: &'a Spec,
    /// The limits of every command.
    pub limits: &'a Arc<Applied>,
    /// The confinement of every command.
    pub confinement: &'a Arc<Confinement>,
    /// The project, when the plan is a judged line.
    pub boundary: Option<&'a Boundary>,
    /// What commands tell their caller something over.
    pub channel: Option<&'a OwnedFd>,
    /// Every command so far.
    pub runs: &'a mut Vec<Run>,
    /// Where messages go for which nobody has redirected the standard error.
    pub errors: &'a mut Capture,
}

/// What changes as a shell goes on.
#[derive(Clone, Debug, Default)]
struct State {
    /// Relative to the project's root.
    folder: String,
    /// Values, and whether commands get them.
    variables: BTreeMap<String, (String, bool)>,
    /// The last exit code.
    last: i32,
    exited: bool,
}

/// A list of pipelines under way.
pub struct Shell {
    state: State,
    steps: std::vec::IntoIter<Step>,
    /// Where its commands read and write; gone once it is over, so that others see the end of its
    /// output.
    ends: Option<Descriptors>,
    /// Whether its standard error is the plan's own.
    plain_errors: bool,
    current: Vec<Running>,
    negated: bool,
    timer: Option<Timer>,
}

enum Running {
    Process(usize),
    Ended(i32),
    Group { shell: Box<Shell>, subshell: bool },
}

impl Shell {
    /// A shell that has done nothing yet.
    pub fn new(steps: Vec<Step>, folder: String, ends: Descriptors) -> Self {
        let state = State {
            folder,
            ..State::default()
        };
        Self::start(steps, state, ends, true)
    }

    fn start(steps: Vec<Step>, state: State, ends: Descriptors, plain_errors: bool) -> Self {
        Self {
            state,
            steps: steps.into_iter(),
            ends: Some(ends),
            plain_errors,
            current: Vec::new(),
            negated: false,
            timer: None,
        }
    }

    /// The exit code of the last pipeline that ended.
    pub fn last(&self) -> i32 {
        self.state.last
    }

    /// Goes on as far as it can; true at the end. An error means that nothing more may run.
    pub fn advance(&mut self, machine: &mut Machine<'_>) -> Result<bool, String> {
        loop {
            if !self.current.is_empty() {
                let Some(code) = self.ended(machine)? else {
                    return Ok(false);
                };
                self.finish_pipeline(code, machine);
            }
            let Some(step) = self.next_step() else {
                self.ends = None;
                return Ok(true);
            };
            self.negated = step.negated;
            self.timer = step.timed.then(Timer::start);
            self.start_pipeline(step.parts, machine)?;
        }
    }

    fn next_step(&mut self) -> Option<Step> {
        let last = self.state.last;
        let goes_on = |step: &Step| match step.connector {
            Connector::Then => true,
            Connector::And => last == 0,
            Connector::Or => last != 0,
        };
        if self.state.exited {
            None
        } else {
            self.steps.find(goes_on)
        }
    }

    /// The exit code of the pipeline under way, once all of it has ended.
    fn ended(&mut self, machine: &mut Machine<'_>) -> Result<Option<i32>, String> {
        let mut code = None;
        let mut all = true;
        for part in &mut self.current {
            code = match part {
                Running::Ended(code) => Some(*code),
                Running::Process(run) => machine.runs[*run].outcome.code(),
                Running::Group { shell, .. } => shell.advance(machine)?.then(|| shell.last()),
            };
            all &= code.is_some();
        }
        Ok(code.filter(|_| all))
    }

    fn finish_pipeline(&mut self, code: i32, machine: &mut Machine<'_>) {
        let mut parts = std::mem::take(&mut self.current);
        if let (
            1,
            Some(Running::Group {
                shell,
                subshell: false,
            }),
        ) = (parts.len(), parts.pop())
        {
            self.state = shell.state;
        }
        self.state.last = match self.negated {
            true if !self.state.exited => i32::from(code == 0),
            _ => code,
        };
        if let Some(timer) = self.timer.take() {
            self.say(&timer.report(), machine);
        }
    }

    fn start_pipeline(
        &mut self,
        parts: Vec<Part>,
        machine: &mut Machine<'_>,
    ) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        let alone = parts.len() == 1;
        let Some([first, last_output, errors]) = &self.ends else {
            return Ok(());
        };
        let mut input = first.try_clone().map_err(text)?;
        let last_output = last_output.try_clone().map_err(text)?;
        let errors = errors.try_clone().map_err(text)?;
        let count = parts.len();
        for (place, part) in parts.into_iter().enumerate() {
            let (output, next) = if place + 1 == count {
                (last_output.try_clone().map_err(text)?, None)
            } else {
                let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
                    .map_err(|error| text(error.into()))?;
                (write, Some(read))
            };
            let ends = [input, output, errors.try_clone().map_err(text)?];
            let running = self.start_part(part, ends, alone, machine)?;
            self.current.push(running);
            let Some(read) = next else { break };
            input = read;
        }
        Ok(())
    }

    fn start_part(
        &mut self,
        part: Part,
        ends: Descriptors,
        alone: bool,
        machine: &mut Machine<'_>,
    ) -> Result<Running, String> {
        match part {
            Part::Ready(stage) => self.start_stage(&stage, ends, machine),
            Part::Judged(command) => match self.ready(&command, machine) {
                Ok((stage, text)) => {
                    let [input, output, errors] = ends;
                    let input = match text {
                        Some(text) => document(&text).map_err(|error| error.to_string())?,
                        None => input,
                    };
                    self.start_stage(&stage, [input, output, errors], machine)
                }
                Err(message) => {
                    let name = command.argv.first().map_or("", |name| name.text());
                    self.say(format!("{message}\n").as_bytes(), machine);
                    let outcome = Outcome::NotStarted {
                        code: NOT_RUN,
                        message,
                    };
                    machine.runs.push(Run {
                        program: name.as_bytes().to_vec(),
                        outcome,
                    });
                    Ok(Running::Ended(NOT_RUN))
                }
            },
            Part::Statements {
                statements,
                redirections,
            } => match self.redirected(&redirections, ends, machine) {
                Ok(_) => Ok(self.do_statements(&statements, alone, machine)),
                Err(failed) => Ok(failed),
            },
            Part::Group {
                steps,
                subshell,
                redirections,
            } => match self.redirected(&redirections, ends, machine) {
                Ok(ends) => {
                    let plain = self.plain_errors && redirections.iter().all(|r| r.fd != 2);
                    let mut shell = Shell::start(steps, self.state.clone(), ends, plain);
                    shell.advance(machine)?;
                    Ok(Running::Group {
                        shell: Box::new(shell),
                        subshell,
                    })
                }
                Err(failed) => Ok(failed),
            },
        }
    }

    /// The ends after redirections of a group, or of what the shell itself does. One that fails is
    /// said, and the part is over.
    fn redirected(
        &self,
        redirections: &[security_core::command_policy::Redirection],
        mut ends: Descriptors,
        machine: &mut Machine<'_>,
    ) -> Result<Descriptors, Running> {
        match redirect(redirections, &mut ends, machine) {
            Ok(()) => Ok(ends),
            Err(message) => Err(self.failed(&message, machine)),
        }
    }

    fn do_statements(
        &mut self,
        statements: &[Statement],
        alone: bool,
        machine: &mut Machine<'_>,
    ) -> Running {
        // In a pipeline each part is a shell of its own.
        let mut own = self.state.clone();
        let state = if alone { &mut self.state } else { &mut own };
        match carry_out(state, statements, machine) {
            Ok(()) => Running::Ended(if state.exited { state.last } else { 0 }),
            Err(message) => self.failed(&message, machine),
        }
    }

    fn failed(&self, message: &str, machine: &mut Machine<'_>) -> Running {
        self.say(format!("{message}\n").as_bytes(), machine);
        Running::Ended(1)
    }

    fn start_stage(
        &self,
        stage: &Stage,
        ends: Descriptors,
        machine: &mut Machine<'_>,
    ) -> Result<Running, String> {
        let told = where_errors_go(stage, &ends, machine.spec);
        let Machine {
            spec,
            limits,
            confinement,
            channel,
            ..
        } = machine;
        let outcome = match spawn::spawn(stage, ends, *channel, spec, limits, confinement) {
            Ok(pid) => Outcome::Running(pid),
            Err(Failure::Command { code, message }) => {
                let text = format!("{message}\n");
                match told {
                    Errors::Own => self.say(text.as_bytes(), machine),
                    Errors::Other(end) => write_without_waiting(&end, text.as_bytes()),
                    Errors::File(path, roots) => append(&path, roots.as_deref(), text.as_bytes()),
                    Errors::Nowhere => {}
                }
                Outcome::NotStarted { code, message }
            }
            Err(Failure::Unsafe(message)) => return Err(message),
        };
        let program = stage.arguments[0].as_encoded_bytes().to_vec();
        machine.runs.push(Run { program, outcome });
        Ok(Running::Process(machine.runs.len() - 1))
    }

    /// The command as it starts now, and the text of its standard input if the line has it. An
    /// error says why it is not run.
    fn ready(
        &self,
        command: &Command,
        machine: &Machine<'_>,
    ) -> Result<(Stage, Option<String>), String> {
        let name = command.argv.first().map_or("", |name| name.text());
        let boundary = machine.boundary.ok_or("the plan has no project")?;
        if command.cwd != self.state.folder {
            let here = if command.cwd.is_empty() {
                "the project's root"
            } else {
                &command.cwd
            };
            return Err(format!(
                "{name}: not run, since the cd to {here} did not succeed"
            ));
        }
        for (variable, value) in &command.assumes {
            if self.state.variables.get(variable).map(|(value, _)| value) != Some(value) {
                return Err(format!(
                    "{name}: not run, since {variable} does not have the value that the line gives it"
                ));
            }
        }
        let bound = command
            .bind(boundary, self.state.last)
            .map_err(|error| error.to_string())?;
        let program = bound.argv.first().map_or("", String::as_str);
        if program.contains('/') || SHELLS.contains(program) {
            return Err(format!(
                "{program}: not run, shells and paths are not commands"
            ));
        }
        let exported = self
            .state
            .variables
            .iter()
            .filter(|(_, (_, export))| *export);
        let exported = exported.map(|(name, (value, _))| (name.clone(), Some(value.clone())));
        let hardening = match command.hardening {
            Hardening::None => Vec::new(),
            Hardening::Git => git_hardening(),
        };
        let hardening = hardening
            .into_iter()
            .map(|(name, value)| (name, Some(value)));
        let environment = exported.chain(hardening).chain(command.env.iter().cloned());
        let (redirections, text) = split_text(bound.redirections);
        let stage = Stage {
            arguments: bound
                .argv
                .into_iter()
                .map(|word| word.into_bytes())
                .map(OsString::from_vec)
                .collect(),
            environment: environment
                .map(|(name, value)| (name.into(), value.map(Into::into)))
                .collect(),
            redirections,
            folder: Some(boundary.root().join(&self.state.folder)),
            git: command.runs_git(),
        };
        Ok((stage, text))
    }

    /// Says something on the standard error, as the shell itself.
    fn say(&self, text: &[u8], machine: &mut Machine<'_>) {
        match &self.ends {
            Some([_, _, errors]) if !self.plain_errors => write_without_waiting(errors, text),
            _ => machine.errors.push(text),
        }
    }
}

/// Where the words go that say why a command did not start.
enum Errors {
    Own,
    Other(OwnedFd),
    /// A file that the command would have written to, and the folders that it must lie in.
    File(PathBuf, Option<Vec<PathBuf>>),
    Nowhere,
}

fn where_errors_go(stage: &Stage, ends: &Descriptors, spec: &Spec) -> Errors {
    #[derive(Clone, Copy)]
    enum Origin<'a> {
        End(usize),
        File(&'a PathBuf),
        Nowhere,
    }
    // What each of the three is, by the time all redirections have applied.
    let mut origins = [Origin::End(0), Origin::End(1), Origin::End(2)];
    for redirection in &stage.redirections {
        let origin = match &redirection.target {
            Target::Same(other) => usize::try_from(*other)
                .ok()
                .and_then(|at| origins.get(at).copied())
                .unwrap_or(Origin::Nowhere),
            Target::Write(path) | Target::Append(path) => Origin::File(path),
            _ => Origin::Nowhere,
        };
        let at = usize::try_from(redirection.descriptor).unwrap_or(usize::MAX);
        if let Some(place) = origins.get_mut(at) {
            *place = origin;
        }
    }
    match origins[2] {
        Origin::End(2) => Errors::Own,
        Origin::End(end) => ends[end].try_clone().map_or(Errors::Nowhere, Errors::Other),
        Origin::File(path) => Errors::File(path.clone(), spec.policy.write.clone()),
        Origin::Nowhere => Errors::Nowhere,
    }
}

/// Adds to a file that the process of a command that then did not start has made.
fn append(path: &Path, roots: Option<&[PathBuf]>, text: &[u8]) {
    if let Ok(file) = spawn::open(path, OFlags::WRONLY | OFlags::APPEND, roots) {
        let _ = rustix::io::write(file, text);
    }
}

/// Writes what fits: this process must not wait for a reader, since it may be the reader itself.
fn write_without_waiting(end: &OwnedFd, text: &[u8]) {
    let mut ready = [PollFd::new(end, PollFlags::OUT)];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // A pipe that is ready takes at least this much at once.
    let text = &text[..text.len().min(rustix::pipe::PIPE_BUF)];
    if rustix::event::poll(&mut ready, Some(&now)) == Ok(1) {
        let _ = rustix::io::write(end, text);
    }
}

fn carry_out(
    state: &mut State,
    statements: &[Statement],
    machine: &Machine<'_>,
) -> Result<(), String> {
    for statement in statements {
        match statement {
            Statement::Nothing => {}
            Statement::Assume { name, value } => {
                if state.variables.get(name).map(|(value, _)| value) != Some(value) {
                    return Err(format!(
                        "{name} does not have the value that the line gives it"
                    ));
                }
            }
            Statement::Cd { typed, folder } => {
                let boundary = machine.boundary.ok_or("the plan has no project")?;
                boundary
                    .open_dir(folder)
                    .map_err(|error| format!("cd: {typed}: {}", error.reason()))?;
                state.folder.clone_from(folder);
            }
            Statement::Set {
                name,
                value,
                export,
            } => {
                let known = state.variables.get(name).cloned();
                let exported = *export || known.as_ref().is_some_and(|(_, export)| *export);
                if let Some(value) = value.clone().or(known.map(|(value, _)| value)) {
                    state.variables.insert(name.clone(), (value, exported));
                }
            }
            Statement::Unset { name } => {
                state.variables.remove(name);
            }
            Statement::Exit { code } => {
                state.last = code.map_or(state.last, i32::from);
                state.exited = true;
            }
        }
    }
    Ok(())
}

/// The redirections that the child makes, and the text that is its standard input, where the last
/// redirection of that says so.
fn split_text(bound: Vec<BoundRedirection>) -> (Vec<Redirection>, Option<String>) {
    let input = bound.iter().rposition(|redirection| redirection.fd == 0);
    let text = input.and_then(|at| match &bound[at].target {
        BoundTarget::Text(text) => Some(text.clone()),
        _ => None,
    });
    let others = bound.into_iter().filter_map(|redirection| {
        if redirection.fd == 0 && text.is_some() {
            return None;
        }
        Some(Redirection {
            descriptor: i32::from(redirection.fd),
            target: match redirection.target {
                BoundTarget::Read(path) => Target::Read(path),
                BoundTarget::Write(path) => Target::Write(path),
                BoundTarget::Append(path) => Target::Append(path),
                BoundTarget::Descriptor(other) => Target::Same(i32::from(other)),
                BoundTarget::Null if redirection.fd == 0 => {
                    Target::Read(PathBuf::from("/dev/null"))
                }
                BoundTarget::Null => Target::Write(PathBuf::from("/dev/null")),
                BoundTarget::Text(_) => return None,
            },
        })
    });
    (others.collect(), text)
}

/// Redirections of a group, or of what the shell itself does.
fn redirect(
    redirections: &[security_core::command_policy::Redirection],
    ends: &mut Descriptors,
    machine: &Machine<'_>,
) -> Result<(), String> {
    if redirections.is_empty() {
        return Ok(());
    }
    let boundary = machine.boundary.ok_or("the plan has no project")?;
    let bound = bind_redirections(redirections, boundary, "redirection");
    let (readable, writable) = (machine.spec.readable(), &machine.spec.policy.write);
    let null = PathBuf::from("/dev/null");
    for redirection in bound.map_err(|error| error.to_string())? {
        let (path, flags, roots) = match &redirection.target {
            BoundTarget::Read(path) => (path, OFlags::RDONLY, &readable),
            BoundTarget::Write(path) => (
                path,
                OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
                writable,
            ),
            BoundTarget::Append(path) => (
                path,
                OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
                writable,
            ),
            BoundTarget::Null => (&null, OFlags::RDWR, writable),
            BoundTarget::Text(text) => {
                ends[0] = document(text).map_err(|error| error.to_string())?;
                continue;
            }
            BoundTarget::Descriptor(other) => {
                let other = ends[usize::from(*other)].try_clone();
                ends[usize::from(redirection.fd)] = other.map_err(|error| error.to_string())?;
                continue;
            }
        };
        let file = spawn::open(path, flags, roots.as_deref());
        ends[usize::from(redirection.fd)] =
            file.map_err(|error| format!("{}: {}", path.display(), spawn::reason(&error)))?;
    }
    Ok(())
}

/// Text as a file that is nowhere, to be read from its beginning.
fn document(text: &str) -> std::io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    let file = rustix::fs::memfd_create("here-document", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

/// What `time` tells.
struct Timer {
    started: Instant,
    used: [Duration; 2],
}

impl Timer {
    fn start() -> Self {
        Self {
            started: Instant::now(),
            used: used_by_children(),
        }
    }

    fn report(&self) -> Vec<u8> {
        let show = |name: &str, time: Duration| {
            format!(
                "{name}\t{}m{:.3}s\n",
                time.as_secs() / 60,
                time.as_secs_f64() % 60.0
            )
        };
        let [user, system] = used_by_children();
        let [user_before, system_before] = self.used;
        let text = [
            "\n".to_owned(),
            show("real", self.started.elapsed()),
            show("user", user.saturating_sub(user_before)),
            show("sys", system.saturating_sub(system_before)),
        ];
        text.concat().into_bytes()
    }
}

/// User and system time of all children that have ended.
fn used_by_children() -> [Duration; 2] {
    // SAFETY: the structure is plain numbers, for which all zeroes is a value, and the call fills
    // it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime].map(|time| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::from_secs(seconds)
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        assert_eq!(signal_name(libc::SIGSEGV), "SIGSEGV");
        assert_eq!(signal_name(libc::SIGKILL), "SIGKILL");
        assert_eq!(signal_name(63), "SIG63");
    }
}
