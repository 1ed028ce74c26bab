use forebay_core::digest::{Digest, DocumentId};
use forebay_core::id::{JobId, KeyId};
use forebay_core::job::State;
use forebay_core::review::{FieldChange, fields};
use forebay_core::time::Timestamp;
use forebay_store::record::{AuditRecord, Decided, DecisionRecord, ReviewClaim, ReviewEntry, ReviewRecord};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::job::JobFailure;
use super::shapes;

/// A decision that a person owes, as the queue shows it.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReviewSummary {
    #[schema(value_type = String)]
    job_id: JobId,
    /// Which generation of the job: 1, and one more for each rerun.
    generation: u32,
    /// The task's name.
    task: String,
    /// The revision that the job runs by.
    revision: u32,
    /// The job's version: what a decision has to name.
    state_version: u64,
    /// Why a person must look.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<JobFailure>,
    /// The codes of the findings, each once.
    finding_codes: Vec<String>,
    /// Whether there is an output that could be approved.
    has_output: bool,
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
    /// When it should be decided.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    /// What is decided when nobody has decided until then: `none`, `approve` or `reject`.
    due_default: &'static str,
    /// Whether it is open and past its due time.
    overdue: bool,
    /// Who holds it at the moment; absent when nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
}

/// A reviewer who holds a review for a while: nobody else decides it until then.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReviewClaim)]
pub(in crate::http) struct Claim {
    /// The reviewer's key.
    #[schema(value_type = String)]
    claimed_by: KeyId,
    /// What the key is called.
    claimed_by_name: String,
    #[schema(value_type = String, format = DateTime)]
    claimed_until: Timestamp,
}

impl From<ReviewClaim> for Claim {
    fn from(claim: ReviewClaim) -> Self {
        Self { claimed_by: claim.by, claimed_by_name: claim.name, claimed_until: claim.until }
    }
}

impl ReviewSummary {
    /// An open review, as it stands at a time.
    pub(in crate::http) fn open(entry: ReviewEntry, now: Timestamp) -> Self {
        let overdue = entry.due_at <= now;
        Self {
            job_id: entry.job_id,
            generation: entry.generation,
            task: entry.task,
            revision: entry.revision,
            state_version: entry.state_version,
            failure: entry.failure.map(|failure| JobFailure::of(failure, Some(entry.findings_count))),
            finding_codes: entry.finding_codes,
            has_output: entry.has_output,
            opened_at: entry.opened_at,
            due_at: entry.due_at,
            due_default: entry.due_default.name(),
            overdue,
            claim: entry.claim.map(Claim::from),
        }
    }
}

/// A page of open reviews, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReviewList {
    pub(in crate::http) data: Vec<ReviewSummary>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
}

/// The open or latest review of a job, with everything to decide it by.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Review)]
pub(in crate::http) struct ReviewDetail {
    #[serde(flatten)]
    summary: ReviewSummary,
    /// What is doubtful, with pointers into the output and spans of the document.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
    /// The output in doubt, if there is one: what the model said, whatever was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// The values of the output, each with its pointer, its evidence in the document, and the findings about it.
    #[schema(value_type = Vec<Object>)]
    fields: Value,
    /// Where the output comes from.
    #[schema(value_type = Object)]
    provenance: Value,
    /// The document that the job reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    document_id: Option<DocumentId>,
    /// The text that the output was read from; spans count its bytes in UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    document_text: Option<String>,
    /// Whether the text goes on beyond what is shown.
    document_text_cut: bool,
    /// How it ended; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<Decision>,
    /// What was done about the job's reviews so far, oldest first.
    history: Vec<ReviewStep>,
}

/// How a review ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReviewDecision)]
pub(in crate::http) struct Decision {
    /// `approve`, `correct`, `reject`, `rerun` or `cancelled`.
    decision: &'static str,
    #[schema(value_type = String, format = DateTime)]
    decided_at: Timestamp,
    /// The key of whoever decided; absent when no person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    decided_by: Option<KeyId>,
    /// What the key was called; `forebay` when the due time decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// What the policy finds in a corrected output all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    remaining_findings: Option<Value>,
}

impl From<DecisionRecord> for Decision {
    fn from(record: DecisionRecord) -> Self {
        Self {
            decision: record.decision.name(),
            decided_at: record.at,
            decided_by: record.by,
            decided_by_name: record.name,
            comment: record.comment,
            remaining_findings: record.findings.as_deref().map(read),
        }
    }
}

/// Something that was done about a review.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReviewStep {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// `review.claim`, `review.release`, `review.approve`, `review.correct`, `review.reject`, `review.rerun` or
    /// `review.overdue`.
    action: String,
    /// The key of whoever did it; absent when no person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    by: Option<KeyId>,
    /// What the key was called.
    by_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    before: Option<Value>,
    /// What was since: of a correction, each value that was changed, with what it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    after: Option<Value>,
}

impl From<AuditRecord> for ReviewStep {
    fn from(record: AuditRecord) -> Self {
        Self {
            at: record.at,
            action: record.action_name().to_owned(),
            by: record.actor.key,
            by_name: record.actor.name,
            before: record.before,
            after: record.after,
        }
    }
}

