//! What the server says when it does not do what it was asked, and how a person reads it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A problem of RFC 9457, with the members that Forebay adds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Problem {
    /// The page that explains it: `/problems/<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What kind of problem.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Its code, from the closed list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Names the request in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Which members are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<MemberProblem>,
}

/// A member that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct MemberProblem {
    /// The JSON Pointer of the member, where it is about the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The query parameter or header, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The line in a text that was sent, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// What is wrong with it.
    pub message: String,
}

impl Problem {
    /// The problem in a server's answer; where the answer holds none, one made of its status.
    pub fn of(status: http::StatusCode, body: &[u8], request_id: Option<&str>) -> Self {
        let read: Problem = serde_json::from_slice(body).unwrap_or_default();
        let title = if read.title.is_empty() { plain_title(status) } else { read.title };
        let detail = read.detail.or_else(|| plain_detail(body));
        let request_id = read.request_id.or_else(|| request_id.map(str::to_owned));
        Self { status: status.as_u16(), title, detail, request_id, ..read }
    }

    /// The same, naming what was asked for where the server, which must not tell what there is, names nothing.
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        if self.is("not_found") && self.detail.as_deref().is_none_or(|detail| detail.contains("nothing here"))
        {
            self.detail = Some(format!("{path} is nothing that this key can see"));
        }
        self
    }

    /// Whether the code is this one.
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// What to do about it, where that is more than reading the message.
    fn fix(&self) -> Option<&'static str> {
        let Some(code) = self.code.as_deref() else {
            return Some(
                "Forebay does not answer so: check FOREBAY_URL, and what stands between here and the server",
            );
        };
        Some(match code {
            "unauthorized" => {
                "set FOREBAY_KEY to a key of this server (`forebay key create`), or run the command beside the \
                 server's database so that the key of its first start is found"
            }
            "forbidden" => {
                "use a key with the scope that the message names (`forebay key create --scope ...`)"
            }
            "unknown_task" => {
                "`forebay apply FILE` applies definitions with the task; a name is case-sensitive"
            }
            "idempotency_key_reused" => "take another --idempotency-key, or send exactly what was sent first",
            "quota_exceeded" => "wait for jobs to finish, or raise the limit: `forebay tenant put NAME ...`",
            "budget_exhausted" => {
                "wait for the next period, or raise the budget: `forebay tenant put NAME --budget ...`"
            }
            "rate_limited" | "overloaded" => "try again in a while",
            "too_large" => "send a smaller file; docs/limits.md lists what is allowed",
            "not_finished" => "wait for the job: `forebay watch JOB`",
            "no_result" => "see why: `forebay get JOB`",
            "internal" => "look up the request id in the server's log",
            _ => return None,
        })
    }
}

fn plain_title(status: http::StatusCode) -> String {
    status.canonical_reason().unwrap_or("an answer without a name").to_owned()
}

/// What something between here and the server may have said in its own words.
fn plain_detail(body: &[u8]) -> Option<String> {
    let text = forebay_core::text::lossy(body, 200);
    let text = text.trim();
    (!text.is_empty() && !text.starts_with(['{', '<'])).then(|| text.to_owned())
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        // Where the detail only says what the members say, they say it at their places.
        let is_said = |detail: &str| self.errors.iter().any(|member| detail.contains(&member.message));
        if let Some(detail) =
            self.detail.as_deref().filter(|detail| *detail != self.title && !is_said(detail))
        {
            write!(f, ": {detail}")?;
        }
        for member in &self.errors {
            write!(f, "\n  {member}")?;
        }
        if let Some(fix) = self.fix() {
            write!(f, "\n  fix: {fix}")?;
        }
        let code = self.code.as_deref().unwrap_or("no code");
        write!(f, "\n  ({}, {code}", self.status)?;
        if let Some(request_id) = &self.request_id {
            write!(f, ", request {request_id}")?;
        }
        write!(f, ")")
    }
}

impl fmt::Display for MemberProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.pointer.as_deref().or(self.parameter.as_deref());
        match (name, self.line, self.column) {
            (Some(""), None, _) => write!(f, "(the whole request): ")?,
            (Some(name), None, _) => write!(f, "{name}: ")?,
            (None | Some(""), Some(line), column) => write!(f, "{line}:{}: ", column.unwrap_or(1))?,
            (Some(name), Some(line), column) => write!(f, "{line}:{}: {name}: ", column.unwrap_or(1))?,
            (None, None, _) => {}
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    fn shown(status: StatusCode, body: &str) -> String {
        Problem::of(status, body.as_bytes(), Some("req_9")).to_string()
    }

    #[test]
    fn a_problem_says_what_where_and_how_to_fix_it() {
        let body = r#"{"type":"/problems/unknown_member","title":"Unknown member","status":400,"code":"unknown_member",
            "detail":"2 members are not known","request_id":"req_1","errors":[
            {"pointer":"/deadine","message":"did you mean deadline?"},{"pointer":"","message":"not an object"},
            {"parameter":"limit","message":"more than 200"},{"line":3,"column":9,"message":"expected a comma"}]}"#;
        insta::assert_snapshot!(shown(StatusCode::BAD_REQUEST, body), @r"
        Unknown member: 2 members are not known
          /deadine: did you mean deadline?
          (the whole request): not an object
          limit: more than 200
          3:9: expected a comma
          (400, unknown_member, request req_1)
        ");
        let body = r#"{"title":"Unknown task","detail":"there is no task `invoise`","code":"unknown_task"}"#;
        insta::assert_snapshot!(shown(StatusCode::NOT_FOUND, body), @r"
        Unknown task: there is no task `invoise`
          fix: `forebay apply FILE` applies definitions with the task; a name is case-sensitive
          (404, unknown_task, request req_9)
        ");
    }

    #[test]
    fn nothing_is_said_twice() {
        let body = r#"{"title":"Unknown member","code":"unknown_member","detail":"/deadine: there is no such member",
            "errors":[{"pointer":"/deadine","message":"there is no such member"}]}"#;
        insta::assert_snapshot!(shown(StatusCode::BAD_REQUEST, body), @r"
        Unknown member
          /deadine: there is no such member
          (400, unknown_member, request req_9)
        ");
    }

    #[test]
    fn an_answer_that_is_no_problem_is_shown_as_far_as_it_goes() {
        insta::assert_snapshot!(shown(StatusCode::BAD_GATEWAY, "<html>bad gateway</html>"), @r"
        Bad Gateway
          fix: Forebay does not answer so: check FOREBAY_URL, and what stands between here and the server
          (502, no code, request req_9)
        ");
        insta::assert_snapshot!(shown(StatusCode::FORBIDDEN, "blocked by\u{1b}[2J policy\n"), @r"
        Forbidden: blocked by␛[2J policy
          fix: Forebay does not answer so: check FOREBAY_URL, and what stands between here and the server
          (403, no code, request req_9)
        ");
    }
}
