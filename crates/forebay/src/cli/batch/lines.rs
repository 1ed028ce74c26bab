//! From a file to the bodies of batch calls: jobs stay as they are written, each gets a key that follows from what it
//! says, and as many as a call may have go together.

use std::collections::HashMap;
use std::fmt;

use forebay_core::digest::Digest;
use forebay_core::limits::{BATCH_BODY_BYTES, BATCH_JOBS, REQUEST_BODY_BYTES};
use forebay_core::request::json::place::parts;
use serde_json::Value;

/// Faults of a file that are shown.
const FAULTS: usize = 20;
/// What a body has besides its jobs and their commas.
const AROUND: usize = r#"{"jobs":[]}"#.len();

/// A job as it is written, with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its line in the file, or its place in the array; from 1.
    pub place: usize,
    /// The request.
    pub text: String,
}

/// Why a file is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    word: &'static str,
    shown: Vec<(usize, String)>,
    more: usize,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, what) in &self.shown {
            write!(f, "\n  {} {place}: {what}", self.word)?;
        }
        if self.more > 0 { write!(f, "\n  and {} more", self.more) } else { Ok(()) }
    }
}

impl Faults {
    fn add(&mut self, place: usize, what: String) {
        if self.shown.len() < FAULTS { self.shown.push((place, what)) } else { self.more += 1 }
    }
}

/// Reads jobs: one a line, or all as the elements of an array. A job without a key of its own gets one that follows
/// from `namespace`, from what the job says and from how many equal ones stand before it: whoever sends it again,
/// whatever else the file has become, sends the same job.
///
/// # Errors
///
/// Where a line is no JSON object, all such lines.
pub fn read(text: &str, namespace: &str) -> Result<Vec<Written>, Faults> {
    let text = text.trim_start_matches('\u{feff}');
    let is_array = text.trim_start().starts_with('[');
    let mut faults = Faults { word: if is_array { "job" } else { "line" }, shown: Vec::new(), more: 0 };
    let whole = is_array.then(|| serde_json::from_str::<Value>(text));
    if let Some(Err(error)) = whole {
        faults.word = "line";
        faults.add(error.line(), format!("no JSON: {error}"));
        return Err(faults);
    }
    let jobs = if is_array { parts(text.trim()) } else { text.lines().collect() };
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut written = Vec::with_capacity(jobs.len());
    for (place, job) in (1..).zip(jobs).filter(|(_, job)| !job.trim().is_empty()) {
        let job = job.trim();
        match check(job) {
            Err(what) => faults.add(place, what),
            Ok(true) => written.push(Written { place, text: job.to_owned() }),
            Ok(false) => {
                let nth = seen.entry(job).and_modify(|count| *count += 1).or_insert(1);
                written.push(Written { place, text: with_key(job, &key(namespace, job, *nth)) });
            }
        }
    }
    if faults.shown.is_empty() { Ok(written) } else { Err(faults) }
}

/// Whether a job has a key of its own.
fn check(job: &str) -> Result<bool, String> {
    if job.len() > REQUEST_BODY_BYTES {
        return Err(format!("{} bytes are more than a job may have, {REQUEST_BODY_BYTES}", job.len()));
    }
    match serde_json::from_str::<Value>(job) {
        Ok(Value::Object(members)) => Ok(members.contains_key("idempotency_key")),
        Ok(_) => Err("expected a job, as {\"task\": \"...\", \"input\": {...}}".to_owned()),
        Err(error) => {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            Err(format!("no JSON: {said} (column {})", error.column()))
        }
    }
}

fn key(namespace: &str, job: &str, nth: usize) -> String {
    let digest = Digest::of(format!("{namespace}\0{job}").as_bytes()).to_string();
    format!("batch-{}-{nth}", digest.get(..32).unwrap_or(&digest))
}

fn with_key(job: &str, key: &str) -> String {
    let rest = job.strip_prefix('{').unwrap_or(job).trim_start();
    let comma = if rest.starts_with('}') { "" } else { "," };
    format!("{{\"idempotency_key\":\"{key}\"{comma}{rest}")
}

