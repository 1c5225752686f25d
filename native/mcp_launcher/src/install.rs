//! Where this program lies, and what lies there with it.
//!
//! ```text
//! the install/vm                              folders of the programs that compiled it
//!             lib/jido_code_tools/ebin
//!             lib/jido_code_tools/priv/native/jido_mcp
//! ```

use std::io;
use std::path::{Path, PathBuf};

/// The folder that holds all of one version of the library, outside any project.
#[derive(Debug)]
pub struct Install {
    root: PathBuf,
    elixir: PathBuf,
    erlang: PathBuf,
}

impl Install {
    /// The install that this program is part of.
    pub fn of_this_program() -> Result<Install, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let root = program.ancestors().nth(5).unwrap_or(Path::new("/"));
        Install::at(root).map_err(|error| {
            format!(
                "{} is not an installed server ({error}); mix jido.mcp.config installs one and \
                 prints how to start it",
                program.display()
            )
        })
    }

    fn at(root: &Path) -> io::Result<Install> {
        let folders = std::fs::read_to_string(root.join("vm"))?;
        let mut folders = folders.lines().map(PathBuf::from);
        let mut next = || folders.next().ok_or(io::ErrorKind::InvalidData);
        Ok(Install {
            root: root.to_owned(),
            elixir: next()?,
            erlang: next()?,
        })
    }

    /// Where the tools' VM is started: nothing there is the project's.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The compiled modules.
    pub fn ebin(&self) -> PathBuf {
        self.root.join("lib/jido_code_tools/ebin")
    }

    /// The program that runs commands.
    pub fn runner(&self) -> PathBuf {
        self.root
            .join("lib/jido_code_tools/priv/native/jido_command_runner")
    }

    /// The program that starts the tools' VM.
    pub fn elixir(&self) -> PathBuf {
        self.elixir.join("elixir")
    }

    /// The folder of the `erl` that it is to find.
    pub fn erlang(&self) -> &Path {
        &self.erlang
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn folders_are_read_and_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Install::at(folder.path()).is_err());
        std::fs::write(folder.path().join("vm"), "/elixir/bin\n").unwrap();
        assert!(Install::at(folder.path()).is_err());
        std::fs::write(folder.path().join("vm"), "/elixir/bin\n/erlang/bin\n").unwrap();
        let install = Install::at(folder.path()).unwrap();
        assert_eq!(install.elixir(), Path::new("/elixir/bin/elixir"));
        assert_eq!(install.erlang(), Path::new("/erlang/bin"));
    }
}
