//! What the answer of a chat completion says, streamed or whole.

use forebay_core::failure::FailureClass;
use serde_json::Value;

use super::usage;
use crate::failed::Failed;
use crate::said::{Said, model_of, parse_document, parse_event, useless};
use crate::sse::Event;
use crate::wire::{Flow, Reader, Reading};

/// What a stream ends with.
const DONE: &str = "[DONE]";

/// An answer so far.
#[derive(Debug, Default)]
pub(super) struct Draft(Said);

impl Reader for Draft {
    fn event(&mut self, event: &Event) -> Result<Flow, Failed> {
        if event.data.trim() == DONE {
            return Ok(Flow::Done);
        }
        self.absorb(&parse_event(event)?, "delta");
        Ok(Flow::More)
    }

    fn document(&mut self, body: &[u8]) -> Result<(), Failed> {
        let document = parse_document(body)?;
        self.absorb(&document, "message");
        if first_choice(&document).is_none() {
            return Err(useless(FailureClass::InvalidOutput, "the answer has no choices"));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Reading {
        self.0.finish()
    }
}

impl Draft {
    /// Takes in a chunk, whose text stands in `delta`, or a whole answer, whose text stands in `message`.
    fn absorb(&mut self, body: &Value, part: &str) {
        let Draft(so_far) = self;
        so_far.model = model_of(body).or(so_far.model.take());
        so_far.usage = usage::of_chat(&body["usage"]).or(so_far.usage);
        let Some(choice) = first_choice(body) else { return };
        let said = &choice[part];
        push_text(&mut so_far.text, &said["content"]);
        push_text(&mut so_far.refusal, &said["refusal"]);
        if let Some(call) = tool_call(said) {
            let name = call["function"]["name"].as_str().or(call["name"].as_str());
            so_far.tool.get_or_insert_default().push_str(name.unwrap_or_default());
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            so_far.finish_reason = Some(reason.to_owned());
        }
    }
}

/// The choice with index 0; one is all that is ever asked for.
fn first_choice(body: &Value) -> Option<&Value> {
    let mut choices = body["choices"].as_array()?.iter();
    choices.find(|choice| choice["index"].as_u64().unwrap_or(0) == 0)
}

/// Appends a text, which may be a string or a list of parts that have a `text`.
fn push_text(text: &mut String, content: &Value) {
    match content {
        Value::String(more) => text.push_str(more),
        Value::Array(parts) => text.extend(parts.iter().filter_map(|part| part["text"].as_str())),
        _ => {}
    }
}

/// The first tool call, in today's form or the one of 2023.
fn tool_call(said: &Value) -> Option<&Value> {
    let today = said["tool_calls"].as_array().and_then(|calls| calls.first());
    today.or(said["function_call"].is_object().then(|| &said["function_call"]))
}

#[cfg(test)]
mod tests {
    use forebay_core::attempt::Outcome;
    use serde_json::json;

    use super::*;
    use crate::report::Answer;

    fn choice(delta: Value, finish_reason: Value) -> Value {
        json!({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})
    }

    /// What becomes of a stream of these chunks.
    fn stream(chunks: &[Value]) -> Reading {
        let mut draft = Box::<Draft>::default();
        for chunk in chunks {
            let event = Event { name: "message".to_owned(), data: chunk.to_string() };
            assert_eq!(draft.event(&event), Ok(Flow::More));
        }
        draft.finish()
    }

    fn failure(reading: &Reading) -> (Outcome, FailureClass) {
        let failed = reading.answer.as_ref().unwrap_err();
        (failed.outcome, failed.failure.class)
    }

    #[test]
    fn a_stream_with_everything() {
        let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
        let reading = stream(&[
            json!({"model": "", "choices": [], "prompt_filter_results": []}),
            choice(json!({"role": "assistant", "content": "", "refusal": null}), Value::Null),
            choice(json!({"content": "Hel"}), Value::Null),
            choice(json!({"content": "lo", "tool_calls": null}), Value::Null),
            json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
            choice(json!({}), json!("stop")),
            json!({"model": "m-1", "choices": [], "usage": usage}),
        ]);
        let answer = Answer::Chat { text: "Hello".to_owned(), finish_reason: "stop".to_owned() };
        assert_eq!(reading.answer, Ok(answer));
        assert_eq!(reading.usage.map(|usage| usage.total()), Some(5));
        assert_eq!(reading.model.as_deref(), Some("m-1"));
    }

    #[test]
    fn finish_reasons() {
        use FailureClass as F;
        for (reason, class) in [
            ("length", F::Truncated),
            ("max_tokens", F::Truncated),
            ("content_filter", F::ContentFiltered),
            ("refusal", F::Refused),
            ("tool_calls", F::InvalidOutput),
            ("function_call", F::InvalidOutput),
            ("abort", F::ProviderError),
            ("error", F::ProviderError),
            ("?", F::ProviderError),
        ] {
            let reading = stream(&[choice(json!({"content": "text"}), json!(reason))]);
            assert_eq!(failure(&reading), (Outcome::FailedAfterSend, class), "{reason}");
            assert_eq!(reading.text.as_deref(), Some("text"), "{reason}");
        }
    }

    #[test]
    fn without_a_finish_reason_nothing_is_complete() {
        for reason in [Value::Null, json!(""), json!(7)] {
            let reading = stream(&[choice(json!({"content": "text"}), reason)]);
            assert_eq!(failure(&reading), (Outcome::Unknown, FailureClass::StreamBroken));
        }
        assert_eq!(failure(&stream(&[])), (Outcome::Unknown, FailureClass::StreamBroken));
    }

    #[test]
    fn refusals_tools_and_emptiness_are_no_answers() {
        use FailureClass as F;
        let tool = json!([{"index": 0, "id": "c", "function": {"name": "rm", "arguments": "{}"}}]);
        for (delta, class) in [
            (json!({"refusal": "I can't help with that."}), F::Refused),
            (json!({"content": "Sure!", "refusal": "No."}), F::Refused),
            (json!({"tool_calls": tool}), F::InvalidOutput),
            (json!({"content": "text", "function_call": {"name": "rm"}}), F::InvalidOutput),
            (json!({"content": ""}), F::InvalidOutput),
            (json!({"content": " \n"}), F::InvalidOutput),
            (json!({"content": null, "reasoning_content": "hm"}), F::InvalidOutput),
            (json!({}), F::InvalidOutput),
            (json!("text"), F::InvalidOutput),
        ] {
            let reading = stream(&[choice(delta.clone(), json!("stop"))]);
            assert_eq!(failure(&reading), (Outcome::FailedAfterSend, class), "{delta}");
        }
        let reading = stream(&[choice(json!({"tool_calls": tool}), json!("tool_calls"))]);
        assert!(reading.answer.unwrap_err().failure.in_full().contains("`rm`"));
    }

    #[test]
    fn an_error_in_mid_stream_is_never_an_answer() {
        let error = json!({"error": {"message": "Please try again in 2s"}});
        for (name, data) in [
            ("message", error.to_string()),
            ("error", json!({"message": "no wrapper"}).to_string()),
            ("message", json!({"object": "error", "message": "overloaded"}).to_string()),
            ("message", "{\"choices\": [".to_owned()),
        ] {
            let event = Event { name: name.to_owned(), data };
            let failed = Draft::default().event(&event).unwrap_err();
            assert_eq!(
                (failed.outcome, failed.failure.class),
                (Outcome::Unknown, FailureClass::StreamBroken)
            );
        }
    }

    /// What becomes of an answer that is one document.
    fn document(body: &[u8]) -> Result<Answer, (Outcome, FailureClass)> {
        let mut draft = Box::<Draft>::default();
        let read = draft.document(body);
        let answer = read.and_then(|()| draft.finish().answer);
        answer.map_err(|failed| (failed.outcome, failed.failure.class))
    }

    #[test]
    fn whole_documents() {
        use FailureClass as F;
        let parts = json!([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]);
        for content in [json!("Hello"), parts] {
            let body = json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]});
            let answer = Answer::Chat { text: "Hello".to_owned(), finish_reason: "stop".to_owned() };
            assert_eq!(document(body.to_string().as_bytes()), Ok(answer));
        }
        for (body, outcome, class) in [
            ("{\"choices\": []}", Outcome::FailedAfterSend, F::InvalidOutput),
            ("{}", Outcome::FailedAfterSend, F::InvalidOutput),
            ("[]", Outcome::FailedAfterSend, F::InvalidOutput),
            ("{\"choices\": [{\"message\": {\"content\": \"a\"}}]}", Outcome::Unknown, F::StreamBroken),
            ("{\"choices\"", Outcome::FailedAfterSend, F::ProviderError),
            ("", Outcome::FailedAfterSend, F::ProviderError),
            ("{\"error\": {\"message\": \"no\"}}", Outcome::FailedAfterSend, F::ProviderError),
        ] {
            assert_eq!(document(body.as_bytes()), Err((outcome, class)), "{body}");
        }
        assert_eq!(document(b"\"\xff\""), Err((Outcome::FailedAfterSend, F::InvalidOutput)));
    }
}
