//! A question to the person at the client, in both eras of the protocol.
//!
//! What is asked comes from the tools' VM, which parsed the call. Here it is brought to the person:
//! by a request during the call where the client declared that it can (`elicitation/create`), and
//! in the newer era by an answer that wants input, after which the client makes the call again. A
//! question of that era is known by a handle that nobody can guess; what it is bound to stays in
//! this process, so that it serves once, for this session, tool and arguments, and for a while.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ElicitRequest, ElicitRequestParams, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RequestHandle};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

/// Names the question in an answer that wants input.
const NAME: &str = "consent";

const ONCE: &str = "once";
const SESSION: &str = "for this session";
const NO: &str = "no";

/// What a person said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Yes, this call.
    Once,
    /// Yes, this tool as long as the session lives.
    Session,
    /// No.
    No,
    /// Nothing, too late, or something else: as good as no.
    Unanswered,
}

impl Said {
    /// Of the result of an `elicitation/create`.
    fn of(result: &Value) -> Said {
        let answer = result["content"]["answer"].as_str();
        match (result["action"].as_str(), answer) {
            (Some("accept"), Some(ONCE)) => Said::Once,
            (Some("accept"), Some(SESSION)) => Said::Session,
            (Some("accept"), Some(NO)) | (Some("decline"), _) => Said::No,
            _ => Said::Unanswered,
        }
    }
}

/// How this client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By a request while the call runs.
    Request,
    /// By an answer that wants input.
    Answer,
}

impl Way {
    /// Of the client behind a call; `modern` for a call of the newer era.
    pub fn of(context: &RequestContext<RoleServer>, modern: bool) -> Option<Way> {
        let elicitation = context.client_capabilities()?.elicitation?;
        // Neither of the two named means forms.
        let forms = elicitation.form.is_some() || elicitation.url.is_none();
        forms.then_some(if modern { Way::Answer } else { Way::Request })
    }
}

fn form(question: &str) -> Option<ElicitRequest> {
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string", "title": "Allow it?", "enum": [ONCE, SESSION, NO]}
        },
        "required": ["answer"]
    });
    let params = json!({"mode": "form", "message": question, "requestedSchema": schema});
    let params: ElicitRequestParams = serde_json::from_value(params).ok()?;
    Some(ElicitRequest::new(params))
}

/// Asks by a request, and waits until `deadline`.
pub async fn ask(peer: &Peer<RoleServer>, question: &str, deadline: Instant) -> Said {
    let left = deadline.saturating_duration_since(Instant::now());
    let Some(request) = form(question) else {
        return Said::Unanswered;
    };
    let request = ServerRequest::ElicitRequest(request);
    let options = PeerRequestOptions::with_timeout(left);
    let answer = async {
        let handle = peer.send_cancellable_request(request, options).await.ok()?;
        let mut form = Form::shown(peer, &handle);
        let result = handle.await_response().await;
        form.over();
        serde_json::to_value(result.ok()?).ok()
    };
    answer
        .await
        .map_or(Said::Unanswered, |result| Said::of(&result))
}

/// The form at the client, which is taken back when nobody waits for its answer any more.
struct Form {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Form {
    fn shown(peer: &Peer<RoleServer>, request: &RequestHandle<RoleServer>) -> Form {
        Form {
            peer: peer.clone(),
            id: Some(request.id.clone()),
        }
    }

    fn over(&mut self) {
        self.id = None;
    }
}

impl Drop for Form {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            let why = Some("The call is over".to_owned());
            let _ = peer
                .notify_cancelled(CancelledNotificationParam::new(Some(id), why))
                .await;
        });
    }
}

/// The question that waits for its answer in the newer era: one at a time.
#[derive(Default)]
pub struct Open {
    question: Mutex<Option<Question>>,
}

struct Question {
    handle: String,
    name: String,
    arguments: Map<String, Value>,
    until: Instant,
}

