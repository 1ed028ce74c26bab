//! The closed list of problem codes: what each one means, and what to do about it.

use http::StatusCode;

/// What went wrong, for programs. The list is closed: whatever a request meets is one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each code is explained in Code::facts, which is what callers read")]
pub enum Code {
    InvalidJson,
    InvalidMember,
    MissingMember,
    UnknownMember,
    UnknownTask,
    InvalidParameter,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    UnsupportedMediaType,
    RequestTimeout,
    TooLarge,
    IdempotencyKeyReused,
    Conflict,
    NotFinished,
    NoResult,
    QuotaExceeded,
    RateLimited,
    BudgetExhausted,
    Overloaded,
    Internal,
}

/// One row of the table of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The name in the API and in the address of its page.
    pub name: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// The same for every problem of the code.
    pub title: &'static str,
    /// What leads to it.
    pub cause: &'static str,
    /// What the caller can do.
    pub fix: &'static str,
    /// The `type` of the `error` member that OpenAI's clients read.
    pub openai_type: &'static str,
}

const INVALID_REQUEST: &str = "invalid_request_error";
const REQUESTS: &str = "requests";
const INSUFFICIENT_QUOTA: &str = "insufficient_quota";
const SERVER_ERROR: &str = "server_error";

const fn row(
    name: &'static str,
    status: StatusCode,
    openai_type: &'static str,
    title: &'static str,
    cause: &'static str,
    fix: &'static str,
) -> Facts {
    Facts { name, status, title, cause, fix, openai_type }
}

impl Code {
    /// Every code, in the order of the documentation.
    pub const ALL: [Code; 23] = [
        Code::InvalidJson,
        Code::InvalidMember,
        Code::MissingMember,
        Code::UnknownMember,
        Code::UnknownTask,
        Code::InvalidParameter,
        Code::Unauthorized,
        Code::Forbidden,
        Code::NotFound,
        Code::MethodNotAllowed,
        Code::NotAcceptable,
        Code::UnsupportedMediaType,
        Code::RequestTimeout,
        Code::TooLarge,
        Code::IdempotencyKeyReused,
        Code::Conflict,
        Code::NotFinished,
        Code::NoResult,
        Code::QuotaExceeded,
        Code::RateLimited,
        Code::BudgetExhausted,
        Code::Overloaded,
        Code::Internal,
    ];

