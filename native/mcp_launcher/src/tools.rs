//! The VM that runs the tools: started with this program, started again by a call after it ended,
//! and always ended with its tree. It lies beside this program, loads no code of the project, and
//! starts the project's own VM in the fence.
//!
//! One task, the keeper, owns the VM and the channel to it. Others hold [`Tools`], through which
//! they send it requests.
//!
//! ```text
//! none ──call──► starting ──ready──► ready
//!   ▲               │                  │
//!   └── its calls are answered why ◄───┘   the VM ended
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::Tool;
use serde_json::{Map, Value};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use crate::channel::{Answer, Channel, FromVm, Listener, ToVm};
use crate::consent::Said;
use crate::install::Install;
use crate::lock;
use crate::options::Options;
use crate::output::Output;

/// How often waiting calls hear what the VM does.
const TICK: Duration = Duration::from_secs(1);
/// Clients may start a server with next to no environment. Without a locale, the VM takes the names
/// of files for Latin-1, and finds none that has a letter outside of ASCII.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];
/// What would load other code into the VM, or make it a node.
const FOREIGN: [&str; 5] = [
    "ERL_LIBS",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ELIXIR_ERL_OPTIONS",
];
/// What the VM runs.
const MAIN: &str = "JidoCode.Tools.Doors.MCP.ToolsVM.main()";
/// Between an end that nothing explains and the next start; doubled with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After this time a VM has proved that it can run.
const PROVED: Duration = Duration::from_secs(60);
/// What was printed last may still be in the pipe when the VM has ended.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// How long what the VM leaves behind has to end by itself. Its commands are ended by their own
/// runner, which sees it go, gives them two seconds, and then removes their temporary folder: killed
/// earlier it left that behind.
const SETTLE: Duration = Duration::from_secs(3);
/// How long the rest is killed for. It takes longer only where the kernel itself is stuck.
const SWEEP: Duration = Duration::from_secs(6);

/// How to reach the keeper.
#[derive(Clone)]
pub struct Tools {
    requests: mpsc::UnboundedSender<Request>,
    ids: Arc<AtomicU64>,
    offered: watch::Receiver<Vec<Tool>>,
}

enum Request {
    Call(u64, Pending),
    Asked(String, Map<String, Value>),
    Dropped,
    Cancel(u64),
}

/// Ends the VM.
pub struct Stopper {
    stop: oneshot::Sender<Duration>,
    keeper: JoinHandle<()>,
}

impl Stopper {
    /// Ends the VM and everything below it, by force when `grace` is over. Returns when all of it
    /// is gone.
    pub async fn stop(self, grace: Duration) {
        let _ = self.stop.send(grace);
        let _ = self.keeper.await;
    }
}

/// A call that has no answer yet.
struct Pending {
    /// Taken when it is sent to the VM.
    work: Option<Work>,
    answer: oneshot::Sender<Result<Answer, String>>,
    doing: watch::Sender<Doing>,
}

/// What a call is to do.
#[derive(Debug, Clone)]
pub struct Work {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Whether a denial may come with a question.
    pub ask: bool,
    /// What a person said to the question.
    pub said: Option<Said>,
}

/// What happens to a call.
#[derive(Debug, Clone, Default)]
pub struct Doing {
    /// Whether it has reached the VM.
    pub begun: bool,
    /// In a few words; may be empty.
    pub text: String,
}

/// A call on its way. Dropping it ends it, wherever it is.
pub struct Call {
    id: u64,
    requests: mpsc::UnboundedSender<Request>,
    /// The answer, or why there will be none.
    pub answer: oneshot::Receiver<Result<Answer, String>>,
    /// What happens meanwhile.
    pub doing: watch::Receiver<Doing>,
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = self.requests.send(Request::Cancel(self.id));
    }
}

/// A question in the client's hands, as long as this is held.
pub struct Asked {
    requests: mpsc::UnboundedSender<Request>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = self.requests.send(Request::Dropped);
    }
}

impl Tools {
    /// Starts the keeper, and the VM with it.
    pub fn start(install: Install, options: Options) -> (Tools, Stopper) {
        let (sender, requests) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let (offer, offered) = watch::channel(Vec::new());
        let mut keeper = Keeper {
            install,
            options,
            requests,
            calls: BTreeMap::new(),
            vm: None,
            rest: Rest::default(),
            offer,
        };
        let keeper = tokio::spawn(async move {
            keeper.start();
            // Wherever it is: a VM that does not move may have left it half way through a message.
            let grace = tokio::select! {
                grace = stopped => grace.unwrap_or_default(),
                never = keeper.run() => match never {},
            };
            keeper.end(grace).await;
        });
        let tools = Tools {
            requests: sender,
            ids: Arc::default(),
            offered,
        };
        (tools, Stopper { stop, keeper })
    }

