//! `forebay bench-floor`: an HTTP server that parses a request and stores it as one narrow row, and nothing else.
//! What is above this floor is what Forebay costs.

use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// The file that the rows go to
    database: PathBuf,
}

#[derive(Deserialize)]
struct Chat {
    model: String,
    messages: Vec<Value>,
}

/// Serves until the process is killed.
pub async fn run(args: FloorArgs, output: &Output) -> Result<Exit, CliError> {
    let failed = |error: &dyn std::error::Error| CliError::failed("the floor can't start", error);
    let writer = FloorWriter::start(&args.database).map_err(|error| failed(&error))?;
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(listen).await.map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    output.record(&json!({ "url": format!("http://{address}") }))?;
    let router = Router::new().route("/jobs", post(accept)).with_state(writer);
    axum::serve(listener, router).await.map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

async fn accept(State(writer): State<FloorWriter>, body: String) -> (StatusCode, Json<Value>) {
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
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": error.to_string() }))),
    }
}
