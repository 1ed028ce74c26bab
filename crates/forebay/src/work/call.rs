//! The call itself: to whom, with what, and for how long.

use forebay_core::attempt::{AttemptFailure, Outcome};
use forebay_core::definition::{Deadlines, Endpoint, Provider, StructuredOutput, TaskKind};
use forebay_core::failure::FailureClass;
use forebay_core::plan::ModelRequest;
use forebay_core::plan::extract::answer_schema;
use forebay_core::time::Millis;
use forebay_gateway::hints::Signals;
use forebay_gateway::{Call, ChatCall, EmbeddingsCall, Report, ResponseFormat, Target};
use forebay_store::failpoint;
use forebay_store::record::Claimed;
use serde_json::Value;

use super::Worker;
use super::execute::Prepared;
use crate::app::secret;

/// Makes the call that a step is about.
pub(super) async fn make(
    worker: &Worker,
    prepared: &Prepared,
    composed: ModelRequest,
    claimed: &Claimed,
) -> Report {
    let target = match target(&prepared.provider) {
        Ok(target) => target,
        Err(message) => return not_called(message),
    };
    let deadlines = deadlines(worker, prepared);
    let call = call(prepared, composed);
    let now = worker.app.store.now();
    failpoint::reach("call", "before_send");
    let report = worker.gateway.call(&target, call, deadlines, claimed.attempt_id, now).await;
    failpoint::reach("call", "after_reply");
    report
}

fn target(provider: &Provider) -> Result<Target, String> {
    let api_key = provider.credential.as_ref().map(secret).transpose()?;
    Ok(Target {
        provider: provider.name.clone(),
        kind: provider.kind,
        base_url: provider.base_url.clone(),
        api_key,
    })
}

fn not_called(message: String) -> Report {
    Report {
        outcome: Outcome::FailedBeforeSend,
        result: Err(AttemptFailure { class: FailureClass::Auth, message, words: None, hint: None }),
        usage: None,
        partial: None,
        provider_request_id: None,
        signals: Signals::default(),
        model: None,
        first_byte: None,
        total: Millis::ZERO,
    }
}

/// The provider's deadlines, within the task's and what is left of the job's.
fn deadlines(worker: &Worker, prepared: &Prepared) -> Deadlines {
    let left = prepared.work.deadline.since(worker.app.store.now());
    let Deadlines { connect, first_byte, idle, total } = prepared.provider.deadlines;
    let total = total.min(prepared.task.attempt_total).min(left.max(Millis::new(1)));
    Deadlines { connect: connect.min(total), first_byte: first_byte.min(total), idle: idle.min(total), total }
}

fn call(prepared: &Prepared, composed: ModelRequest) -> Call {
    let model = prepared.task.model.provider_model.clone();
    match composed {
        ModelRequest::Chat { messages, params, max_output_tokens } => {
            let call = ChatCall {
                model,
                messages: Value::Array(messages),
                params,
                max_output_tokens: Some(max_output_tokens),
                response_format: response_format(prepared),
            };
            match prepared.task.model.endpoint {
                Endpoint::Responses => Call::Responses(call),
                Endpoint::Chat | Endpoint::Embeddings => Call::Chat(call),
            }
        }
        ModelRequest::Embeddings { inputs, params } => {
            Call::Embeddings(EmbeddingsCall { model, inputs, params })
        }
    }
}

fn response_format(prepared: &Prepared) -> Option<ResponseFormat> {
    let TaskKind::Extract(extraction) = &prepared.task.kind else {
        return None;
    };
    match prepared.task.model.structured_output {
        StructuredOutput::JsonSchema => Some(ResponseFormat::JsonSchema {
            name: "answer".to_owned(),
            schema: answer_schema(extraction),
            strict: true,
        }),
        StructuredOutput::JsonObject => Some(ResponseFormat::JsonObject),
        StructuredOutput::None => None,
    }
}