    /// The project's own tools, as they change. Who waits for that hears at once of a list that is
    /// not the first: it may have been read before.
    pub fn offered(&self) -> watch::Receiver<Vec<Tool>> {
        self.offered.clone()
    }

    /// Tells that the client was given a question about this call: one that never comes back stands
    /// in the trail as unanswered.
    pub fn asked(&self, name: String, arguments: Map<String, Value>) {
        let _ = self.requests.send(Request::Asked(name, arguments));
    }

    /// The same of a question that the client holds only as long as the call runs.
    pub fn asking(&self, name: String, arguments: Map<String, Value>) -> Asked {
        self.asked(name, arguments);
        Asked {
            requests: self.requests.clone(),
        }
    }

    /// Sends a call.
    pub fn call(&self, work: Work) -> Call {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let (doing, seen) = watch::channel(Doing::default());
        let pending = Pending {
            work: Some(work),
            answer,
            doing,
        };
        let _ = self.requests.send(Request::Call(id, pending));
        Call {
            id,
            requests: self.requests.clone(),
            answer: answered,
            doing: seen,
        }
    }
}

struct Keeper {
    install: Install,
    options: Options,
    requests: mpsc::UnboundedReceiver<Request>,
    calls: BTreeMap<u64, Pending>,
    vm: Option<Vm>,
    rest: Rest,
    offer: watch::Sender<Vec<Tool>>,
}

/// How long to wait before the VM is started again after ends that it gave no reason for: not once
/// a second for ever.
#[derive(Default)]
struct Rest {
    pause: Duration,
    until: Option<Instant>,
    why: String,
}

impl Rest {
    fn after(&mut self, ran: Duration, why: &str) {
        let doubled = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.pause = if ran > PROVED { FIRST_PAUSE } else { doubled };
        self.until = Some(Instant::now() + self.pause);
        why.clone_into(&mut self.why);
    }

    /// Why nothing is started now.
    fn reason(&self) -> Option<String> {
        let left = self.until?.checked_duration_since(Instant::now())?;
        let seconds = left.as_secs() + 1;
        Some(format!(
            "{}\nA call in {seconds} s or later starts them again.",
            self.why
        ))
    }
}

struct Vm {
    child: Child,
    started: Instant,
    link: Link,
    /// Waits for the lock under which the project is compiled.
    locking: Option<JoinHandle<io::Result<File>>>,
    /// The lock, while it is held.
    lock: Option<File>,
    ready: bool,
    doing: String,
    failed: Option<String>,
    output: Output,
    /// Ends when what was printed is passed on.
    passing_on: JoinHandle<()>,
}

enum Link {
    Waiting(Listener),
    Open(Channel),
    Lost,
}

enum Event {
    Connected(io::Result<Channel>),
    Message(Option<io::Result<FromVm>>),
    Locked(Option<File>),
    Ended(io::Result<ExitStatus>),
}

