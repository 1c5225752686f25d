//! What this program and the tools' VM say to each other: JSON, each message behind its length in
//! four bytes.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use command_runner::scratch;
use futures_util::{SinkExt, StreamExt};
use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::bytes::Bytes;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::consent::Said;

/// Far above what a result may hold; a longer frame is not the library's.
const MAX_FRAME: usize = 64 * 1024 * 1024;
/// A socket's path is shorter than this on every Unix.
const MAX_PATH: usize = 100;
/// What the names of folders begin with that are locked by their launchers. Versions that lock
/// nothing gave other names.
const PREFIX: &str = "jido-mcp-held-";
/// The socket in such a folder.
const SOCKET: &str = "s";

/// To the VM.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToVm {
    /// Run a tool.
    Call {
        /// Names the call from here on.
        id: u64,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
        /// Whether a denial may come with a question.
        ask: bool,
        /// What a person said to the question about this very call.
        #[serde(skip_serializing_if = "Option::is_none")]
        said: Option<Said>,
    },
    /// The client has a question about this call in its hands, and comes back with the answer or
    /// does not.
    Asked {
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// It has none any more; without an answer until now, it stays without one.
    Dropped,
    /// No other server compiles the project now.
    Locked,
    /// End a call; no answer is wanted any more.
    Cancel {
        /// The call.
        id: u64,
    },
}

/// From the VM.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromVm {
    /// What it does on its way to being ready.
    Starting {
        /// In a few words.
        doing: String,
    },
    /// It takes calls.
    Ready,
    /// It can't start, and ends.
    Failed {
        /// Why, for the model.
        why: String,
    },
    /// The project is to be compiled.
    Lock,
    /// It was.
    Unlock,
    /// The project's own tools, whenever they change: read with care, and none of them named like
    /// one of this server's.
    Tools {
        /// In the order in which they are listed.
        tools: Vec<Tool>,
    },
    /// What a running call does.
    Progress {
        /// The call.
        id: u64,
        /// In one line.
        text: String,
    },
    /// A call is over.
    Answer {
        /// The call.
        id: u64,
        /// How it ended.
        #[serde(flatten)]
        answer: Answer,
    },
}

/// A call's result.
#[derive(Debug, Default, Deserialize)]
pub struct Answer {
    /// For the model.
    pub text: String,
    /// The same as data, where it is data.
    pub structured: Option<Value>,
    /// Whether the tool failed or was denied.
    pub error: bool,
    /// To the person at the client, when that may allow what was denied.
    pub question: Option<String>,
}

/// Waits for the VM.
pub struct Listener {
    listener: UnixListener,
    // Goes, with the socket in it, when the VM has connected or is given up.
    folder: tempfile::TempDir,
    /// The folder's lock, which the kernel lets go of however this program ends.
    _held: OwnedFd,
}

impl Listener {
    /// Listens in a folder that only this user may enter.
    pub fn new() -> io::Result<Listener> {
        let base = std::env::temp_dir();
        let longest = base.as_os_str().len() + PREFIX.len() + "/XXXXXX/".len() + SOCKET.len();
        let base = if longest > MAX_PATH {
            Path::new("/tmp")
        } else {
            &base
        };
        remove_leftovers(base);
        let (folder, held) = make(base)?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        Ok(Listener {
            listener,
            folder,
            _held: held,
        })
    }

    /// Where the VM connects to.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// The first connection of this user's.
    pub async fn accept(&self) -> io::Result<Channel> {
        loop {
            let (stream, _address) = self.listener.accept().await?;
            if stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw() {
                return Ok(Channel::over(stream));
            }
        }
    }
}

/// A folder of this program's own, locked.
fn make(base: &Path) -> io::Result<(tempfile::TempDir, OwnedFd)> {
    loop {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base)?;
        if let Some(held) = scratch::hold(folder.path())? {
            return Ok((folder, held));
        }
    }
}

/// Removes the folders of launchers that were killed before their VM connected. What can't be
/// looked at or removed is left: it is in nobody's way.
fn remove_leftovers(base: &Path) {
    for (path, _held) in scratch::leftovers(base, PREFIX).into_iter().flatten() {
        let gone = match fs::remove_file(path.join(SOCKET)) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(()) => true,
        };
        if gone {
            let _ = fs::remove_dir(path);
        }
    }
}

/// The open channel.
pub struct Channel {
    framed: Framed<UnixStream, LengthDelimitedCodec>,
}

impl Channel {
    fn over(stream: UnixStream) -> Channel {
        let codec = LengthDelimitedCodec::builder()
            .max_frame_length(MAX_FRAME)
            .new_codec();
        Channel {
            framed: Framed::new(stream, codec),
        }
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &ToVm) -> io::Result<()> {
        let frame = serde_json::to_vec(message)?;
        self.framed.send(Bytes::from(frame)).await
    }

    /// The next message; `None` once the VM has hung up. May be dropped while it waits, without
    /// losing anything.
    pub async fn next(&mut self) -> Option<io::Result<FromVm>> {
        let frame = self.framed.next().await?;
        Some(frame.and_then(|frame| serde_json::from_slice(&frame).map_err(io::Error::from)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_that_nobody_holds_is_removed_and_others_stay() {
        let base = tempfile::tempdir().unwrap();
        let named = |name: &str| base.path().join(format!("{PREFIX}{name}"));
        let (held, _lock) = make(base.path()).unwrap();
        for name in ["left", "empty", "full"] {
            fs::create_dir(named(name)).unwrap();
        }
        fs::write(named("left").join(SOCKET), "").unwrap();
        // What is not a launcher's is not removed with it.
        fs::write(named("full").join("other"), "").unwrap();
        fs::write(named("file"), "").unwrap();
        std::os::unix::fs::symlink(held.path(), named("link")).unwrap();
        fs::create_dir(base.path().join("jido-mcp-older")).unwrap();
        remove_leftovers(base.path());
        for gone in ["left", "empty"] {
            assert!(!named(gone).exists(), "{gone}");
        }
        for kept in ["full/other", "file", "link"] {
            assert!(named(kept).exists(), "{kept}");
        }
        assert!(held.path().exists());
        assert!(base.path().join("jido-mcp-older").exists());
    }
}
