//! `jido_mcp`, the program that an MCP client starts.
//!
//! ```text
//! client ── stdin, stdout ── jido_mcp ── the tools' VM ── commands, and the project's VM
//!                               │  one private socket: calls, progress, answers
//!                               └─ what the VMs and their children print goes to stderr
//! ```
//!
//! A VM takes its time to start, and prints, so it can't own the client's channel, nor answer at
//! once. This program can: it knows the tools from a file made when the library was compiled, and
//! answers everything but calls by itself. Calls wait until the tools' VM runs, which is started
//! from the install and loads no code of the project.

mod catalog;
mod channel;
mod consent;
mod fence;
mod install;
mod lock;
mod options;
mod output;
mod server;
mod stdio;
mod tools;

use std::process::ExitCode;
use std::time::Duration;

use rmcp::ServiceExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use catalog::Catalog;
use fence::Fence;
use install::Install;
use options::{Options, Session};
use server::Server;
use stdio::Stdio;
use tools::{Stopper, Tools};

/// How long the VM has to end by itself once the client is gone. Clients wait two seconds before
/// they signal.
const GRACE: Duration = Duration::from_millis(1_500);
/// The same after a signal: the sender will not wait long.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("jido_mcp: {problem}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match start(options) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("jido_mcp: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn start(options: Options) -> Result<ExitCode, String> {
    let catalog = Catalog::beside_this_program()?;
    let install = Install::of_this_program()?;
    #[cfg(target_os = "linux")]
    command_runner::tree::adopt_orphans()
        .map_err(|error| format!("can't become the parent of orphans: {error}"))?;

    let session = Session::of(&options);
    let fence = Fence::find(&install.runner(), session.fence);
    eprintln!("jido_mcp: {}", fence.notice(session.fence));
    let instructions = catalog.instructions(&session, &fence);

    // One thread: a child's parent death signal follows the thread that started it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let ask = options.ask.then_some(options.patience);
    let code = runtime.block_on(async {
        let (tools, vm) = Tools::start(install, options);
        let ended = CancellationToken::new();
        let server = Server::new(catalog, tools, instructions, ask, ended.clone());
        run(server, vm, ended).await
    })?;
    // The thread that waits for standard input can't be woken, and must not hold the exit.
    runtime.shutdown_background();
    Ok(code)
}

async fn run(server: Server, vm: Stopper, ended: CancellationToken) -> Result<ExitCode, String> {
    let mut signals = Signals::listen().map_err(|error| error.to_string())?;
    let serving = async {
        match server.serve(Stdio::new(ended.clone())).await {
            Ok(session) => session
                .waiting()
                .await
                .map(drop)
                .map_err(|error| error.to_string()),
            // The client left before it said a word.
            Err(_) if ended.is_cancelled() => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    };

    let (result, grace) = tokio::select! {
        result = serving => (result.map(|()| ExitCode::SUCCESS), GRACE),
        number = signals.next() => (Ok(ExitCode::from(128 + number)), GRACE_AFTER_SIGNAL),
    };
    vm.stop(grace).await;
    result
}

struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The number of the next signal that asks this program to end.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
            _ = self.hangup.recv() => 1,
        }
    }
}
