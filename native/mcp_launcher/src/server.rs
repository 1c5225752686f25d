//! What this program answers to a client.
//!
//! The SDK knows both eras of the protocol and chooses by message; this says what is offered, and
//! takes calls to the VM that runs the tools.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use security_core::sanitizer::{KnownSecrets, Sanitizer};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::catalog::Catalog;
use crate::channel::Answer;
use crate::consent::{self, Open, Way};
use crate::tools::{Call, Tools, Work};

/// Calls that may run at once. Rate limits, which a session's calls share, come long before.
const MAX_CALLS: usize = 32;
/// How long a call waits for the tools to start: clients give up on a call after 60 seconds, and a
/// call that they gave up on tells them nothing.
const PATIENCE: Duration = Duration::from_secs(45);
/// How deep arguments may nest: what the VM reads, less what they travel in.
const MAX_DEPTH: usize = 60;
/// Streams on which a client may listen at once; one is enough.
const MAX_STREAMS: usize = 8;
/// How often progress is told.
const TICK: Duration = Duration::from_secs(1);

/// Said to a call that could be allowed, while a person thinks about another.
const BUSY: &str = "A person is being asked about another call; make this one again after that.";

/// Where results of the newer era name the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// One client's server.
pub struct Server {
    catalog: Catalog,
    tools: Tools,
    instructions: String,
    /// How long a person at the client has who is asked about a denied call; `None`: nobody is.
    ask: Option<Duration>,
    /// Held while a person is asked.
    asking: Mutex<()>,
    /// How many questions were asked and answered during a call.
    said: AtomicU64,
    open: Open,
    calls: Semaphore,
    streams: Semaphore,
    /// Whether the client of a session of the older era is told of changes.
    telling: AtomicBool,
    ended: CancellationToken,
}

impl Server {
    /// `instructions` are what a client is told at its start, `ask` how long a person has who
    /// is asked about a denied call. `ended` is cancelled when the client is gone.
    pub fn new(
        catalog: Catalog,
        tools: Tools,
        instructions: String,
        ask: Option<Duration>,
        ended: CancellationToken,
    ) -> Server {
        Server {
            instructions,
            ask,
            asking: Mutex::default(),
            said: AtomicU64::new(0),
            open: Open::default(),
            catalog,
            tools,
            calls: Semaphore::new(MAX_CALLS),
            streams: Semaphore::new(MAX_STREAMS),
            telling: AtomicBool::new(false),
            ended,
        }
    }

    fn implementation(&self) -> Implementation {
        Implementation::new("jido_code_tools", self.catalog.version.clone())
    }

    /// Takes a call to its end, with the question that it may need in between.
    async fn perform(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let start = Instant::now();
        let name = request.name.into_owned();
        let arguments = request.arguments.unwrap_or_default();
        let modern = context.protocol_version() >= Some(ProtocolVersion::NO_INITIALIZE);
        let said = match &request.request_state {
            None => None,
            Some(handle) => {
                let responses = request.input_responses.as_ref();
                match self.open.redeem(handle, responses, &name, &arguments) {
                    Ok(said) => Some(said),
                    Err(why) => return failure(format!("{why}. Make the call again.")).into(),
                }
            }
        };
        let way = Way::of(context, modern).zip(self.ask);
        let work = Work {
            ask: way.is_some() && said.is_none(),
            name,
            arguments,
            said,
        };
        let said_before = self.said.load(Ordering::Acquire);
        let answer = match self.answer(work.clone(), context, start).await {
            Ok(answer) => answer,
            Err(why) => return failure(why).into(),
        };
        match (&answer.question, way) {
            (Some(question), Some((Way::Answer, patience))) => {
                match self
                    .open
                    .ask(question, &work.name, &work.arguments, patience)
                {
                    Some(wanted) => {
                        self.tools.asked(work.name, work.arguments);
                        wanted.into()
                    }
                    None => failure(format!("{} {BUSY}", answer.text)).into(),
                }
            }
            (Some(_), Some((Way::Request, patience))) => {
                let answer = self
                    .converse((answer, said_before), work, context, (start, patience))
                    .await;
                answer.map_or_else(failure, result).into()
            }
            _ => result(answer).into(),
        }
    }

