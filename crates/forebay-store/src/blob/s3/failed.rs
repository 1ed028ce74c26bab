//! What went wrong with a bucket, in words for whoever runs it.

use std::error::Error;

use super::S3Bucket;
use crate::StoreError;

/// Characters of an answer that nobody can read.
const UNREAD_CHARS: usize = 200;

/// Whether the service says that it has no such blob; it may also say that it has no such bucket.
pub(super) fn is_absent(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotFound { .. })
        && said(error).is_none_or(|said| said.code == "NoSuchKey")
}

/// Whether the service refused without a word why, as it must where an answer has no body.
pub(super) fn is_silent_refusal(error: &object_store::Error) -> bool {
    innermost(error).starts_with("Server returned non-2xx status code: 4") && said(error).is_none()
}

/// A failure of the service, of the way to it, or of its settings. All of them may be over the next time.
pub(super) fn failed(bucket: &S3Bucket, error: &object_store::Error) -> StoreError {
    let problem = match said(error) {
        Some(Said { code, message }) => match advice(&code) {
            Some(advice) => format!("{advice} ({code}: {message})"),
            None => format!("{code}: {message}"),
        },
        None => innermost(error).chars().take(UNREAD_CHARS).collect(),
    };
    StoreError::Unavailable(format!("{bucket}: {problem}"))
}

fn advice(code: &str) -> Option<&'static str> {
    Some(match code {
        "NoSuchBucket" => "there is no such bucket: create it, or correct the setting `blobs`",
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "InvalidToken"
        | "ExpiredToken"
        | "InvalidClientTokenId" => "the keys are refused: see the setting `blobs_credentials`",
        "AccessDenied" => {
            "the keys are not allowed to do this: they need to get, put, delete and list objects"
        }
        "PermanentRedirect" | "TemporaryRedirect" | "AuthorizationHeaderMalformed" => {
            "the bucket is in another region: see the setting `blobs_region`"
        }
        "RequestTimeTooSkewed" => "the clock of this machine is wrong",
        _ => return None,
    })
}

/// An error answer of S3.
struct Said {
    code: String,
    message: String,
}

fn said(error: &object_store::Error) -> Option<Said> {
    let text = error.to_string();
    let within = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
    };
    Some(Said { code: within("Code")?, message: within("Message").unwrap_or_default() })
}

/// The error behind all others: what they say around it is about the S3 client's own affairs.
fn innermost(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}
