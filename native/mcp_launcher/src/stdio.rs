//! The client's channel: one JSON message a line on standard input and output.
//!
//! The SDK's own transport keeps silent on what it can't read. This one says what is wrong, keeps
//! lines that are no request from ending a session that has not begun, and tells everyone at once
//! when the input is over.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage, RequestId, ServerNotification,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, Stdin};
use tokio::sync::{mpsc, oneshot};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};
use tokio_util::sync::CancellationToken;

/// The longest line that is taken.
const MAX_LINE: usize = 10 * 1024 * 1024;
/// Messages that may wait for a client that does not read.
const WAITING: usize = 256;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// What this server answers; a request for one of these that the SDK does not recognise has the
/// wrong parameters.
const METHODS: [&str; 6] = [
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// Standard input and output.
pub struct Stdio {
    lines: FramedRead<Stdin, AnyDelimiterCodec>,
    output: mpsc::Sender<Line>,
    /// Set after a line that was too long: the stream then ends once without being at its end.
    recovering: bool,
    /// Whether a request has begun a session.
    begun: bool,
    /// The requests that have no answer yet.
    running: Arc<Mutex<HashSet<RequestId>>>,
    ended: CancellationToken,
}

/// A line to write, and whom to tell that it is written.
type Line = (Vec<u8>, Option<oneshot::Sender<io::Result<()>>>);

impl Stdio {
    /// `ended` is cancelled at end of input.
    pub fn new(ended: CancellationToken) -> Stdio {
        let (output, lines) = mpsc::channel(WAITING);
        tokio::spawn(write(lines));
        let codec =
            AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), MAX_LINE);
        Stdio {
            lines: FramedRead::new(tokio::io::stdin(), codec),
            output,
            recovering: false,
            begun: false,
            running: Arc::default(),
            ended,
        }
    }

    /// Never waits, so that a reader that is interrupted leaves no half of it: for a client that
    /// does not read, there is nothing to complain to.
    fn complain(&self, message: &Value) {
        let _ = self.output.try_send((line(message), None));
    }

    /// The SDK tells requests apart by their ids alone: of two with one id it would answer one.
    fn accepts(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            JsonRpcMessage::Request(request) => {
                if running.insert(request.id.clone()) {
                    return true;
                }
                drop(running);
                let id = serde_json::to_value(&request.id).unwrap_or_default();
                let what = "A request with this id has no answer yet";
                self.complain(&error(id, INVALID_REQUEST, what));
                false
            }
            // It gets none any more.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    running.remove(id);
                }
                true
            }
            _ => true,
        }
    }

    /// Before a session begins, the SDK takes anything but a request for the end of it.
    fn admits(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            let bootstrap = matches!(
                request.request,
                ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
            );
            self.begun |= !bootstrap;
            return true;
        }
        self.begun
    }
}

/// The only writer: each message goes out whole.
async fn write(mut lines: mpsc::Receiver<Line>) {
    let mut stdout = tokio::io::stdout();
    while let Some((line, written)) = lines.recv().await {
        let mut result = stdout.write_all(&line).await;
        if result.is_ok() {
            result = stdout.flush().await;
        }
        if let Some(written) = written {
            let _ = written.send(result);
        }
    }
}

