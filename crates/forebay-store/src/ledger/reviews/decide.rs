//! Deciding a review: the rules, the job, the result, the review and the audit record in one transaction.

use forebay_core::job::State;
use forebay_core::lifecycle::{self, Change, Refusal};
use forebay_core::review::{self, FieldChange, Signature};
use serde_json::{Value, json};

use super::super::columns::int;
use super::super::transaction::Tx;
use super::super::values::params;
use super::super::{audit, fingerprints, jobs, save, sql, steps};
use super::claim;
use crate::StoreError;
use crate::record::{
    AuditAction, Decided, JobRecord, NewDecision, NewResult, ReviewRecord, ReviewRefused, Verdict,
};

type Answer = Result<Decided, ReviewRefused>;

/// Looks for the same decision first: an answer that was lost is given again.
pub(super) fn decide(tx: &Tx<'_>, new: &NewDecision) -> Result<Answer, StoreError> {
    let Some(job) = jobs::of_tenant(tx, new.tenant, new.job_id)? else {
        return Ok(Err(ReviewRefused::NoJob));
    };
    if let Some(review) = repeated(tx, new)? {
        return Ok(Ok(Decided { job, review, replayed: true }));
    }
    let review = super::of_job(tx, new.tenant, new.job_id)?;
    let has_output = review.as_ref().is_some_and(|review| review.entry.has_output);
    let change = match rules(tx, &job, has_output, new) {
        Ok(change) => change,
        Err(refusal) => return Ok(Err(ReviewRefused::Rules(refusal))),
    };
    let review = review
        .filter(|review| review.decided.is_none())
        .ok_or_else(|| StoreError::Corrupt(format!("{} is in review and has none", new.job_id)))?;
    if let Some(held) = claim::held_by_another(&review, &new.by) {
        return Ok(Err(held));
    }
    let (after, number) = move_on(tx, &job, change, &new.verdict)?;
    insert_result(tx, &after, &review, new)?;
    write(tx, &review, new, number)?;
    record(tx, &job, &after, &review, new)?;
    if let (State::Succeeded, Some(fingerprint)) = (after.job.state, new.fingerprint) {
        fingerprints::take(tx, &after, fingerprint)?;
    }
    let review = repeated(tx, new)?
        .ok_or_else(|| StoreError::Corrupt(format!("the decision about {} is not there", new.job_id)))?;
    Ok(Ok(Decided { job: after, review, replayed: false }))
}

fn repeated(tx: &Tx<'_>, new: &NewDecision) -> Result<Option<ReviewRecord>, StoreError> {
    let asked = (
        new.tenant,
        new.job_id.as_bytes(),
        int(new.seen),
        new.by.key.as_ref().map(|key| key.as_bytes()),
        new.digest.as_bytes(),
    );
    tx.row(sql!("reviews/repeated"), asked, |c| super::row::record(c, tx.now))
}

fn rules(tx: &Tx<'_>, job: &JobRecord, has_output: bool, new: &NewDecision) -> Result<Change, Refusal> {
    let (job, seen) = (&job.job, new.seen);
    match &new.verdict {
        Verdict::Approve => lifecycle::approve(job, seen, has_output),
        Verdict::Correct { .. } => lifecycle::correct(job, seen),
        Verdict::Reject => {
            let comment = new.comment.clone().unwrap_or_else(|| format!("refused by {}", new.by.name));
            lifecycle::reject(job, seen, &comment)
        }
        Verdict::Rerun { deadline, .. } => lifecycle::rerun(job, seen, tx.now, *deadline),
    }
}

/// Writes the job's change, with the first step of a new generation where there is one. Gives the number of its event.
fn move_on(
    tx: &Tx<'_>,
    before: &JobRecord,
    change: Change,
    verdict: &Verdict,
) -> Result<(JobRecord, i64), StoreError> {
    let Verdict::Rerun { step, .. } = verdict else {
        return save::save_numbered(tx, before, change);
    };
    save::leave_step(tx, before, None)?;
    save::save_with_step(tx, before, change, step)
}

/// The result that the decision makes, signed by whoever made it.
fn insert_result(
    tx: &Tx<'_>,
    after: &JobRecord,
    review: &ReviewRecord,
    new: &NewDecision,
) -> Result<(), StoreError> {
    let nothing = &[][..];
    let (output, provenance, changes, findings) = match &new.verdict {
        Verdict::Approve => (review.output.as_ref(), &review.provenance, nothing, &review.findings),
        Verdict::Correct { result, changes, findings } => {
            (Some(&result.output), &result.provenance, changes.as_slice(), findings)
        }
        Verdict::Reject | Verdict::Rerun { .. } => return Ok(()),
    };
    // The rules have refused an approval of nothing.
    let Some(output) = output else { return Ok(()) };
    let signature = Signature {
        decision: new.verdict.decision(),
        key: new.by.key,
        name: &new.by.name,
        at: tx.now,
        comment: new.comment.as_deref(),
        changes,
        findings,
    };
    let provenance = review::signed(provenance, &signature);
    steps::insert_result(tx, after, &NewResult { output: output.clone(), provenance })
}

/// Closes the review; `number` is that of the event that the decision brought about.
fn write(tx: &Tx<'_>, review: &ReviewRecord, new: &NewDecision, number: i64) -> Result<(), StoreError> {
    let findings = match &new.verdict {
        Verdict::Correct { findings, .. } => Some(findings),
        Verdict::Approve | Verdict::Reject | Verdict::Rerun { .. } => None,
    };
    tx.execute(
        sql!("reviews/decide"),
        params! {
            ":job_id": new.job_id.as_bytes(),
            ":generation": review.entry.generation,
            ":now": tx.now.as_millis(),
            ":decision": new.verdict.decision().name(),
            ":by": new.by.key.as_ref().map(|key| key.as_bytes()),
            ":name": new.by.name,
            ":comment": new.comment,
            ":seen": int(new.seen),
            ":digest": new.digest.as_bytes(),
            ":findings": findings,
            ":seq": number,
        },
    )?;
    Ok(())
}

/// Who decided what, with what was before and what is since.
fn record(
    tx: &Tx<'_>,
    before: &JobRecord,
    after: &JobRecord,
    review: &ReviewRecord,
    new: &NewDecision,
) -> Result<(), StoreError> {
    let (action, more) = match &new.verdict {
        Verdict::Approve => (AuditAction::ReviewApprove, Value::Null),
        Verdict::Correct { changes, findings, .. } => {
            (AuditAction::ReviewCorrect, corrected(changes, findings))
        }
        Verdict::Reject => (AuditAction::ReviewReject, Value::Null),
        Verdict::Rerun { deadline, .. } => (AuditAction::ReviewRerun, json!({ "deadline": deadline })),
    };
    let state = |job: &JobRecord| {
        json!({
            "state": job.job.state.name(),
            "state_version": job.job.state_version,
            "generation": job.job.generation,
        })
    };
    let (mut was, mut is) = (state(before), state(after));
    was["findings"] = json!(review.entry.finding_codes);
    is["decision"] = json!(new.verdict.decision().name());
    if let Some(comment) = &new.comment {
        is["comment"] = json!(comment);
    }
    if let (Some(is), Value::Object(more)) = (is.as_object_mut(), more) {
        is.extend(more);
    }
    let entry = audit::Entry {
        tenant: Some(new.tenant),
        by: &new.by,
        action,
        subject: new.job_id.to_string(),
        before: Some(was),
        after: Some(is),
    };
    audit::append(tx, &entry)
}

fn corrected(changes: &[FieldChange], findings: &[u8]) -> Value {
    json!({ "changes": changes, "findings": review::codes(findings) })
}
