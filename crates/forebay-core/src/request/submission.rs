//! One submitted job, as the caller wrote it and as it is hashed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::job::Priority;
use crate::limits::{KEY_CHARS, METADATA_KEY_CHARS, METADATA_MEMBERS, METADATA_VALUE_CHARS};
use crate::request::canonical;
use crate::request::fault::{Faults, MemberFault, child};
use crate::request::idempotency;
use crate::request::input::Input;
use crate::request::members::{Members, kind, quoted, whole_number};
use crate::request::stored::write_members;
use crate::time::{Millis, Timestamp};

/// What a caller asks for when it submits a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Which task, and which revision of it where the caller pinned one.
    pub task: TaskRef,
    /// What the job works on.
    pub input: Input,
    /// Parameters of the model call; which ones are allowed, the task says.
    pub params: Map<String, Value>,
    /// Until when machines may work on it (`deadline` or `ttl_ms`); the task's default where absent.
    pub deadline: Option<When>,
    /// From when on it may run (`not_before` or `delay_ms`); at once where absent.
    pub not_before: Option<When>,
    /// How urgent it is. Default normal.
    pub priority: Priority,
    /// Jobs of one tenant, task and ordering key run one at a time, in the order of acceptance.
    pub ordering_key: Option<String>,
    /// What every event of the job carries as `correlationid`.
    pub correlation_id: Option<String>,
    /// The caller's own words, given back with the job.
    pub metadata: BTreeMap<String, String>,
    /// Whom the caller acts for. It is counted by, and is no part of the job.
    pub user: Option<String>,
    /// Which version of which document it is about.
    pub series: Option<Series>,
    /// The key of one job of a batch; a single job has its key in a header.
    pub idempotency_key: Option<String>,
}

/// A point in time as a caller says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this time.
    At(Timestamp),
    /// So long after the job is accepted.
    In(Millis),
}

impl When {
    /// The time that is meant by a job accepted at `now`.
    pub const fn seen_from(self, now: Timestamp) -> Timestamp {
        match self {
            When::At(at) => at,
            When::In(span) => now.after(span),
        }
    }
}

/// One version of something that has several over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// Names the thing.
    pub key: String,
    /// Rises with each version; at least 0.
    pub version: u64,
}

/// A task by name, pinned to a revision of the definitions or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskRef {
    /// The task's name.
    pub name: String,
    /// The pinned revision; the active one where absent.
    pub revision: Option<u32>,
}

/// Characters of a task's name.
const TASK_NAME_CHARS: usize = 64;

/// Whether a text can be the name of a task, a model or another definition: `[a-z0-9][a-z0-9._-]{0,63}`.
pub fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let goes_on = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'));
    starts && goes_on && text.len() <= TASK_NAME_CHARS
}

/// The text names no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a task is `name` or `name@revision`: lower-case letters, digits, `.`, `_` and `-`, then a number from 1"
)]
pub struct NotATask;

impl FromStr for TaskRef {
    type Err = NotATask;

    fn from_str(text: &str) -> Result<Self, NotATask> {
        let (name, revision) = match text.split_once('@') {
            Some((name, revision)) => (name, Some(revision_number(revision)?)),
            None => (text, None),
        };
        if is_name(name) { Ok(Self { name: name.to_owned(), revision }) } else { Err(NotATask) }
    }
}

