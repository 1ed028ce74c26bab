//! What stands between a submitted body and the store.

use async_trait::async_trait;
use bytes::Bytes;
use forebay_core::id::JobId;
use forebay_store::record::Accepted;

use super::auth::Principal;
use super::outer::RequestId;
use super::problem::Problem;
use crate::accept::{Many, Taken, Wish};

/// Takes jobs in: parses strictly, resolves the task, hashes, admits and commits.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Accepts one job for the tenant of `principal`. Returns only after the commit (I2).
    ///
    /// # Errors
    ///
    /// The problem that the caller gets; nothing was written then.
    async fn submit(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        body: Bytes,
    ) -> Result<Accepted, Problem>;

    /// Accepts a job that does the work of a failed one again. Returns only after the commit.
    ///
    /// # Errors
    ///
    /// The problem that the caller gets; nothing was written then.
    async fn replay(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        job: JobId,
        wish: Wish,
    ) -> Result<Accepted, Problem>;

    /// Accepts the jobs of a batch, each by itself. Problems of members name the request.
    ///
    /// # Errors
    ///
    /// When the call as a whole can't be taken in, or not to its end: then the problem says so.
    async fn submit_batch(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        request: &RequestId,
        body: Bytes,
    ) -> Result<Taken, Problem>;

    /// Accepts jobs that do the work of many failed ones again.
    ///
    /// # Errors
    ///
    /// As above.
    async fn replay_many(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        request: &RequestId,
        many: Many,
    ) -> Result<Taken, Problem>;
}
