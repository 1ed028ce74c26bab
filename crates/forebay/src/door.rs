//! The way in over HTTP: what the API hands over, [`crate::accept`] takes.

use async_trait::async_trait;
use bytes::Bytes;
use forebay_core::id::JobId;
use forebay_store::record::Accepted;

use crate::accept::{self, Caller, Wish};
use crate::app::App;
use crate::http::{Intake, Principal, Problem};

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
            self.app.metrics.replayed();
        }
        Ok(accepted)
    }
}

fn caller(principal: &Principal) -> Caller {
    Caller { tenant: principal.tenant, key_id: Some(principal.key_id) }
}