fn line<T: serde::Serialize>(message: &T) -> Vec<u8> {
    // Nothing that is sent has a key that is not a string, the only thing that can't be written.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.remove(id);
        }
        let output = self.output.clone();
        let unheard = self.ended.is_cancelled() && tells_of_the_end(&item);
        async move {
            if unheard {
                return Ok(());
            }
            let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            let (written, done) = oneshot::channel();
            let message = (line(&item), Some(written));
            output
                .send(message)
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            done.await.map_err(closed)?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // A client that asks without reading the answers is not listened to any more, or they
            // would fill the memory.
            let _ = self.output.reserve().await;
            match self.lines.next().await {
                Some(Ok(line)) => match read(&line) {
                    Read::Message(message) if self.admits(&message) => {
                        if self.accepts(&message) {
                            return Some(*message);
                        }
                    }
                    Read::Message(_) | Read::Nothing => {}
                    Read::Wrong(answer) => self.complain(&answer),
                },
                Some(Err(AnyDelimiterCodecError::MaxChunkLengthExceeded)) => {
                    self.recovering = true;
                    self.complain(&error(
                        Value::Null,
                        INVALID_REQUEST,
                        &format!("A message may have {MAX_LINE} bytes"),
                    ));
                }
                None if self.recovering => self.recovering = false,
                None | Some(Err(AnyDelimiterCodecError::Io(_))) => {
                    self.ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What became of a call when the client left is of no use to it, and clients have been seen to
/// fail by a message that comes while they close. Other answers still go out: whoever pipes
/// requests in has left as soon as they are read.
fn tells_of_the_end(message: &TxJsonRpcMessage<RoleServer>) -> bool {
    match message {
        JsonRpcMessage::Error(answer) => answer.error.code == ErrorCode::INTERNAL_ERROR,
        JsonRpcMessage::Notification(told) => {
            matches!(
                told.notification,
                ServerNotification::CancelledNotification(_)
            )
        }
        _ => false,
    }
}

enum Read {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Wrong(Value),
    Nothing,
}

fn read(line: &[u8]) -> Read {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(problem) => {
            return Read::Wrong(error(
                Value::Null,
                PARSE_ERROR,
                &format!("Not JSON ({problem}); a line is one message"),
            ));
        }
    };
    let Some(object) = message.as_object() else {
        let what = "A message is one JSON object; batches are not supported";
        return Read::Wrong(error(Value::Null, INVALID_REQUEST, what));
    };
    let method = object
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let answers =
        method.is_none() && (object.contains_key("result") || object.contains_key("error"));
    let id = object.get("id").cloned();
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        let what = "An id is a string or an integer";
        return Read::Wrong(error(Value::Null, INVALID_REQUEST, what));
    }
    match serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(message) {
        Ok(JsonRpcMessage::Request(request))
            if matches!(request.request, ClientRequest::CustomRequest(_))
                && method
                    .as_deref()
                    .is_some_and(|method| METHODS.contains(&method)) =>
        {
            let what = format!("The parameters do not fit {}", method.unwrap_or_default());
            Read::Wrong(error(id.unwrap_or_default(), INVALID_PARAMS, &what))
        }
        Ok(message) => Read::Message(Box::new(message)),
        // A notification is never answered, and neither is an answer.
        Err(_) if (id.is_none() && method.is_some()) || answers => Read::Nothing,
        Err(problem) => {
            let what = format!("Not a JSON-RPC 2.0 message ({problem})");
            Read::Wrong(error(id.unwrap_or_default(), INVALID_REQUEST, &what))
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn error(id: Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> (i64, Value) {
        match read(line.as_bytes()) {
            Read::Wrong(answer) => (
                answer["error"]["code"].as_i64().unwrap_or_default(),
                answer["id"].clone(),
            ),
            Read::Message(_) => (0, json!("a message")),
            Read::Nothing => (0, json!("nothing")),
        }
    }

    #[test]
    fn each_kind_of_bad_line_has_its_answer() {
        assert_eq!(code("{"), (PARSE_ERROR, Value::Null));
        assert_eq!(code("\u{fffd}"), (PARSE_ERROR, Value::Null));
        assert_eq!(code("[]"), (INVALID_REQUEST, Value::Null));
        assert_eq!(code("17"), (INVALID_REQUEST, Value::Null));
        let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(code(&with("null")), (INVALID_REQUEST, Value::Null));
        assert_eq!(code(&with("1.5")), (INVALID_REQUEST, Value::Null));
        assert_eq!(
            code(r#"{"id":3,"method":"ping"}"#),
            (INVALID_REQUEST, json!(3))
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":{}}}"#),
            (INVALID_PARAMS, json!("a"))
        );
        assert_eq!(
            code(
                r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x","arguments":[]}}"#
            ),
            (INVALID_PARAMS, json!(4))
        );
    }

    #[test]
    fn what_needs_no_answer_gets_none() {
        assert_eq!(code(""), (0, json!("nothing")));
        assert_eq!(code("\r"), (0, json!("nothing")));
        assert_eq!(
            code(r#"{"method":"notifications/x"}"#),
            (0, json!("nothing"))
        );
    }

    #[test]
    fn messages_are_read() {
        assert_eq!(
            code(" {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r"),
            (0, json!("a message"))
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#),
            (0, json!("a message"))
        );
    }
}