impl Open {
    /// An answer that wants input, within `patience`; `None` while another question is open.
    pub fn ask(
        &self,
        question: &str,
        name: &str,
        arguments: &Map<String, Value>,
        patience: Duration,
    ) -> Option<InputRequiredResult> {
        let mut open = self.lock();
        let now = Instant::now();
        // The same call made again without an answer: its first question is forgotten.
        let other = |open: &Question| open.name != name || open.arguments != *arguments;
        if open
            .as_ref()
            .is_some_and(|open| open.until > now && other(open))
        {
            return None;
        }
        let handle = handle().ok()?;
        let form = InputRequest::Elicitation(form(question)?);
        let requests = InputRequests::from([(NAME.to_owned(), form)]);
        *open = Some(Question {
            handle: handle.clone(),
            name: name.to_owned(),
            arguments: arguments.clone(),
            until: now + patience,
        });
        Some(InputRequiredResult::new(Some(requests), Some(handle)))
    }

    /// What was said to the question with this handle, which has served its turn then.
    pub fn redeem(
        &self,
        handle: &str,
        responses: Option<&InputResponses>,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Said, &'static str> {
        let taken = self.lock().take_if(|open| open.handle == handle);
        let question = taken.ok_or("No such question is open: it was answered, or never asked")?;
        if question.name != name || question.arguments != *arguments {
            return Err("The question was about another call");
        }
        if question.until <= Instant::now() {
            return Ok(Said::Unanswered);
        }
        let response = responses.and_then(|responses| responses.get(NAME));
        Ok(response.map_or(Said::Unanswered, Said::of))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Question>> {
        self.question.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 bits that nobody can guess.
fn handle() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(45);

    fn arguments(command: &str) -> Map<String, Value> {
        Map::from_iter([("command".to_owned(), json!(command))])
    }

    fn responses(result: Value) -> InputResponses {
        InputResponses::from([(NAME.to_owned(), result)])
    }

    #[test]
    fn only_the_three_answers_count() {
        let accept = |answer: &str| json!({"action": "accept", "content": {"answer": answer}});
        assert_eq!(Said::of(&accept("once")), Said::Once);
        assert_eq!(Said::of(&accept("for this session")), Said::Session);
        assert_eq!(Said::of(&accept("no")), Said::No);
        assert_eq!(Said::of(&json!({"action": "decline"})), Said::No);
        for other in [
            accept("yes"),
            json!({"action": "cancel", "content": {"answer": "once"}}),
            json!({"action": "accept", "content": {"answer": true}}),
            json!({"action": "accept", "content": "once"}),
            json!({"action": "accept"}),
            json!("once"),
            json!(null),
        ] {
            assert_eq!(Said::of(&other), Said::Unanswered, "{other}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_serves_once_for_its_call_and_for_a_while() {
        let open = Open::default();
        let ask = |command| open.ask("Run?", "bash_execute", &arguments(command), PATIENCE);
        let yes = responses(json!({"action": "accept", "content": {"answer": "once"}}));
        let redeem = |handle: &str, name, command| {
            open.redeem(handle, Some(&yes), name, &arguments(command))
        };
        let handle = ask("ls").unwrap().request_state.unwrap();
        // One question at a time; the same call may be made again.
        assert!(ask("rm x").is_none());
        assert!(redeem("0", "bash_execute", "ls").is_err());
        assert_eq!(redeem(&handle, "bash_execute", "ls"), Ok(Said::Once));
        assert!(redeem(&handle, "bash_execute", "ls").is_err());

        let handle = ask("ls").unwrap().request_state.unwrap();
        assert!(redeem(&handle, "bash_execute", "rm x").is_err());
        assert!(redeem(&handle, "bash_execute", "ls").is_err());

        let handle = ask("ls").unwrap().request_state.unwrap();
        tokio::time::advance(PATIENCE).await;
        assert_eq!(redeem(&handle, "bash_execute", "ls"), Ok(Said::Unanswered));
    }
}
