//! `forebay bench-floor`: an HTTP server that parses a request and stores it as one narrow row, and nothing else.
//! What is above this floor is what Forebay costs.

pub(super) mod postgres;

use std::net::SocketAddr;
use std::path::Path;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use clap::Args;
use forebay_store::sqlite::floor::FloorWriter;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::output::Output;

/// Arguments of `forebay bench-floor`.
#[derive(Debug, Clone, Args)]
pub struct FloorArgs {
    /// The file, or the URL of the PostgreSQL database, that the rows go to
    database: String,
}

#[derive(Deserialize)]
struct Chat {
    model: String,
    messages: Vec<Value>,
}

/// Serves until the process is killed.
pub async fn run(args: FloorArgs, output: &Output) -> Result<Exit, CliError> {
    let failed = |error: &dyn std::error::Error| CliError::failed("the floor can't start", error);
    let writer = if args.database.contains("://") {
        Writer::Postgres(postgres::Group::start(&args.database, postgres::WRITERS).await?)
    } else {
        Writer::Sqlite(FloorWriter::start(Path::new(&args.database)).map_err(|error| failed(&error))?)
    };
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(listen).await.map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    output.record(&json!({ "url": format!("http://{address}") }))?;
    let router = Router::new().route("/jobs", post(accept)).with_state(writer);
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