impl ReviewDetail {
    /// A review without its output and its text, which are elsewhere.
    pub(in crate::http) fn new(record: ReviewRecord, now: Timestamp) -> Self {
        let is_open = record.decided.is_none();
        let mut summary = ReviewSummary::open(record.entry, now);
        summary.overdue &= is_open;
        Self {
            summary,
            findings: read(&record.findings),
            output: None,
            fields: Value::Array(Vec::new()),
            provenance: read(&record.provenance),
            document_id: record.document.map(DocumentId),
            document_text: None,
            document_text_cut: false,
            decided: record.decided.map(Decision::from),
            history: Vec::new(),
        }
    }

    /// Adds the output, and its fields with what speaks for and against each.
    pub(in crate::http) fn with_output(mut self, output: Option<Value>) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let (evidence, findings) = (list(&self.provenance["evidence"]), list(&self.findings));
        self.fields = serde_json::to_value(fields(output.as_ref(), &evidence, &findings)).unwrap_or_default();
        self.output = output;
        self
    }

    /// Adds the text that the output was read from, up to so many characters.
    pub(in crate::http) fn with_text(mut self, text: Option<String>, most: usize) -> Self {
        self.document_text = text.map(|mut text| {
            if let Some((end, _)) = text.char_indices().nth(most) {
                text.truncate(end);
                self.document_text_cut = true;
            }
            text
        });
        self
    }

    /// Adds what was done so far.
    pub(in crate::http) fn with_history(mut self, history: Vec<ReviewStep>) -> Self {
        self.history = history;
        self
    }
}

/// A decision was made, now or before.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReviewDecided {
    #[schema(value_type = String)]
    job_id: JobId,
    /// The generation that was decided about.
    generation: u32,
    /// The job's state now.
    #[schema(value_type = String, example = "SUCCEEDED")]
    state: State,
    /// The job's version now.
    state_version: u64,
    #[serde(flatten)]
    decided: Decision,
    /// Where the result is when the job has succeeded.
    result_url: String,
}

impl ReviewDecided {
    /// The answer to a decision; nothing where the record has none.
    pub(in crate::http) fn new(decided: Decided) -> Option<Self> {
        Some(Self {
            job_id: decided.job.id,
            generation: decided.review.entry.generation,
            state: decided.job.job.state,
            state_version: decided.job.job.state_version,
            decided: decided.review.decided?.into(),
            result_url: format!("{}/result", super::job_url(decided.job.id)),
        })
    }
}

/// A decision. Only its name: the body is read member by member, and [`by_decision`] is its schema.
#[derive(ToSchema)]
#[schema(as = ReviewDecisionRequest)]
pub(in crate::http) struct DecisionBody {}

/// The schema of a decision: each has members of its own.
pub(in crate::http) fn by_decision() -> Value {
    let comment = serde_json::to_value(shapes::text::<2000>()).unwrap_or_default();
    let seen = json!({"type": "integer", "minimum": 0, "maximum": i64::MAX,
        "description": "The job's version that is decided about, as the review shows it."});
    let one = |decisions: &[&str], required: &[&str], more: Value| {
        let mut properties = json!({"decision": {"type": "string", "enum": decisions}, "state_version": seen, "comment": comment});
        if let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), more) {
            properties.extend(more);
        }
        let required: Vec<_> = ["decision", "state_version"].iter().chain(required).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    let output = json!({"description": "The right output. It must satisfy the task's schema."});
    let ttl = json!({"type": "integer", "minimum": 1, "maximum": i64::MAX, "description": "How long the machines have, from now."});
    let deadline =
        json!({"type": "string", "format": "date-time", "description": "Until when the machines have time."});
    json!({
        "description": "What is decided about a review: `comment` says why; of a rejection it is why the job fails.",
        "oneOf": [
            one(&["approve", "reject"], &[], json!({})),
            one(&["correct"], &["output"], json!({"output": output})),
            one(&["rerun"], &[], json!({"ttl_ms": ttl})),
            one(&["rerun"], &["deadline"], json!({"deadline": deadline})),
        ],
    })
}

/// A claim. Only its shape: the body is read member by member.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReviewClaimRequest)]
pub(in crate::http) struct ClaimBody {
    /// For how long: 1 s to 8 h; 15 minutes where absent.
    #[schema(minimum = 1_000, maximum = 28_800_000)]
    for_ms: Option<u64>,
}

/// A decided review as a line of an evaluation set.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReviewLine {
    /// Where the lines after this one begin.
    pub(in crate::http) cursor: String,
    #[schema(value_type = String)]
    pub(in crate::http) job_id: JobId,
    pub(in crate::http) generation: u32,
    pub(in crate::http) task: String,
    pub(in crate::http) revision: u32,
    #[serde(flatten)]
    pub(in crate::http) decided: Decision,
    /// The document that was read, by its digest; its bytes stand under `/v1/documents/{document_id}/content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(in crate::http) document_id: Option<DocumentId>,
    /// The digest of the text that was read, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(in crate::http) text_sha256: Option<Digest>,
    /// The text itself, with `text=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) document_text: Option<String>,
    /// What was doubtful.
    #[schema(value_type = Vec<Object>)]
    pub(in crate::http) findings: Value,
    /// What the model said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) model_output: Option<Value>,
    /// What is right: of an approval the same, of a correction what the person wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) expected_output: Option<Value>,
    /// Where the two differ.
    #[schema(value_type = Vec<Object>)]
    pub(in crate::http) changes: Vec<FieldChange>,
    /// Where the model's output comes from.
    #[schema(value_type = Object)]
    pub(in crate::http) provenance: Value,
}

/// JSON that was stored; `null` where it is none.
pub(in crate::http) fn read(stored: &[u8]) -> Value {
    serde_json::from_slice(stored).unwrap_or(Value::Null)
}
