//! What this program and the tools' VM say to each other: JSON, each message behind its length in
//! four bytes.

use std::io;
use std::path::PathBuf;

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
}

impl Listener {
    /// Listens in a folder that only this user may enter.
    pub fn new() -> io::Result<Listener> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("jido-mcp-");
        let mut folder = builder.tempdir()?;
        if folder.path().as_os_str().len() + 2 > MAX_PATH {
            folder = builder.tempdir_in("/tmp")?;
        }
        let listener = UnixListener::bind(folder.path().join("s"))?;
        Ok(Listener { listener, folder })
    }

    /// Where the VM connects to.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("s")
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