impl Keeper {
    async fn run(&mut self) -> Infallible {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(request) = self.requests.recv() => match request {
                    Request::Call(id, call) => self.take(id, call).await,
                    Request::Asked(name, arguments) => {
                        self.tell(&ToVm::Asked { name, arguments }).await;
                    }
                    Request::Dropped => self.tell(&ToVm::Dropped).await,
                    Request::Cancel(id) => self.cancel(id).await,
                },
                event = event(&mut self.vm) => self.on(event).await,
                _ = tick.tick() => self.tick(),
            }
        }
    }

    fn start(&mut self) {
        match Vm::start(&self.install, &self.options) {
            Ok(vm) => self.vm = Some(vm),
            Err(problem) => self.answer_all(&problem),
        }
    }

    async fn take(&mut self, id: u64, call: Pending) {
        self.calls.insert(id, call);
        if self.vm.is_none() {
            match self.rest.reason() {
                Some(why) => self.answer_all(&why),
                None => self.start(),
            }
        }
        self.send_waiting().await;
    }

    /// Sends what has not been sent, once the VM takes calls.
    async fn send_waiting(&mut self) {
        let Some(vm) = self.vm.as_mut().filter(|vm| vm.ready) else {
            return;
        };
        for (id, call) in &mut self.calls {
            if let Some(work) = call.work.take() {
                call.doing.send_replace(Doing {
                    begun: true,
                    text: String::new(),
                });
                let id = *id;
                vm.send(&ToVm::Call {
                    id,
                    name: work.name,
                    arguments: work.arguments,
                    ask: work.ask,
                    said: work.said,
                })
                .await;
            }
        }
    }

    async fn tell(&mut self, news: &ToVm) {
        if let Some(vm) = self.vm.as_mut().filter(|vm| vm.ready) {
            vm.send(news).await;
        }
    }

    async fn cancel(&mut self, id: u64) {
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        if let (None, Some(vm)) = (call.work, self.vm.as_mut()) {
            vm.send(&ToVm::Cancel { id }).await;
        }
    }

    async fn on(&mut self, event: Event) {
        let Some(vm) = self.vm.as_mut() else { return };
        match event {
            Event::Connected(Ok(channel)) => vm.link = Link::Open(channel),
            Event::Message(Some(Ok(message))) => self.hear(message).await,
            Event::Connected(Err(problem)) | Event::Message(Some(Err(problem))) => {
                vm.failed.get_or_insert_with(|| problem.to_string());
                vm.link = Link::Lost;
                let _ = vm.child.start_kill();
            }
            // It ends itself, or should have.
            Event::Message(None) => {
                vm.link = Link::Lost;
                let _ = vm.child.start_kill();
            }
            Event::Locked(lock) => {
                vm.locking = None;
                vm.lock = lock;
                vm.send(&ToVm::Locked).await;
            }
            Event::Ended(status) => self.ended(status).await,
        }
    }

    async fn hear(&mut self, message: FromVm) {
        let Some(vm) = self.vm.as_mut() else { return };
        match message {
            FromVm::Starting { doing } => {
                vm.doing = doing;
                self.tell_waiting();
            }
            FromVm::Ready => {
                vm.ready = true;
                self.send_waiting().await;
            }
            FromVm::Failed { why } => vm.failed = Some(why),
            FromVm::Lock => {
                let project = self.options.project.clone();
                vm.lock = None;
                vm.locking = Some(tokio::spawn(lock::take(project)));
            }
            FromVm::Unlock => vm.unlock(),
            FromVm::Tools { tools } => self.offer(tools),
            FromVm::Progress { id, text } => {
                if let Some(call) = self.calls.get(&id) {
                    call.doing.send_replace(Doing { begun: true, text });
                }
            }
            FromVm::Answer { id, answer } => {
                if let Some(call) = self.calls.remove(&id) {
                    let _ = call.answer.send(Ok(answer));
                }
            }
        }
    }

    fn offer(&self, tools: Vec<Tool>) {
        self.offer.send_if_modified(|offered| {
            let changed = *offered != tools;
            *offered = tools;
            changed
        });
    }

    async fn ended(&mut self, status: io::Result<ExitStatus>) {
        // What it said before it ended may not have been read yet.
        while let Some(Vm {
            link: Link::Open(channel),
            ..
        }) = self.vm.as_mut()
        {
            match tokio::time::timeout(LAST_WORDS, channel.next()).await {
                Ok(Some(Ok(message))) => self.hear(message).await,
                _ => break,
            }
        }
        let Some(mut vm) = self.vm.take() else { return };
        vm.unlock();
        // Nobody knows them any more.
        self.offer(Vec::new());
        sweep().await;
        tokio::time::sleep(LAST_WORDS).await;
        let unexplained = vm.failed.is_none();
        let why = vm.failed.unwrap_or_else(|| match status {
            Ok(status) => format!("Their VM ended unexpectedly ({status})"),
            Err(problem) => format!("Their VM ended unexpectedly ({problem})"),
        });
        let why = match vm.output.end() {
            printed if printed.is_empty() => why,
            printed => format!("{why}. It printed last:\n{printed}"),
        };
        if unexplained {
            self.rest.after(vm.started.elapsed(), &why);
        }
        self.answer_all(&why);
    }

    fn answer_all(&mut self, why: &str) {
        for (_id, call) in std::mem::take(&mut self.calls) {
            let _ = call.answer.send(Err(why.to_owned()));
        }
    }

    fn tick(&mut self) {
        reap_orphans(self.vm.as_ref().and_then(|vm| vm.child.id()));
        self.tell_waiting();
    }

    fn tell_waiting(&mut self) {
        let Some(vm) = self.vm.as_ref().filter(|vm| !vm.ready) else {
            return;
        };
        let text = match vm.output.last_line() {
            line if line.is_empty() => vm.doing.clone(),
            line => format!("{}: {line}", vm.doing),
        };
        for call in self.calls.values() {
            call.doing.send_replace(Doing {
                begun: false,
                text: text.clone(),
            });
        }
    }

    async fn end(&mut self, grace: Duration) {
        if let Some(mut vm) = self.vm.take() {
            // Seeing its end of the channel closed, the VM ends the calls and stops the project.
            vm.link = Link::Lost;
            vm.unlock();
            if tokio::time::timeout(grace, vm.child.wait()).await.is_err() {
                let _ = vm.child.start_kill();
                let _ = vm.child.wait().await;
            }
            sweep().await;
            // The last lines too, where somebody reads them.
            let _ = tokio::time::timeout(SETTLE, vm.passing_on).await;
        } else {
            sweep().await;
        }
    }
}

