//! Events: one fact about a job or a batch each, kept and published as CloudEvents 1.0 in structured JSON.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::id::{BatchId, Incarnation, JobId};
use crate::job::{Failure, State};
use crate::time::Timestamp;

/// What happened: to a job, or to a batch of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the lifecycle's commands and states")]
pub enum EventType {
    Accepted,
    Ready,
    Claimed,
    StepDone,
    Progress,
    RetryScheduled,
    Waiting,
    ReviewRequired,
    Succeeded,
    Failed,
    Cancelled,
    Replayed,
    BatchCompleted,
}

impl EventType {
    /// Every type.
    pub const ALL: [EventType; 13] = [
        EventType::Accepted,
        EventType::Ready,
        EventType::Claimed,
        EventType::StepDone,
        EventType::Progress,
        EventType::RetryScheduled,
        EventType::Waiting,
        EventType::ReviewRequired,
        EventType::Succeeded,
        EventType::Failed,
        EventType::Cancelled,
        EventType::Replayed,
        EventType::BatchCompleted,
    ];

    /// The part of the CloudEvents type that differs, and the name in event streams.
    pub const fn full_name(self) -> &'static str {
        match self {
            EventType::Accepted => "job.accepted",
            EventType::Ready => "job.ready",
            EventType::Claimed => "job.claimed",
            EventType::StepDone => "job.step_done",
            EventType::Progress => "job.progress",
            EventType::RetryScheduled => "job.retry_scheduled",
            EventType::Waiting => "job.waiting",
            EventType::ReviewRequired => "job.review_required",
            EventType::Succeeded => "job.succeeded",
            EventType::Failed => "job.failed",
            EventType::Cancelled => "job.cancelled",
            EventType::Replayed => "job.replayed",
            EventType::BatchCompleted => "batch.completed",
        }
    }

    /// The name in the database: that of a job's event is without its family.
    pub fn name(self) -> &'static str {
        let full = self.full_name();
        full.strip_prefix("job.").unwrap_or(full)
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<EventType> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Everything that an event of a job says.
#[derive(Debug, Clone)]
pub struct JobEvent<'a> {
    /// What happened.
    pub kind: EventType,
    /// To which job.
    pub job_id: JobId,
    /// The task's name.
    pub task: &'a str,
    /// The job's state after it.
    pub state: State,
    /// The job's version after it.
    pub state_version: u64,
    /// When.
    pub at: Timestamp,
    /// The correlation id of the job, if it has one.
    pub correlation_id: Option<&'a str>,
    /// The caller's metadata, as JSON text, if there is any.
    pub metadata: Option<&'a str>,
    /// Why it failed, or why a person must look.
    pub failure: Option<&'a Failure>,
    /// The job that does its work again, where that is what happened.
    pub replayed_by: Option<JobId>,
}

/// Everything that an event of a batch says.
#[derive(Debug, Clone)]
pub struct BatchEvent<'a> {
    /// What happened.
    pub kind: EventType,
    /// To which batch.
    pub batch_id: BatchId,
    /// When.
    pub at: Timestamp,
    /// Members that became no job.
    pub refused: u64,
    /// Its jobs by state; states without a job are left out.
    pub counts: &'a [(State, u64)],
}

/// The store that an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The store's identity.
    pub store_id: u64,
    /// Its life since the last restore.
    pub incarnation: Incarnation,
}

#[derive(Serialize)]
struct Envelope<'a, Subject, Data> {
    specversion: &'static str,
    id: String,
    source: String,
    r#type: String,
    subject: Subject,
    time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlationid: Option<&'a str>,
    datacontenttype: &'static str,
    data: Data,
}

#[derive(Serialize)]
struct JobData<'a> {
    job_id: JobId,
    task: &'a str,
    state: State,
    state_version: u64,
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed_by: Option<JobId>,
}

#[derive(Serialize)]
struct BatchData {
    batch_id: BatchId,
    refused: u64,
    counts: Map<String, Value>,
}

impl Origin {
    /// The CloudEvents `source` of this store's events.
    pub fn source(&self) -> String {
        format!("/forebay/{:016x}", self.store_id)
    }

    /// The CloudEvents `id`: the incarnation and the event's number in this store's log.
    pub fn event_id(&self, number: i64) -> String {
        format!("evt_{}{number:016x}", self.incarnation)
    }

