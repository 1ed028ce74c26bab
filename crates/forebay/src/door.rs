//! The way in over HTTP: what the API hands over, [`crate::accept`] takes.

use async_trait::async_trait;
use bytes::Bytes;
use forebay_store::record::Accepted;

use crate::accept::{self, Caller};
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
        let caller = Caller { tenant: principal.tenant, key_id: Some(principal.key_id) };
        let accepted = accept::submit(&self.app, caller, idempotency_key, &body).await?;
        if !accepted.replayed {
            self.app.metrics.accepted();
        }
        Ok(accepted)
    }
}