/// Parts jobs into calls: as many in each as it may have.
pub fn calls(jobs: &[Written]) -> Vec<Vec<&Written>> {
    let mut calls: Vec<Vec<&Written>> = Vec::new();
    let mut bytes = 0;
    for job in jobs {
        let more = job.text.len() + 1;
        match calls.last_mut() {
            Some(call) if call.len() < BATCH_JOBS && bytes + more <= BATCH_BODY_BYTES => {
                call.push(job);
                bytes += more;
            }
            _ => {
                calls.push(vec![job]);
                bytes = AROUND + more;
            }
        }
    }
    calls
}

/// The body of a call.
pub fn body(jobs: &[&Written]) -> String {
    let texts: Vec<_> = jobs.iter().map(|job| job.text.as_str()).collect();
    format!("{{\"jobs\":[{}]}}", texts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(text: &str) -> Vec<String> {
        read(text, "n").unwrap().into_iter().map(|job| job.text).collect()
    }

    #[test]
    fn a_job_keeps_its_words_and_its_key_follows_from_them() {
        let lines =
            "{\"task\":\"a\",\"x\":1.0}\n\n  {\"task\":\"a\",\"x\":1.0}\r\n{}\n{\"idempotency_key\":\"k\"}\n";
        let jobs = read(lines, "n").unwrap();
        assert_eq!(jobs.iter().map(|job| job.place).collect::<Vec<_>>(), [1, 3, 4, 5]);
        assert!(jobs[0].text.ends_with("-1\",\"task\":\"a\",\"x\":1.0}"), "{}", jobs[0].text);
        assert_eq!(jobs[0].text.replace("-1\"", "-2\""), jobs[1].text, "equal jobs are told apart");
        assert!(serde_json::from_str::<Value>(&jobs[2].text).is_ok(), "{}", jobs[2].text);
        assert_eq!(jobs[3].text, "{\"idempotency_key\":\"k\"}");
        let again = read("{\"task\":\"b\"}\n{\"task\":\"a\",\"x\":1.0}", "n").unwrap();
        assert_eq!(again[1].text, jobs[0].text, "whatever stands before it");
        assert_ne!(read(lines, "m").unwrap()[0].text, jobs[0].text);
    }

    #[test]
    fn an_array_is_the_same_as_lines() {
        let lines = texts("{\"task\": \"a\"}\n{\"task\": [1, 2]}");
        assert_eq!(texts("\u{feff} [{\"task\": \"a\"},\n {\"task\": [1, 2]} ]\n"), lines);
        assert_eq!(texts("[]"), [] as [String; 0]);
        assert_eq!(texts("\n"), [] as [String; 0]);
    }

    #[test]
    fn what_is_no_job_is_named_with_its_place() {
        let shown = |text: &str| read(text, "n").unwrap_err().to_string();
        let lines = shown("{\"task\":\"a\"}\n{\"task\":\n7\n");
        assert!(lines.starts_with("\n  line 2: no JSON: EOF"), "{lines}");
        assert!(lines.contains("\n  line 3: expected a job"), "{lines}");
        assert!(shown("[{}, 1]").starts_with("\n  job 2: expected a job"));
        assert!(shown("[{},\n}").starts_with("\n  line 2: no JSON"));
        assert!(shown(&"x\n".repeat(22)).ends_with("\n  and 2 more"));
    }

    #[test]
    fn calls_are_as_full_as_they_may_be() {
        let many: Vec<_> = (1..=2_500).map(|place| Written { place, text: "{}".to_owned() }).collect();
        assert_eq!(calls(&many).iter().map(Vec::len).collect::<Vec<_>>(), [1_000, 1_000, 500]);
        let text = format!("\"{}\"", "x".repeat(BATCH_BODY_BYTES / 3));
        let large: Vec<_> = (1..=4).map(|place| Written { place, text: text.clone() }).collect();
        let calls = calls(&large);
        assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert!(calls.iter().all(|call| body(call).len() <= BATCH_BODY_BYTES));
        assert_eq!(
            serde_json::from_str::<Value>(&body(&calls[0][..1])).unwrap(),
            json!({"jobs": ["x".repeat(BATCH_BODY_BYTES / 3)]})
        );
    }
}
