//! What keeps commands in on this machine, told to the client and to the person at the start.
//!
//! It is found out by really running a command, as the tools' VM finds it out for itself; nothing
//! is decided here.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a command is held to.
#[derive(Debug, PartialEq, Eq)]
pub enum Fence {
    /// Namespaces, Landlock and seccomp.
    Whole,
    /// Not all of them; why.
    Less(String),
    /// A person's choice.
    Off,
}

/// What happens to commands without a whole fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// They are refused.
    Required,
    /// They run all the same.
    BestEffort,
    /// Nothing is to keep them in.
    Off,
}

impl Fence {
    /// Runs a command that does nothing.
    pub fn find(runner: &Path, wanted: Wanted) -> Fence {
        if wanted == Wanted::Off {
            return Fence::Off;
        }
        match probe(runner) {
            Ok(missing) if missing.is_empty() => Fence::Whole,
            Ok(missing) => Fence::Less(missing.join("; ")),
            Err(problem) => Fence::Less(format!("the command runner failed: {problem}")),
        }
    }

    /// For the model: which command lines it may write.
    pub fn instruction(&self, wanted: Wanted) -> &'static str {
        match (self, wanted) {
            (Fence::Whole, _) => {
                "Commands run in a fence, so the wide list of commands is in force: also sed, awk, \
                 jq, xargs, find -exec, most mix tasks, subshells, here-documents, export and $?. Not shells, inline code, $(...), loops or &."
            }
            (Fence::Less(_), Wanted::Required) => {
                "This machine has no whole fence for commands, so commands, Mix tasks and tests are \
                 refused; a person can start the server with --fence best-effort."
            }
            _ => {
                "Commands run without a whole fence, so the narrow list of commands is in force: text \
                 and file tools, local git, mix and build tools, joined by | && || ;. No sed, awk, xargs, variables or subshells."
            }
        }
    }

    /// For the person, on standard error.
    pub fn notice(&self, wanted: Wanted) -> String {
        match (self, wanted) {
            (Fence::Whole, _) => {
                "commands run in a whole fence; the wide list of commands is in force".to_owned()
            }
            (Fence::Less(why), Wanted::Required) => {
                format!(
                    "no whole fence for commands ({why}), so none is run. mix jido.doctor says how \
                     to fix it"
                )
            }
            (Fence::Less(why), _) => format!(
                "no whole fence for commands ({why}); the narrow list of commands is in force. \
                 mix jido.doctor says how to fix it"
            ),
            (Fence::Off, _) => {
                "no fence for commands, as asked; the narrow list of commands is in force"
                    .to_owned()
            }
        }
    }
}

/// What is missing of a whole fence.
fn probe(runner: &Path) -> io::Result<Vec<String>> {
    let aside = tempfile::tempdir()?;
    let output = Command::new(runner)
        .arg("--probe")
        .arg(aside.path())
        .stdin(Stdio::null())
        .output()?;
    let lines = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text);
        text.lines().map(str::to_owned).collect()
    };
    if output.status.success() {
        Ok(lines(&output.stdout))
    } else {
        Err(io::Error::other(lines(&output.stderr).join("; ")))
    }
}