/// What happens next to the VM. Nothing is lost when this is dropped.
async fn event(vm: &mut Option<Vm>) -> Event {
    let Some(vm) = vm else {
        return std::future::pending().await;
    };
    let link = async {
        match &mut vm.link {
            Link::Waiting(listener) => Event::Connected(listener.accept().await),
            Link::Open(channel) => Event::Message(channel.next().await),
            Link::Lost => std::future::pending().await,
        }
    };
    let lock = async {
        match &mut vm.locking {
            Some(lock) => Event::Locked(taken(lock.await)),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        event = link => event,
        event = lock => event,
        status = vm.child.wait() => Event::Ended(status),
    }
}

/// Without a place for the lock the project is compiled all the same.
fn taken(lock: Result<io::Result<File>, tokio::task::JoinError>) -> Option<File> {
    match lock {
        Ok(Ok(file)) => Some(file),
        Ok(Err(problem)) => {
            eprintln!(
                "jido_mcp: another server may compile this project at the same time ({problem})"
            );
            None
        }
        Err(_aborted) => None,
    }
}

impl Vm {
    fn start(install: &Install, options: &Options) -> Result<Vm, String> {
        let listener = Listener::new().map_err(|error| format!("No channel to the VM: {error}"))?;
        let (reader, writer) = io::pipe().map_err(|error| error.to_string())?;
        let again = writer.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(install.elixir());
        command
            // No start file of anybody's, and names of files are UTF-8.
            .args(["--erl", "-boot no_dot_erlang +fnu"])
            .arg("-pa")
            .arg(install.ebin())
            .args(["-e", MAIN, "--", "--socket"])
            .arg(listener.path())
            .arg("--project")
            .arg(&options.project)
            .args(&options.serve)
            .current_dir(install.root())
            .env("PATH", options.searched(install.erlang())?)
            .env("ERL_CRASH_DUMP_BYTES", "0")
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(again)
            // A group of its own: an interrupt typed at a terminal is for this program, which then
            // ends the VM in order.
            .process_group(0)
            .kill_on_drop(true);
        for name in FOREIGN {
            command.env_remove(name);
        }
        if LOCALE
            .into_iter()
            .all(|name| std::env::var_os(name).unwrap_or_default().is_empty())
        {
            command.env("LANG", "C.UTF-8");
        }
        die_with_this_program(&mut command);
        let child = command.spawn().map_err(|error| {
            let program = install.elixir();
            format!(
                "Can't start {} ({error}); mix jido.mcp.config installs the server \
                 for the Elixir that is installed",
                program.display()
            )
        })?;
        // The writing ends go with the command: the pipe is over when the VM and its children are.
        drop(command);
        let (output, passing_on) =
            Output::follow(reader.into()).map_err(|error| error.to_string())?;
        Ok(Vm {
            child,
            started: Instant::now(),
            link: Link::Waiting(listener),
            locking: None,
            lock: None,
            ready: false,
            doing: "starting the tools".to_owned(),
            failed: None,
            output,
            passing_on,
        })
    }

    fn unlock(&mut self) {
        self.lock = None;
        if let Some(lock) = self.locking.take() {
            lock.abort();
        }
    }

    async fn send(&mut self, message: &ToVm) {
        if let Link::Open(channel) = &mut self.link {
            // A channel that is gone is noticed where it is read.
            let _ = channel.send(message).await;
        }
    }
}

#[cfg(target_os = "linux")]
fn die_with_this_program(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // SAFETY: between fork and exec the closure makes one system call, and touches no memory of its
    // parent's.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

// Elsewhere the VM sees its end of the channel close.
#[cfg(not(target_os = "linux"))]
fn die_with_this_program(_command: &mut Command) {}

/// Ends what is left below this program, wherever it went: orphans of the tree became its children.
#[cfg(target_os = "linux")]
async fn sweep() {
    use command_runner::tree;
    use rustix::process::Signal;
    let start = Instant::now();
    while tree::reap(|_, _| {}) && start.elapsed() < SWEEP {
        if start.elapsed() > SETTLE {
            tree::signal(Signal::KILL, |_| true);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[cfg(not(target_os = "linux"))]
async fn sweep() {}

/// Orphans of the VM's tree become this program's children; one that has ended stays in the table
/// of processes until it is waited for. The VM itself is waited for elsewhere.
#[cfg(target_os = "linux")]
fn reap_orphans(vm: Option<u32>) {
    use rustix::process::{WaitOptions, waitpid};
    for pid in command_runner::tree::children() {
        if u32::try_from(pid.as_raw_nonzero().get()).ok() != vm {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn reap_orphans(_vm: Option<u32>) {}
