//! Rows of the view `review_records`.

use forebay_core::id::KeyId;
use forebay_core::review::{Decision, ReviewDefault};
use forebay_core::time::Timestamp;

use super::super::columns::{Columns, failure};
use crate::StoreError;
use crate::record::{DecidedReview, DecisionRecord, ReviewClaim, ReviewEntry, ReviewRecord};

type Read<T> = Result<T, StoreError>;

/// All columns, and the result after them.
pub(super) fn decided(c: &mut Columns<'_>, now: Timestamp) -> Read<DecidedReview> {
    let review = record(c, now)?;
    // What a repeated request is compared by, and whose it is.
    c.skip(2);
    Ok(DecidedReview { review, result: c.maybe_bytes()? })
}

/// What the queue shows: the first columns.
pub(super) fn entry(c: &mut Columns<'_>, now: Timestamp) -> Read<ReviewEntry> {
    Ok(ReviewEntry {
        seq: c.get()?,
        job_id: c.id()?,
        generation: c.count()?,
        task: c.get()?,
        revision: c.count()?,
        state_version: c.count()?,
        failure: failure(c)?,
        opened_at: c.time()?,
        due_at: c.time()?,
        due_default: c.word(ReviewDefault::from_name)?,
        alerted_at: c.maybe_time()?,
        findings_count: c.maybe_count()?.unwrap_or_default(),
        finding_codes: texts(c.maybe_json()?),
        has_output: c.get()?,
        claim: claim(c, now)?,
    })
}

/// All columns.
pub(super) fn record(c: &mut Columns<'_>, now: Timestamp) -> Read<ReviewRecord> {
    Ok(ReviewRecord {
        entry: entry(c, now)?,
        findings: c.get()?,
        output: c.maybe_bytes()?,
        provenance: c.get()?,
        document: c.maybe_digest()?,
        decided: decision(c)?,
    })
}

fn texts(json: Option<serde_json::Value>) -> Vec<String> {
    json.and_then(|json| serde_json::from_value(json).ok()).unwrap_or_default()
}

/// Who holds the review now: a claim that has lapsed is none.
fn claim(c: &mut Columns<'_>, now: Timestamp) -> Read<Option<ReviewClaim>> {
    let (by, name, until): (Option<KeyId>, Option<String>, _) = (c.maybe_id()?, c.get()?, c.maybe_time()?);
    Ok(match (by, name, until) {
        (Some(by), Some(name), Some(until)) if until > now => Some(ReviewClaim { by, name, until }),
        _ => None,
    })
}

fn decision(c: &mut Columns<'_>) -> Read<Option<DecisionRecord>> {
    let at = c.maybe_time()?;
    let Some(at) = at else {
        c.skip(7);
        return Ok(None);
    };
    Ok(Some(DecisionRecord {
        at,
        decision: c.word(Decision::from_name)?,
        by: c.maybe_id()?,
        name: c.get()?,
        comment: c.get()?,
        seen: c.maybe_count()?,
        findings: c.get()?,
        seq: c.get()?,
    }))
}
