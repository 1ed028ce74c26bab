//! Several submissions in one body: `{"jobs": [...]}`. The whole must be JSON; each job is then read by itself, within
//! the limits of a single submission, so that a fault of one is no fault of its neighbours.

use serde::de::IgnoredAny;

use crate::limits::BATCH_JOBS;
use crate::request::fault::{Faults, MemberFault};
use crate::request::json::place::{named, parts};
use crate::request::json::{self, JsonFault};

/// Why a body is no batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchFault {
    /// It is not JSON.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// It is something else than an object with up to 1,000 jobs.
    #[error("the batch has {} faults", .0.len())]
    Members(Vec<MemberFault>),
}

/// The jobs of a batch, each as it is written.
///
/// # Errors
///
/// When the body is not JSON, or no object with `jobs` and nothing else.
pub fn jobs(body: &[u8]) -> Result<Vec<&str>, BatchFault> {
    let text = json::utf8(body)?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| json::syntax(&error))?;
    let text = text.trim();
    let mut faults = Faults::default();
    let mut jobs = None;
    if text.starts_with('{') {
        for (name, value) in parts(text).into_iter().map(named) {
            match name.as_deref() {
                Some("jobs") if jobs.is_some() => faults.invalid("/jobs", "`jobs` is given twice"),
                Some("jobs") => jobs = Some(value),
                _ => faults.unknown(
                    super::fault::child("", &name.unwrap_or_default()),
                    "there is no such member here; the member is: jobs",
                ),
            }
        }
    } else {
        faults.invalid("", "expected an object");
    }
    let jobs = read(jobs, &mut faults);
    if faults.is_empty() { Ok(jobs) } else { Err(BatchFault::Members(faults.into_vec())) }
}

fn read<'t>(jobs: Option<&'t str>, faults: &mut Faults) -> Vec<&'t str> {
    let Some(jobs) = jobs else {
        faults.missing("/jobs", "`jobs` has the jobs, each as it would be submitted by itself");
        return Vec::new();
    };
    if !jobs.starts_with('[') {
        faults.invalid("/jobs", "`jobs` has to be an array");
        return Vec::new();
    }
    let jobs = parts(jobs);
    if jobs.is_empty() || jobs.len() > BATCH_JOBS {
        faults.invalid("/jobs", format!("`jobs` has to have 1 to {BATCH_JOBS} jobs, not {}", jobs.len()));
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::fault::MemberCode;
    use proptest::prelude::*;

    fn pointers(body: &str) -> Vec<(MemberCode, String)> {
        match jobs(body.as_bytes()) {
            Err(BatchFault::Members(faults)) => {
                faults.into_iter().map(|fault| (fault.code, fault.pointer)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_job_is_given_as_it_is_written() {
        let body = r#" {"jobs" : [ {"a": [1, 2], "b": "],\"}"} , [] ,"x,y", {"c": 1, "c": 2}] } "#;
        let expected = [r#"{"a": [1, 2], "b": "],\"}"}"#, "[]", r#""x,y""#, r#"{"c": 1, "c": 2}"#];
        assert_eq!(jobs(body.as_bytes()).unwrap(), expected);
        assert_eq!(jobs(br#"{"\u006aobs": [1]}"#).unwrap(), ["1"], "a name may be escaped");
        assert_eq!(pointers(r#"{"jobs": [1], "a:b": 2}"#)[0].1, "/a:b");
        assert_eq!(pointers(r#"{"jobs": [1], "\ud800": 2}"#).len(), 1);
    }

    #[test]
    fn what_is_no_batch_is_named() {
        let invalid = |pointer: &str| (MemberCode::InvalidMember, pointer.to_owned());
        assert_eq!(pointers("[]")[0], invalid(""));
        assert_eq!(pointers("{}"), [(MemberCode::MissingMember, "/jobs".to_owned())]);
        assert_eq!(pointers(r#"{"jobs": {}}"#), [invalid("/jobs")]);
        assert_eq!(pointers(r#"{"jobs": []}"#), [invalid("/jobs")]);
        assert_eq!(pointers(r#"{"jobs": [1], "jobs": [2]}"#), [invalid("/jobs")]);
        let unknown = (MemberCode::UnknownMember, "/job~1s".to_owned());
        assert_eq!(pointers(r#"{"jobs": [1], "job/s": [2]}"#), [unknown]);
        for broken in ["", "{", r#"{"jobs": [1,]}"#, r#"{"jobs": [}"#, "{} {}", "\u{feff}{}"] {
            assert!(matches!(jobs(broken.as_bytes()), Err(BatchFault::Json(_))), "{broken}");
        }
    }

    #[test]
    fn a_batch_has_its_jobs_and_not_one_more() {
        let body = |count: usize| format!(r#"{{"jobs": [{}]}}"#, vec!["{}"; count].join(","));
        assert_eq!(jobs(body(BATCH_JOBS).as_bytes()).unwrap().len(), BATCH_JOBS);
        assert_eq!(pointers(&body(BATCH_JOBS + 1)), [(MemberCode::InvalidMember, "/jobs".to_owned())]);
    }

    proptest! {
        #[test]
        fn what_is_cut_reads_as_what_was_written(texts in prop::collection::vec(".{0,20}", 1..20)) {
            let values: Vec<_> = texts.iter().map(|text| serde_json::json!({"t": [text, {"[": text}]})).collect();
            let body = serde_json::json!({"jobs": values}).to_string();
            let cut: Vec<serde_json::Value> =
                jobs(body.as_bytes()).unwrap().into_iter().map(|job| serde_json::from_str(job).unwrap()).collect();
            prop_assert_eq!(cut, values);
        }
    }
}