    /// The name in the API.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The code of that name.
    pub fn from_name(name: &str) -> Option<Code> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// What a caller needs to know about the code.
    #[allow(clippy::too_many_lines, reason = "a table")]
    pub const fn facts(self) -> Facts {
        const BAD: StatusCode = StatusCode::BAD_REQUEST;
        match self {
            Code::InvalidJson => row(
                "invalid_json",
                BAD,
                INVALID_REQUEST,
                "The body is not the JSON that is expected",
                "The body breaks the grammar of JSON, names a member twice, holds a number that would lose digits, or is nested too deeply.",
                "Correct the body at the position that `detail` names. Send UTF-8 without a byte order mark, and large integers as strings.",
            ),
            Code::InvalidMember => row(
                "invalid_member",
                BAD,
                INVALID_REQUEST,
                "A member has a value that is not allowed",
                "At least one member of the body has a value of another type, outside its range, or that does not fit the others.",
                "Each entry of `errors` has the JSON pointer of a member and says what is allowed there.",
            ),
            Code::MissingMember => row(
                "missing_member",
                BAD,
                INVALID_REQUEST,
                "A required member is missing",
                "The body lacks a member without which the request has no meaning.",
                "Add the members that `errors` points to.",
            ),
            Code::UnknownMember => row(
                "unknown_member",
                BAD,
                INVALID_REQUEST,
                "A member is not known",
                "The body has a member that nothing reads. It is refused rather than ignored, because it may be a misspelt one.",
                "Correct the name of the members that `errors` points to, or leave them out.",
            ),
            Code::UnknownTask => row(
                "unknown_task",
                BAD,
                INVALID_REQUEST,
                "There is no such task",
                "The definitions have no task of that name, or the pinned revision has none.",
                "See GET /v1/tasks for the tasks there are, or have the task defined and applied.",
            ),
            Code::InvalidParameter => row(
                "invalid_parameter",
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "A parameter is not allowed",
                "A query parameter or a header has a value that is not allowed, is given twice, or is not known; or a cursor was not made by this server for this list.",
                "`errors` names the parameter and says what is allowed. Use a cursor exactly as it was given.",
            ),
            Code::Unauthorized => row(
                "unauthorized",
                StatusCode::UNAUTHORIZED,
                INVALID_REQUEST,
                "There is no valid key",
                "The request has no key, or one that is not known, has expired, or was revoked.",
                "Send `Authorization: Bearer fbk_...` with a key that works. An admin of the tenant makes one with POST /v1/keys.",
            ),
            Code::Forbidden => row(
                "forbidden",
                StatusCode::FORBIDDEN,
                INVALID_REQUEST,
                "The key may not do this",
                "The key works, but lacks the scope that `detail` names, or its tenant may not do this.",
                "Use a key with that scope.",
            ),
            Code::NotFound => row(
                "not_found",
                StatusCode::NOT_FOUND,
                INVALID_REQUEST,
                "There is nothing here",
                "The address or the id is not known to the tenant of the key. What belongs to another tenant looks the same as what does not exist.",
                "Check the id, the address, and whose key is sent.",
            ),
            Code::MethodNotAllowed => row(
                "method_not_allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                INVALID_REQUEST,
                "The address does not take this method",
                "The address exists, but not with this method.",
                "Use one of the methods in the header `Allow`.",
            ),
            Code::NotAcceptable => row(
                "not_acceptable",
                StatusCode::NOT_ACCEPTABLE,
                INVALID_REQUEST,
                "None of the accepted media types can be sent",
                "The header `Accept` rules out what the address answers with.",
                "Leave `Accept` out, or name the media type that `detail` says.",
            ),
            Code::UnsupportedMediaType => row(
                "unsupported_media_type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                INVALID_REQUEST,
                "The body's media type or encoding is not read here",
                "The header `Content-Type` or `Content-Encoding` names something that the address does not read.",
                "Send what `detail` says; compress with gzip or not at all.",
            ),
            Code::RequestTimeout => row(
                "request_timeout",
                StatusCode::REQUEST_TIMEOUT,
                INVALID_REQUEST,
                "The body took too long",
                "The body of the request was not complete in time.",
                "Send it again; over a slow line, compress it.",
            ),
            Code::TooLarge => row(
                "too_large",
                StatusCode::PAYLOAD_TOO_LARGE,
                INVALID_REQUEST,
                "The request is too large",
                "The head, the body, or what the body becomes by decompression is larger than allowed.",
                "Stay below the limit in `detail`. Upload large inputs with POST /v1/documents and refer to them.",
            ),
            Code::IdempotencyKeyReused => row(
                "idempotency_key_reused",
                StatusCode::CONFLICT,
                INVALID_REQUEST,
                "The idempotency key stands for another request",
                "A job was accepted under this key for a request with other content. Nothing was changed.",
                "Use a new key for a new request. To repeat a request, send exactly the same one.",
            ),
            Code::Conflict => row(
                "conflict",
                StatusCode::CONFLICT,
                INVALID_REQUEST,
                "The object's state does not allow this",
                "The object has changed or ended in a way that does not go together with the request. Nothing was changed.",
                "Read the object again and decide anew.",
            ),
            Code::NotFinished => row(
                "not_finished",
                StatusCode::CONFLICT,
                INVALID_REQUEST,
                "The job has no result yet",
                "The job is still to be run, is running, or waits for a person's decision.",
                "Wait for it: GET /v1/jobs/{job_id} with `Prefer: wait=60`, or its event stream.",
            ),
            Code::NoResult => row(
                "no_result",
                StatusCode::CONFLICT,
                INVALID_REQUEST,
                "The job ended without a result",
                "The job failed or was cancelled.",
                "Its `failure` says why. Submit it again once the cause is gone.",
            ),
            Code::QuotaExceeded => row(
                "quota_exceeded",
                StatusCode::TOO_MANY_REQUESTS,
                REQUESTS,
                "The tenant's quota is used up",
                "The tenant has as many unfinished jobs or open streams as it may.",
                "Try again after the time in `Retry-After`, let jobs finish, or have the quota raised.",
            ),
            Code::RateLimited => row(
                "rate_limited",
                StatusCode::TOO_MANY_REQUESTS,
                REQUESTS,
                "Too many requests",
                "More jobs are handed in than the tenant, the key or the `user` of the request may in a minute.",
                "Try again after the time in `Retry-After`.",
            ),
            Code::BudgetExhausted => row(
                "budget_exhausted",
                StatusCode::TOO_MANY_REQUESTS,
                INSUFFICIENT_QUOTA,
                "The tenant's budget is used up",
                "What is left of the budget can't pay for the first call of the job, and its task says to refuse it then.",
                "Wait for the next period of the budget, or have it raised.",
            ),
            Code::Overloaded => row(
                "overloaded",
                StatusCode::SERVICE_UNAVAILABLE,
                SERVER_ERROR,
                "The server can't take this at the moment",
                "The system has as many unfinished jobs as it takes, its store can't take writes, or it is stopping.",
                "Try again after the time in `Retry-After`, with the same idempotency key.",
            ),
            Code::Internal => row(
                "internal",
                StatusCode::INTERNAL_SERVER_ERROR,
                SERVER_ERROR,
                "Something went wrong inside",
                "A fault of the server's own. The details are in its log under the request id.",
                "Try again with the same idempotency key; if it stays, report the request id.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_row() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert!(names.iter().all(|name| Code::from_name(name).is_some()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn the_statuses_are_those_of_the_contract() {
        let table: Vec<String> = Code::ALL
            .iter()
            .map(|code| format!("{} {}", code.name(), code.facts().status.as_u16()))
            .collect();
        assert_eq!(
            table.join("\n"),
            "invalid_json 400\ninvalid_member 400\nmissing_member 400\nunknown_member 400\nunknown_task 400\n\
             invalid_parameter 400\nunauthorized 401\nforbidden 403\nnot_found 404\nmethod_not_allowed 405\n\
             not_acceptable 406\nunsupported_media_type 415\nrequest_timeout 408\ntoo_large 413\n\
             idempotency_key_reused 409\nconflict 409\nnot_finished 409\nno_result 409\nquota_exceeded 429\n\
             rate_limited 429\nbudget_exhausted 429\noverloaded 503\ninternal 500"
        );
    }
}
