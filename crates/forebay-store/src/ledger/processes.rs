//! The processes that work on a store.

use async_trait::async_trait;
use forebay_core::id::ProcessId;
use forebay_core::time::Millis;
use serde_json::json;

use super::columns::{Columns, int};
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, sql};
use crate::record::{ProcessRecord, ProcessReport};
use crate::{Processes, StoreError};

/// Who was not heard of for so long is forgotten.
const FORGOTTEN: Millis = Millis::from_secs(3_600);

#[async_trait]
impl<B: Backend> Processes for Ledger<B> {
    async fn report(&self, report: ProcessReport) -> Result<(), StoreError> {
        self.write("report", Needs::nothing(), move |tx| write(tx, &report)).await
    }

    async fn sign_off(&self, who: ProcessId) -> Result<(), StoreError> {
        self.write("sign_off", Needs::nothing(), move |tx| {
            tx.execute(sql!("processes/delete"), [who.as_bytes()]).map(drop)
        })
        .await
    }

    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError> {
        self.read(|tx| {
            let forgotten = tx.now.before(FORGOTTEN).as_millis();
            tx.rows(sql!("processes/list"), (forgotten, tx.now.as_millis()), record)
        })
        .await
    }
}

fn write(tx: &Tx<'_>, report: &ProcessReport) -> Result<(), StoreError> {
    let list = |names: &Option<Vec<String>>| names.as_ref().map(|names| json!(names).to_string());
    tx.execute(
        sql!("processes/report"),
        params! {
            ":id": report.id.as_bytes(),
            ":name": report.name,
            ":build": report.build,
            ":roles": report.roles.join(" "),
            ":slots": int(report.slots),
            ":pools": list(&report.pools),
            ":tasks": list(&report.tasks),
            ":in_hand": int(report.in_hand),
            ":started_at": report.started_at.as_millis(),
            ":now": tx.now.as_millis(),
        },
    )?;
    tx.execute(sql!("processes/forget"), [tx.now.before(FORGOTTEN).as_millis()]).map(drop)
}

fn record(c: &mut Columns<'_>) -> Result<ProcessRecord, StoreError> {
    let report = ProcessReport {
        id: c.id()?,
        name: c.get()?,
        build: c.get()?,
        roles: words(c)?,
        slots: c.count()?,
        pools: names(c)?,
        tasks: names(c)?,
        in_hand: c.count()?,
        started_at: c.time()?,
    };
    Ok(ProcessRecord { report, heard_at: c.time()?, leads: words(c)? })
}

/// Names with a space between.
fn words(c: &mut Columns<'_>) -> Result<Vec<String>, StoreError> {
    let names: Option<String> = c.get()?;
    Ok(names.unwrap_or_default().split_whitespace().map(str::to_owned).collect())
}

fn names(c: &mut Columns<'_>) -> Result<Option<Vec<String>>, StoreError> {
    let names = c.maybe_json()?.map(serde_json::from_value).transpose();
    names.map_err(|error| StoreError::Corrupt(format!("a process is restricted to something odd: {error}")))
}
