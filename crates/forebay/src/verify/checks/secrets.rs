//! What must not stand where others read: I31.

use std::collections::HashSet;

use serde_json::Value;

use crate::verify::records::Job;
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

/// As many bytes of a text are enough to recognise it; shorter texts stand in many places by chance.
const PIECE: usize = 24;

/// What an API key of the service begins with, and how many letters and digits follow at least.
const KEY: (&str, usize) = ("fbk_", 16);

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    let mut pieces = HashSet::new();
    for job in &world.store.jobs {
        let own = texts(world, job);
        messages(world, job, &own, findings);
        pieces.extend(own);
    }
    for row in &world.store.audit {
        let text = format!("{} {:?} {:?}", row.subject, row.before, row.after);
        public(&text, &format!("audit: {} {}", row.seq, row.action), &pieces, About::STORE, findings);
    }
    for (name, text) in &world.outside.server_logs {
        for (nth, line) in text.lines().enumerate() {
            public(line, &format!("{name}:{}", nth + 1), &pieces, About::STORE, findings);
        }
    }
}

/// The first piece of each longer text in a job's input.
fn texts(world: &World<'_>, job: &Job) -> HashSet<Vec<u8>> {
    let stored = world.input(job.id).and_then(|input| input.body.as_ref());
    let request: Value = stored.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
    let mut pieces = HashSet::new();
    collect(&request["input"], &mut pieces);
    pieces
}

fn collect(value: &Value, pieces: &mut HashSet<Vec<u8>>) {
    match value {
        Value::String(text) => pieces.extend(text.as_bytes().get(..PIECE).map(<[u8]>::to_vec)),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, pieces)),
        Value::Object(members) => members.values().for_each(|member| collect(member, pieces)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is said of a job's failures and in its events. The caller's own metadata is the caller's to choose.
fn messages(world: &World<'_>, job: &Job, own: &HashSet<Vec<u8>>, findings: &mut Findings) {
    let about = About::job(job.id);
    if let Some(message) = &job.failure_message {
        public(message, "jobs: failure_message", own, about, findings);
    }
    for attempt in world.attempts(job.id) {
        if let Some(message) = &attempt.message {
            public(message, "attempts: message", own, About::attempt(job.id, attempt.id), findings);
        }
        if let Some(evidence) = &attempt.evidence {
            public(evidence, "attempts: evidence", own, About::attempt(job.id, attempt.id), findings);
        }
    }
    for event in world.events(job.id) {
        let mut body: Value = serde_json::from_slice(&event.body).unwrap_or_default();
        if let Some(data) = body["data"].as_object_mut() {
            data.remove("metadata");
        }
        public(&body.to_string(), &format!("events: {}", event.seq), own, about, findings);
    }
}

/// A text that others read holds no piece of a prompt and no key.
fn public(text: &str, place: &str, pieces: &HashSet<Vec<u8>>, about: About, findings: &mut Findings) {
    let private = text.as_bytes().windows(PIECE).any(|window| pieces.contains(window));
    findings.check(I::I31, about, !private, "a prompt or a document stands where others read", || {
        vec![place.to_owned()]
    });
    let key = text.match_indices(KEY.0).any(|(at, _)| {
        let rest = &text.as_bytes()[at + KEY.0.len()..];
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count() >= KEY.1
    });
    findings.check(I::I31, about, !key, "a key stands where others read", || vec![place.to_owned()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, PROMPT, case};

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn a_prompt_in_a_message_or_a_log_is_noticed() {
        let private = [(I::I31, "a prompt or a document stands where others read".to_owned())];
        let say = format!("could not do: {PROMPT}");
        let said = say.clone();
        assert_eq!(broken(|case| case.attempt_mut(case.done, 0).message = Some(said)), private);
        let said = say.clone();
        assert_eq!(broken(|case| case.outside.server_logs.push(("server.log".to_owned(), said))), private);
    }

    #[test]
    fn a_key_in_a_message_is_noticed() {
        let found = broken(|case| {
            case.job_mut(case.waits).failure_message = Some("fbk_0123456789abcdef0123 is wrong".to_owned());
        });
        assert_eq!(found, [(I::I31, "a key stands where others read".to_owned())]);
        assert_eq!(broken(|case| case.job_mut(case.waits).failure_message = Some("fbk_...".to_owned())), []);
    }
}
