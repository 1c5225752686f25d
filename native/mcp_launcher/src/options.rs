//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fence::Wanted;

/// Printed under an error of the command line.
pub const USAGE: &str = "\
usage: jido_mcp [--project FOLDER] [--path FOLDERS] [options of the session]

  --project FOLDER  the Mix project to serve; default: the current folder
  --path FOLDERS    put before PATH, for clients that don't have mix, elixir and erl on theirs
  --ask WHEN        denied (default): a denied call asks the person at the client, if the client
                    can ask; never
  --ask-seconds N   how long a question waits for its answer, 1 to 600; default: 45, because
                    clients give up after 60

`mix jido.mcp.config` prints the whole command for a project.";

/// How long a person has for an answer, unless the command line says another time: clients give up
/// on a call after 60 seconds.
const PATIENCE: Duration = Duration::from_secs(45);

/// What this program was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The project's folder.
    pub project: PathBuf,
    /// Folders to put before `PATH`.
    pub path: Option<String>,
    /// Whether a denied call may ask the person at the client.
    pub ask: bool,
    /// How long a person has for an answer.
    pub patience: Duration,
    /// Everything else: tier, consents and the like are understood, and checked, by the VM that
    /// runs the tools.
    pub serve: Vec<String>,
}

impl Options {
    /// Takes this program's own options out of the arguments.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut arguments = arguments;
        let mut project = None;
        let mut path = None;
        let mut ask = true;
        let mut patience = PATIENCE;
        let mut serve = Vec::new();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--project" => project = Some(value("--project", arguments.next())?),
                "--path" => path = Some(value("--path", arguments.next())?),
                "--ask" => ask = asking(&value("--ask", arguments.next())?)?,
                "--ask-seconds" => patience = seconds(&value("--ask-seconds", arguments.next())?)?,
                _ => serve.push(argument),
            }
        }
        let project = match project {
            Some(folder) => PathBuf::from(folder),
            None => std::env::current_dir().map_err(|error| error.to_string())?,
        };
        if !project.join("mix.exs").is_file() {
            return Err(format!(
                "--project takes the folder of a Mix project, and {} has no mix.exs",
                project.display()
            ));
        }
        // The VM is started elsewhere.
        let project = std::path::absolute(project).map_err(|error| error.to_string())?;
        Ok(Options {
            project,
            path,
            ask,
            patience,
            serve,
        })
    }

    /// The `PATH` to start the tools' VM with: its `erl` is the one in the given folder.
    pub fn searched(&self, erlang: &Path) -> Result<OsString, String> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(erlang.to_owned())
            .chain(std::env::split_paths(
                self.path.as_deref().unwrap_or_default(),
            ))
            .chain(std::env::split_paths(&inherited));
        std::env::join_paths(folders.filter(|folder| folder.is_absolute()))
            .map_err(|error| format!("PATH can't be set: {error}"))
    }
}

/// What the session may do, as far as it is told to a client at its start. The tools' VM checks it,
/// and holds it.
#[derive(Debug, PartialEq, Eq)]
pub struct Session {
    /// The tier granted.
    pub tier: String,
    /// The tools consented to.
    pub consented: Vec<String>,
    /// Whether a denied call may ask.
    pub ask: bool,
    /// What happens to commands without a whole fence.
    pub fence: Wanted,
}

impl Session {
    /// From the command line.
    pub fn of(options: &Options) -> Session {
        let values = |name: &str| {
            let mut found = Vec::new();
            for (place, argument) in options.serve.iter().enumerate() {
                match argument.strip_prefix(name) {
                    Some("") => found.extend(options.serve.get(place + 1).cloned()),
                    Some(rest) => found.extend(rest.strip_prefix('=').map(str::to_owned)),
                    None => {}
                }
            }
            found
        };
        let consented = values("--consent");
        Session {
            tier: values("--tier").pop().unwrap_or("read_only".to_owned()),
            consented: consented
                .iter()
                .flat_map(|tools| tools.split(','))
                .map(str::to_owned)
                .collect(),
            ask: options.ask,
            // What is not understood is refused by the VM.
            fence: match values("--fence").pop().as_deref() {
                Some("best-effort") => Wanted::BestEffort,
                Some("off") => Wanted::Off,
                _ => Wanted::Required,
            },
        }
    }
}

fn asking(given: &str) -> Result<bool, String> {
    match given {
        "denied" => Ok(true),
        "never" => Ok(false),
        other => Err(format!("--ask takes one of denied, never, got: {other}")),
    }
}

fn seconds(given: &str) -> Result<Duration, String> {
    given
        .parse()
        .ok()
        .filter(|seconds| (1..=600).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| format!("--ask-seconds takes a whole number from 1 to 600, got: {given}"))
}

fn value(option: &str, given: Option<String>) -> Result<String, String> {
    given
        .filter(|value| !value.is_empty())
        .ok_or_else(|| format!("{option} takes a value"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        Options::parse(arguments.iter().map(ToString::to_string))
    }

    #[test]
    fn what_it_does_not_know_goes_to_the_task() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mix.exs"), "").unwrap();
        let project = folder.path().to_str().unwrap();
        let options = parse(&["--tier", "write", "--project", project, "--path", "/a:/b"]).unwrap();
        assert_eq!(options.project, folder.path());
        assert_eq!(options.path.as_deref(), Some("/a:/b"));
        assert_eq!(options.serve, ["--tier", "write"]);
        assert!(options.ask);
        assert_eq!(options.patience, Duration::from_secs(45));
        let patient = parse(&["--project", project, "--ask-seconds", "600"]).unwrap();
        assert_eq!(patient.patience, Duration::from_secs(600));
    }

    #[test]
    fn what_a_client_is_told_of_the_session() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mix.exs"), "").unwrap();
        let project = folder.path().to_str().unwrap();
        let session = |arguments: &[&str]| {
            let all = [&["--project", project], arguments].concat();
            parse(&all).map(|options| Session::of(&options))
        };
        let plain = session(&[]).unwrap();
        assert_eq!((plain.tier.as_str(), plain.ask), ("read_only", true));
        assert_eq!(plain.fence, Wanted::Required);
        let fence = |value| session(&["--fence", value]).unwrap().fence;
        assert_eq!(fence("off"), Wanted::Off);
        assert_eq!(fence("best-effort"), Wanted::BestEffort);
        assert_eq!(fence("none"), Wanted::Required);
        let more = [
            "--tier=execute",
            "--consent",
            "a",
            "--consent=b,c",
            "--ask",
            "never",
        ];
        let more = session(&more).unwrap();
        assert_eq!(more.tier, "execute");
        assert_eq!(more.consented, ["a", "b", "c"]);
        assert!(!more.ask);
        for seconds in ["0", "601", "1.5", "-1", "soon"] {
            let refused = session(&["--ask-seconds", seconds]).unwrap_err();
            assert!(refused.contains("from 1 to 600"), "{refused}");
        }
        assert!(
            session(&["--ask", "always"])
                .unwrap_err()
                .contains("denied, never")
        );
    }

    #[test]
    fn a_folder_without_a_project_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let problem = parse(&["--project", folder.path().to_str().unwrap()]).unwrap_err();
        assert!(problem.contains("has no mix.exs"), "{problem}");
        assert!(
            parse(&["--path"])
                .unwrap_err()
                .contains("--path takes a value")
        );
    }
}