    /// Asks the person at the client about a denied call, and makes it again with what was said. One
    /// question at a time: what was said to another since this one was denied may have settled it,
    /// so the tools' VM then judges it again before anybody is asked. A turn that comes when less
    /// than half of the time is left is of no use to a person.
    async fn converse(
        &self,
        (denied, said_before): (Answer, u64),
        work: Work,
        context: &RequestContext<RoleServer>,
        (start, patience): (Instant, Duration),
    ) -> Result<Answer, String> {
        let turn = tokio::time::timeout_at(start + patience / 2, self.asking.lock());
        let Ok(turn) = patiently(context, start, turn).await else {
            return Err(format!("{} {BUSY}", denied.text));
        };
        let answer = if self.said.load(Ordering::Acquire) == said_before {
            denied
        } else {
            self.answer(work.clone(), context, start).await?
        };
        let Some(question) = &answer.question else {
            return Ok(answer);
        };
        let asked = self.tools.asking(work.name.clone(), work.arguments.clone());
        let asking = consent::ask(&context.peer, question, start + patience);
        let again = Work {
            said: Some(patiently(context, start, asking).await),
            ask: false,
            ..work
        };
        let call = self.tools.call(again);
        // The VM hears what was said before any call that sees it counted, or has its turn next.
        self.said.fetch_add(1, Ordering::Release);
        drop(asked);
        drop(turn);
        follow(call, context, start).await
    }

    /// The answer of the tools' VM, or why there is none.
    async fn answer(
        &self,
        work: Work,
        context: &RequestContext<RoleServer>,
        start: Instant,
    ) -> Result<Answer, String> {
        follow(self.tools.call(work), context, start).await
    }
}

/// Waits for a call's end, and tells what it does meanwhile.
async fn follow(
    mut call: Call,
    context: &RequestContext<RoleServer>,
    start: Instant,
) -> Result<Answer, String> {
    let mut tick = ticks();
    loop {
        tokio::select! {
            // Nothing may follow the answer, so nothing is told beside it.
            biased;
            answer = &mut call.answer => {
                return match answer {
                    Ok(answer) => answer.map_err(|why| format!("The tools are not running. {why}")),
                    Err(_) => Err("This server is ending".to_owned()),
                };
            }
            _ = tick.tick() => {
                let doing = call.doing.borrow().clone();
                if !doing.begun && start.elapsed() >= PATIENCE {
                    return Err(format!(
                        "The tools are still starting, after {} s ({}). Call again in a while.",
                        start.elapsed().as_secs(),
                        doing.text
                    ));
                }
                tell(context, start, doing.text).await;
            }
        }
    }
}

/// Waits for a person, and tells progress meanwhile.
async fn patiently<T>(
    context: &RequestContext<RoleServer>,
    start: Instant,
    waiting: impl Future<Output = T>,
) -> T {
    tokio::pin!(waiting);
    let mut tick = ticks();
    loop {
        tokio::select! {
            biased;
            done = &mut waiting => return done,
            _ = tick.tick() => {
                tell(context, start, "waiting for a person's answer".to_owned()).await;
            }
        }
    }
}

/// Whether the project's own tools have changed, when they have; false at the end.
async fn changed(offered: &mut watch::Receiver<Vec<Tool>>, ended: &CancellationToken) -> bool {
    tokio::select! {
        changed = offered.changed() => changed.is_ok(),
        () = ended.cancelled() => false,
    }
}

