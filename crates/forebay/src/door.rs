//! The way in over HTTP: what the API hands over, [`crate::accept`] takes.

use async_trait::async_trait;
use bytes::Bytes;
use forebay_core::id::JobId;
use forebay_store::record::Accepted;

use crate::accept::{self, Caller, Many, Refused, Taken, Wish};
use crate::app::App;
use crate::http::{Intake, Principal, Problem, RequestId};

/// Takes jobs in for the API.
pub struct Door {
    app: App,
}

impl Door {
    /// A door of the running service.
    pub fn new(app: App) -> Self {
        Self { app }
    }
}

#[async_trait]
impl Intake for Door {
    async fn submit(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        body: Bytes,
    ) -> Result<Accepted, Problem> {
        let accepted = accept::submit(&self.app, caller(principal), idempotency_key, &body).await?;
        if !accepted.replayed {
            self.app.metrics.accepted();
        }
        Ok(accepted)
    }

    async fn replay(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        job: JobId,
        wish: Wish,
    ) -> Result<Accepted, Problem> {
        let accepted = accept::replay(&self.app, caller(principal), idempotency_key, job, &wish).await?;
        if !accepted.replayed {
            self.app.metrics.accepted();
            self.app.metrics.replayed(1);
        }
        Ok(accepted)
    }

    async fn submit_batch(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        request: &RequestId,
        body: Bytes,
    ) -> Result<Taken, Problem> {
        let explain = |refused| worded(refused, request);
        let taken =
            accept::submit_batch(&self.app, caller(principal), idempotency_key, &body, &explain).await?;
        self.app.metrics.accepted_many(taken.accepted);
        Ok(taken)
    }

    async fn replay_many(
        &self,
        principal: &Principal,
        idempotency_key: Option<String>,
        request: &RequestId,
        many: Many,
    ) -> Result<Taken, Problem> {
        let explain = |refused| worded(refused, request);
        let taken =
            accept::replay_many(&self.app, caller(principal), idempotency_key, &many, &explain).await?;
        self.app.metrics.accepted_many(taken.accepted);
        self.app.metrics.replayed(taken.accepted);
        Ok(taken)
    }
}

fn caller(principal: &Principal) -> Caller {
    Caller { tenant: principal.tenant, key_id: Some(principal.key_id) }
}

/// A member's refusal, as its own call would have been answered.
fn worded(refused: Refused, request: &RequestId) -> (u16, String) {
    let body = Problem::from(refused).body(&request.0);
    // Every member is text or a number, so that writing it to memory can't fail.
    (body.status, serde_json::to_string(&body).unwrap_or_default())
}