    /// The bytes of a job's event: written once, then published as they are by every reader of the log.
    pub fn envelope(&self, number: i64, event: &JobEvent<'_>) -> Vec<u8> {
        let data = JobData {
            job_id: event.job_id,
            task: event.task,
            state: event.state,
            state_version: event.state_version,
            metadata: event.metadata.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
            result_url: (event.state == State::Succeeded)
                .then(|| format!("/v1/jobs/{}/result", event.job_id)),
            failure: event.failure.map(Failure::for_events),
            replayed_by: event.replayed_by,
        };
        let mut envelope = self.around(number, event.kind, event.job_id, event.at, data);
        envelope.correlationid = event.correlation_id;
        written(&envelope)
    }

    /// The bytes of a batch's event.
    pub fn batch_envelope(&self, number: i64, event: &BatchEvent<'_>) -> Vec<u8> {
        let counts = event.counts.iter().map(|(state, count)| (state.name().to_owned(), (*count).into()));
        let data = BatchData { batch_id: event.batch_id, refused: event.refused, counts: counts.collect() };
        written(&self.around(number, event.kind, event.batch_id, event.at, data))
    }

    fn around<Subject, Data>(
        &self,
        number: i64,
        kind: EventType,
        subject: Subject,
        time: Timestamp,
        data: Data,
    ) -> Envelope<'static, Subject, Data> {
        Envelope {
            specversion: "1.0",
            id: self.event_id(number),
            source: self.source(),
            r#type: format!("dev.forebay.{}.v1", kind.full_name()),
            subject,
            time,
            correlationid: None,
            datacontenttype: "application/json",
            data,
        }
    }
}

fn written(envelope: &impl Serialize) -> Vec<u8> {
    // Every member is text, a number or valid JSON, so that writing it to memory can't fail.
    serde_json::to_vec(envelope).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureClass;

    #[test]
    fn what_a_person_wrote_is_not_in_an_event() {
        let rejected = Failure::new(FailureClass::Rejected, "the supplier is ACME, not Acme").for_events();
        assert_eq!(rejected.message, FailureClass::Rejected.facts().meaning);
        let late = Failure::new(FailureClass::Deadline, "too late");
        assert_eq!(late.for_events(), late);
    }

    #[test]
    fn the_envelope_is_a_cloud_event() {
        let origin = Origin { store_id: 0xabc, incarnation: Incarnation(7) };
        let job_id = JobId::new(Timestamp::from_millis(0), [1; 10]);
        let failure = Failure::new(FailureClass::Deadline, "too late");
        let event = JobEvent {
            kind: EventType::Failed,
            job_id,
            task: "invoice",
            state: State::FailedTerminal,
            state_version: 3,
            at: Timestamp::from_millis(1_000),
            correlation_id: Some("inv-1"),
            metadata: Some(r#"{"order":"4711"}"#),
            failure: Some(&failure),
            replayed_by: None,
        };
        let envelope: Value = serde_json::from_slice(&origin.envelope(18, &event)).unwrap();
        assert_eq!(
            envelope,
            serde_json::json!({
                "specversion": "1.0", "id": "evt_000000070000000000000012", "source": "/forebay/0000000000000abc",
                "type": "dev.forebay.job.failed.v1", "subject": job_id, "time": "1970-01-01T00:00:01.000Z",
                "correlationid": "inv-1", "datacontenttype": "application/json",
                "data": {"job_id": job_id, "task": "invoice", "state": "FAILED_TERMINAL", "state_version": 3,
                         "metadata": {"order": "4711"}, "failure": {"class": "deadline", "message": "too late"}},
            })
        );
    }
    #[test]
    fn an_event_of_a_batch_is_about_the_batch() {
        let origin = Origin { store_id: 0xabc, incarnation: Incarnation(7) };
        let batch_id = BatchId::new(Timestamp::from_millis(0), [1; 10]);
        let counts = [(State::Succeeded, 2), (State::FailedTerminal, 1)];
        let event = BatchEvent {
            kind: EventType::BatchCompleted,
            batch_id,
            at: Timestamp::from_millis(1_000),
            refused: 4,
            counts: &counts,
        };
        let envelope: Value = serde_json::from_slice(&origin.batch_envelope(18, &event)).unwrap();
        assert_eq!(
            envelope,
            serde_json::json!({
                "specversion": "1.0", "id": "evt_000000070000000000000012", "source": "/forebay/0000000000000abc",
                "type": "dev.forebay.batch.completed.v1", "subject": batch_id, "time": "1970-01-01T00:00:01.000Z",
                "datacontenttype": "application/json",
                "data": {"batch_id": batch_id, "refused": 4, "counts": {"SUCCEEDED": 2, "FAILED_TERMINAL": 1}},
            })
        );
    }

    #[test]
    fn every_name_leads_back() {
        for kind in EventType::ALL {
            assert_eq!(EventType::from_name(kind.name()), Some(kind));
        }
        assert_eq!(EventType::Succeeded.name(), "succeeded");
    }
}