/// A revision in its one spelling: a task that can be written in two ways has two hashes.
fn revision_number(text: &str) -> Result<u32, NotATask> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| digits).ok_or(NotATask)
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.revision {
            Some(revision) => write!(f, "{}@{revision}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The members of a submission; a job of a batch has `idempotency_key` too.
const MEMBERS: [&str; 14] = [
    "task",
    "input",
    "params",
    "deadline",
    "ttl_ms",
    "not_before",
    "delay_ms",
    "priority",
    "ordering_key",
    "correlation_id",
    "metadata",
    "series",
    "user",
    "idempotency_key",
];

impl Submission {
    /// Reads the body of a single submission.
    ///
    /// # Errors
    ///
    /// Every fault of it, up to fifty.
    pub fn parse(value: Value) -> Result<Self, Vec<MemberFault>> {
        Self::read(value, &MEMBERS[..MEMBERS.len() - 1])
    }

    /// Reads one job of a batch, which may have an `idempotency_key` of its own.
    ///
    /// # Errors
    ///
    /// Every fault of it, up to fifty.
    pub fn parse_in_batch(value: Value) -> Result<Self, Vec<MemberFault>> {
        Self::read(value, &MEMBERS)
    }

    fn read(value: Value, known: &[&str]) -> Result<Self, Vec<MemberFault>> {
        let mut faults = Faults::default();
        let submission = Members::of(value, "", &mut faults).and_then(|members| Self::take(members, known));
        match submission {
            Some(submission) if faults.is_empty() => Ok(submission),
            _ => Err(faults.into_vec()),
        }
    }

    /// Takes every member; `None` means that there are faults, but there may be faults beside a submission.
    fn take(mut members: Members<'_>, known: &[&str]) -> Option<Self> {
        let task = take_task(&mut members);
        let input = take_input(&mut members);
        let params = take_params(&mut members);
        let deadline = take_when(&mut members, "deadline", "ttl_ms", 1);
        let not_before = take_when(&mut members, "not_before", "delay_ms", 0);
        let priority = take_priority(&mut members);
        let ordering_key = members.key("ordering_key", KEY_CHARS);
        let correlation_id = members.key("correlation_id", KEY_CHARS);
        let metadata = take_metadata(&mut members);
        let series = take_series(&mut members);
        let user = members.key("user", KEY_CHARS);
        let batch = known.contains(&"idempotency_key");
        let idempotency_key = if batch { take_key(&mut members) } else { None };
        members.refuse_rest(known);
        Some(Self {
            task: task?,
            input: input?,
            params,
            deadline,
            not_before,
            priority,
            ordering_key,
            correlation_id,
            metadata,
            series,
            user,
            idempotency_key,
        })
    }

    /// The digest of what the caller asked for: task as written, input, parameters and series in the normal
    /// form. Deadline, priority, metadata and the other members about how, not what, are no part of it.
    pub fn body_digest(&self) -> Digest {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        write_members(&mut out, &self.input, &self.params);
        if let Some(series) = &self.series {
            out.extend_from_slice(b",\"series\":{\"key\":");
            canonical::write_string(&mut out, &series.key);
            out.extend_from_slice(format!(",\"version\":{}}}", series.version).as_bytes());
        }
        out.extend_from_slice(b",\"task\":");
        canonical::write_string(&mut out, &self.task.to_string());
        out.push(b'}');
        Digest::of(&out)
    }

    /// What the store keeps of it for the worker: the normal form of input and parameters, to be read by
    /// [`StoredRequest::read`](crate::request::StoredRequest::read).
    pub fn stored(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        write_members(&mut out, &self.input, &self.params);
        out.push(b'}');
        out
    }
}

/// The hash by which a repeated idempotency key is recognised as the same request or another: what the caller
/// asked for, under the task as it was defined.
pub fn request_digest(task: Digest, body: Digest) -> Digest {
    Digest::of_parts(&[task.as_bytes(), body.as_bytes()])
}

fn take_task(members: &mut Members<'_>) -> Option<TaskRef> {
    let Some(value) = members.take("task") else {
        members.faults.missing("/task", "`task` says which task to run, by name");
        return None;
    };
    let Value::String(text) = value else {
        members.faults.invalid("/task", format!("`task` has to be a string, not {}", kind(&value)));
        return None;
    };
    text.parse()
        .map_err(|fault: NotATask| members.faults.invalid("/task", format!("{fault}; not {}", quoted(&text))))
        .ok()
}

fn take_input(members: &mut Members<'_>) -> Option<Input> {
    match members.take("input") {
        Some(value) => Input::read(value, "/input", members.faults),
        None => {
            members.faults.missing("/input", "`input` says what the job works on");
            None
        }
    }
}

fn take_params(members: &mut Members<'_>) -> Map<String, Value> {
    match members.take("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(other) => {
            members.faults.invalid("/params", format!("`params` has to be an object, not {}", kind(&other)));
            Map::new()
        }
    }
}

/// Takes a point in time that has two spellings, of which one may be given.
fn take_when(members: &mut Members<'_>, at: &str, span: &str, least: i64) -> Option<When> {
    let before = members.faults.len();
    let point = take_time(members, at);
    let given = point.is_some() || members.faults.len() > before;
    if given && members.take(span).is_some() {
        members.faults.invalid(members.at(span), format!("give `{at}` or `{span}`, not both"));
        return None;
    }
    point.map(When::At).or_else(|| members.millis(span, least).map(When::In))
}

fn take_time(members: &mut Members<'_>, name: &str) -> Option<Timestamp> {
    let text = members.string(name)?;
    let time = text.parse().ok();
    if time.is_none() {
        let form = "a time as RFC 3339 writes it, with an offset, like 2026-12-01T10:00:00.000Z";
        members.faults.invalid(members.at(name), format!("`{name}` has to be {form}, not {}", quoted(&text)));
    }
    time
}

fn take_priority(members: &mut Members<'_>) -> Priority {
    let Some(name) = members.string("priority") else {
        return Priority::default();
    };
    Priority::from_name(&name).unwrap_or_else(|| {
        members
            .faults
            .invalid("/priority", format!("`priority` is high, normal or low, not {}", quoted(&name)));
        Priority::default()
    })
}

fn take_series(members: &mut Members<'_>) -> Option<Series> {
    let value = members.take("series")?;
    let mut series = Members::of(value, "/series", members.faults)?;
    let before = series.faults.len();
    let key = series.key("key", KEY_CHARS);
    let version = series.take("version");
    if key.is_none() && series.faults.len() == before {
        series.faults.missing("/series/key", "`key` names what has versions");
    }
    match &version {
        None => series.faults.missing("/series/version", "`version` says which version it is"),
        Some(value) if whole_number(value).is_none_or(|number| number < 0) => {
            series.faults.invalid("/series/version", "`version` has to be a whole number, at least 0");
        }
        Some(_) => {}
    }
    series.refuse_rest(&["key", "version"]);
    let version = whole_number(&version?).and_then(|number| u64::try_from(number).ok())?;
    Some(Series { key: key?, version })
}

fn take_key(members: &mut Members<'_>) -> Option<String> {
    let key = members.string("idempotency_key")?;
    idempotency::from_member(&key)
        .map_err(|fault| members.faults.invalid("/idempotency_key", fault.to_string()))
        .ok()
}

fn take_metadata(members: &mut Members<'_>) -> BTreeMap<String, String> {
    let Some(value) = members.take("metadata") else {
        return BTreeMap::new();
    };
    let Value::Object(given) = value else {
        members.faults.invalid("/metadata", format!("`metadata` has to be an object, not {}", kind(&value)));
        return BTreeMap::new();
    };
    if given.len() > METADATA_MEMBERS {
        let message = format!("`metadata` has at most {METADATA_MEMBERS} members, not {}", given.len());
        members.faults.invalid("/metadata", message);
        return BTreeMap::new();
    }
    given.into_iter().filter_map(|(name, value)| metadata_member(name, value, members.faults)).collect()
}

fn metadata_member(name: String, value: Value, faults: &mut Faults) -> Option<(String, String)> {
    let pointer = child("/metadata", &name);
    let name_chars = name.chars().count();
    if name_chars == 0 || name_chars > METADATA_KEY_CHARS || name.chars().any(char::is_control) {
        let rule = format!("1 to {METADATA_KEY_CHARS} characters, none of them a control character");
        faults.invalid(pointer, format!("the name of a metadata member has {rule}"));
        return None;
    }
    let Value::String(text) = value else {
        faults.invalid(pointer, format!("a metadata member is a string, not {}", kind(&value)));
        return None;
    };
    // What databases and terminals can't keep is refused rather than changed behind the caller's back.
    let hidden = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    if hidden || text.chars().count() > METADATA_VALUE_CHARS {
        let rule =
            format!("at most {METADATA_VALUE_CHARS} characters and no control characters but line breaks");
        faults.invalid(pointer, format!("a metadata member has {rule} and tabs"));
        return None;
    }
    Some((name, text))
}

#[cfg(test)]
mod tests;