fn ticks() -> tokio::time::Interval {
    let mut tick = tokio::time::interval_at(Instant::now() + TICK, TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

/// Progress counts seconds, so that it always grows.
async fn tell(context: &RequestContext<RoleServer>, start: Instant, doing: String) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    let elapsed = start.elapsed().as_secs_f64();
    let rounded = (elapsed * 10.0).round() / 10.0;
    let mut progress = ProgressNotificationParam::new(token, rounded);
    progress.message = Some(match doing.as_str() {
        "" => format!("running for {elapsed:.0} s"),
        doing => format!("{elapsed:.0} s: {doing}"),
    });
    let _ = context.peer.notify_progress(progress).await;
}

/// The parser that made it takes up to 128 levels, which bounds the recursion.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(values) => 1 + values.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = if answer.error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = answer.structured;
    result
}

/// What this program says itself may quote what a VM printed, or what a client sent.
fn failure(why: String) -> CallToolResult {
    let redacted = Sanitizer::built_in().redact(why.as_bytes(), &KnownSecrets::empty());
    let text = redacted.map_or(why, |redacted| {
        String::from_utf8_lossy(&redacted.text).into_owned()
    });
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn not_offered(what: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("This server offers tools only, no {what}"),
        None,
    )
}

fn gone() -> ErrorData {
    ErrorData::internal_error("This server is ending", None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed();
        ServerConfig::new(capabilities.build())
            .with_server_info(self.implementation())
            .with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let what = "Unknown cursor: all tools come in one page";
            return Err(ErrorData::invalid_params(what, None));
        }
        let mut tools = self.catalog.tools.clone();
        tools.extend_from_slice(&self.tools.offered().borrow());
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// Clients of the older era are told without asking for it.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.telling.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut offered = self.tools.offered();
        let ended = self.ended.clone();
        tokio::spawn(async move {
            while changed(&mut offered, &ended).await {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// Those of the newer era open a stream for it.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ok(_stream) = self.streams.try_acquire() else {
            let what = format!("{MAX_STREAMS} streams are open, the maximum");
            return Err(ErrorData::invalid_params(what, None));
        };
        if context.accepted().tools_list_changed != Some(true) {
            context.cancelled().await;
            return Ok(());
        }
        let mut offered = self.tools.offered();
        loop {
            tokio::select! {
                again = changed(&mut offered, &self.ended) => {
                    if !again || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
                () = context.cancelled() => return Ok(()),
            }
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.catalog
            .check(&request.name, &self.tools.offered().borrow())?;
        let Ok(_running) = self.calls.try_acquire() else {
            let what = format!("{MAX_CALLS} calls are running, the maximum. Wait for one to end.");
            return Ok(failure(what).into());
        };
        let arguments = request.arguments.iter().flat_map(Map::values);
        if arguments.map(depth).max().unwrap_or(0) >= MAX_DEPTH {
            let what = format!("Arguments may nest up to {MAX_DEPTH} levels");
            return Ok(failure(what).into());
        }
        let mut response = tokio::select! {
            response = self.perform(request, &context) => response,
            // The call is dropped, and ended by that; of what is answered here nothing reaches the
            // client.
            () = context.ct.cancelled() => return Err(gone()),
            () = self.ended.cancelled() => return Err(gone()),
        };
        if context.protocol_version() >= Some(ProtocolVersion::NO_INITIALIZE) {
            let info = serde_json::to_value(self.implementation()).unwrap_or_default();
            let meta = match &mut response {
                CallToolResponse::Complete(result) => &mut result.meta,
                CallToolResponse::InputRequired(wanted) => &mut wanted.meta,
                _ => return Ok(response),
            };
            let meta = meta.get_or_insert_default();
            meta.insert(SERVER_INFO.to_owned(), info);
        }
        Ok(response)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered("prompts"))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered("resources"))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered("resources"))
    }

    async fn complete(
        &self,
        _request: rmcp::model::CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<rmcp::model::CompleteResult, ErrorData> {
        Err(not_offered("completions"))
    }
}
