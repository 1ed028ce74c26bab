//! The planner of `extract` tasks: one call, free repair, at most one corrective call, then success or a
//! person. Doubt is never a success (I21).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Conclusion, Entry, ModelRequest, Next, Step, StepKind, estimated_tokens, output_limit, params};
use crate::definition::{Extraction, Task};
use crate::extract::{Evaluation, Finding, FindingCode, correction};
use crate::failure::FailureClass;
use crate::job::Failure;
use crate::limits::METADATA_KEY_CHARS as KEY_CHARS;
use crate::prompt::data_block;
use crate::request::StoredRequest;

/// The variable of a prompt that the document's data block is put in.
pub const DOCUMENT: &str = "document";
/// The variable of a prompt that the schema is put in, where it has one.
pub const SCHEMA: &str = "schema";

/// Bytes that the marks around a document have.
const BLOCK_BYTES: usize = 80;

pub(super) fn request_bytes(extraction: &Extraction, document_bytes: usize) -> usize {
    // The schema counts twice: providers that enforce it put it into the prompt, too.
    let schema = extraction.schema.source().to_string().len();
    extraction.prompt.source().len() + document_bytes + BLOCK_BYTES + 2 * schema
}

pub(super) fn after(
    task: &Task,
    extraction: &Extraction,
    document_bytes: usize,
    journal: &[Entry],
    last: &Entry,
) -> Next {
    let Entry::Extraction { answer, evaluation, .. } = last else {
        let message = "the journal of an `extract` job has something else in it";
        return Next::End(Conclusion::Fail(Failure::new(FailureClass::Undecodable, message)));
    };
    match &evaluation.output {
        Some(output) if evaluation.passed() => Next::End(Conclusion::Succeed(output.clone())),
        _ if may_correct(extraction, journal, evaluation) => {
            let more = answer.len() + correction(evaluation).len();
            let input_bytes = request_bytes(extraction, document_bytes) + more;
            Next::Step(Step {
                kind: StepKind::Correction,
                input_tokens: estimated_tokens(input_bytes),
                output_tokens: task.max_output_tokens,
            })
        }
        _ => Next::End(Conclusion::Review(doubt(evaluation))),
    }
}

/// Whether another answer could help. One that was cut at the output limit would be cut there again, and no answer
/// brings master data or makes a document the first of its kind.
fn may_correct(extraction: &Extraction, journal: &[Entry], evaluation: &Evaluation) -> bool {
    use FindingCode::{DatasetMissing, Duplicate, Truncated};
    let corrected = journal.len().saturating_sub(1);
    let hopeless = |finding: &Finding| matches!(finding.code, Truncated | DatasetMissing | Duplicate);
    corrected < extraction.corrections as usize && !evaluation.findings.iter().any(hopeless)
}

/// Findings that a failure names; the review has all of them.
const NAMED: usize = 5;

/// What a person is told first: which checks failed and where, and no value of document or answer, because the
/// message goes into events (I31).
fn doubt(evaluation: &Evaluation) -> Failure {
    let class = evaluation.failure_class().unwrap_or(FailureClass::InvalidOutput);
    let findings = &evaluation.findings;
    let named: Vec<_> = findings.iter().take(NAMED).map(named).collect();
    let more = findings.len().saturating_sub(NAMED);
    let message = match (findings.len(), more) {
        (0, _) => "there is no output".to_owned(),
        (1, _) => named.concat(),
        (count, 0) => format!("{count} findings: {}", named.join(", ")),
        (count, more) => format!("{count} findings: {} and {more} more", named.join(", ")),
    };
    Failure::new(class, message)
}

/// A finding's code and place. A place that a model may have made up is left out.
fn named(finding: &Finding) -> String {
    let declared = |char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '_' | '-');
    let code = finding.code.name();
    match finding.pointer.as_str() {
        "" => code.to_owned(),
        pointer if pointer.len() <= KEY_CHARS && pointer.chars().all(declared) => {
            format!("{code} at {pointer}")
        }
        _ => format!("{code} at a member"),
    }
}

pub(super) fn compose(
    task: &Task,
    extraction: &Extraction,
    request: &StoredRequest,
    document: &str,
    journal: &[Entry],
) -> Result<ModelRequest, Failure> {
    let mut messages = vec![json!({"role": "user", "content": instructions(extraction, document)?})];
    for entry in journal {
        if let Entry::Extraction { answer, evaluation, .. } = entry {
            messages.push(json!({"role": "assistant", "content": answer}));
            messages.push(json!({"role": "user", "content": correction(evaluation)}));
        }
    }
    Ok(ModelRequest::Chat {
        messages,
        params: params(task, request),
        max_output_tokens: output_limit(task, &request.params),
    })
}

/// The prompt, with the document inside a block that its text can't close (I22).
fn instructions(extraction: &Extraction, document: &str) -> Result<String, Failure> {
    let values: BTreeMap<String, String> = extraction
        .prompt
        .variables()
        .iter()
        .filter_map(|name| {
            let value = match name.as_str() {
                DOCUMENT => data_block(DOCUMENT, document),
                SCHEMA => extraction.schema.source().to_string(),
                _ => return None,
            };
            Some((name.clone(), value))
        })
        .collect();
    extraction
        .prompt
        .render(&values)
        .map_err(|error| Failure::new(FailureClass::Undecodable, error.to_string()))
}

/// The schema of a whole answer: the task's own for the output, and quotes for its fields.
pub fn answer_schema(extraction: &Extraction) -> Value {
    json!({
        "type": "object",
        "properties": {
            "output": extraction.schema.source(),
            "evidence": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"field": {"type": "string"}, "quote": {"type": "string"}},
                    "required": ["field", "quote"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["output", "evidence"],
        "additionalProperties": false,
    })
}
