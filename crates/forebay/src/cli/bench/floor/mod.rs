//! `forebay bench-floor`: an HTTP server that parses a request and stores it as one narrow row, and nothing else.
//! What is above this floor is what Forebay costs. It is a provider, too, the least that there can be: one that answers
//! each call at once, and always the same.

pub(super) mod postgres;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use clap::Args;
use forebay_store::sqlite::floor::FloorWriter;

use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::ledger::RESULT;
use super::service::MODEL;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::output::Output;

/// Arguments of `forebay bench-floor`.
#[derive(Debug, Clone, Args)]
pub struct FloorArgs {
    /// The file, or the URL of the PostgreSQL database, that the rows go to [default: it is a provider only]
    database: Option<String>,
}

#[derive(Deserialize)]
struct Chat {
    model: String,
    messages: Vec<Value>,
}

/// Serves until the process is killed.
pub async fn run(args: FloorArgs, output: &Output) -> Result<Exit, CliError> {
    let failed = |error: &dyn std::error::Error| CliError::failed("the floor can't start", error);
    let mut router = Router::new().route("/v1/chat/completions", post(answer));
    if let Some(database) = &args.database {
        router = router
            .merge(Router::new().route("/jobs", post(accept)).with_state(Writer::open(database).await?));
    }
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(listen).await.map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let url = format!("http://{address}");
    output.record(&json!({ "url": url, "base_url": format!("{url}/v1") }))?;
    axum::serve(listener, router).await.map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

/// Where rows go.
#[derive(Clone)]
enum Writer {
    Sqlite(FloorWriter),
    Postgres(postgres::Group),
}

impl Writer {
    async fn open(database: &str) -> Result<Self, CliError> {
        if database.contains("://") {
            return Ok(Writer::Postgres(postgres::Group::start(database, postgres::WRITERS).await?));
        }
        let writer = FloorWriter::start(Path::new(database));
        writer.map(Writer::Sqlite).map_err(|error| CliError::failed("the floor can't start", &error))
    }

    async fn insert(&self, body: String) -> Result<i64, String> {
        match self {
            Writer::Sqlite(writer) => writer.insert(body).await.map_err(|error| error.to_string()),
            Writer::Postgres(group) => group.insert(body).await.ok_or_else(|| "it is closed".to_owned()),
        }
    }
}

async fn accept(State(writer): State<Writer>, body: String) -> (StatusCode, Json<Value>) {
    let chat: Chat = match serde_json::from_str(&body) {
        Ok(chat) => chat,
        Err(error) => return (StatusCode::BAD_REQUEST, Json(json!({ "error": error.to_string() }))),
    };
    match writer.insert(body).await {
        Ok(id) => {
            let answer =
                json!({ "id": id, "status": "queued", "model": chat.model, "n": chat.messages.len() });
            (StatusCode::ACCEPTED, Json(answer))
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": error }))),
    }
}

/// The stream of one answer, as long as a result of the ledger by itself.
static ANSWER: LazyLock<Bytes> = LazyLock::new(|| {
    let text = "z".repeat(RESULT);
    let chunk = |choices: Value, usage: Value| {
        json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
            "choices": choices, "usage": usage })
    };
    let said =
        json!([{ "index": 0, "delta": { "role": "assistant", "content": text }, "finish_reason": null }]);
    let done = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
    let usage = json!({ "prompt_tokens": 110, "completion_tokens": 100, "total_tokens": 210 });
    let chunks = [chunk(said, Value::Null), chunk(done, Value::Null), chunk(json!([]), usage)];
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    Bytes::from(format!("{stream}data: [DONE]\n\n"))
});

async fn answer(_: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/event-stream")], ANSWER.clone())
}
