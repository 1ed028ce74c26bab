//! Tenants and their keys.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use forebay_core::fairness::Weight;
use forebay_core::id::KeyId;
use forebay_core::money::Micros;
use serde_json::{Value, json};

use super::columns::{Columns, int};
use super::signals::new_id;
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, audit, queue, sql};
use crate::record::{
    Actor, AuditAction, BudgetPeriod, KeyRecord, NewKey, Scope, TenantRecord, TenantSettings,
};
use crate::{Access, StoreError};

#[async_trait]
impl<B: Backend> Access for Ledger<B> {
    async fn put_tenant(
        &self,
        name: String,
        settings: TenantSettings,
        by: Actor,
    ) -> Result<TenantRecord, StoreError> {
        self.write("put_tenant", Needs::nothing(), move |tx| put_tenant(tx, &name, &settings, &by)).await
    }

    async fn tenant(&self, name: &str) -> Result<Option<TenantRecord>, StoreError> {
        let name = name.to_owned();
        self.read(move |tx| tenant(tx, &name)).await
    }

    async fn tenants(&self) -> Result<Vec<TenantRecord>, StoreError> {
        self.read(|tx| {
            let names = tx.rows(sql!("tenants/names"), (), |c| c.get::<String>())?;
            Ok(names
                .iter()
                .map(|name| tenant(tx, name))
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect())
        })
        .await
    }

    async fn add_key(&self, key: NewKey, by: Actor) -> Result<KeyRecord, StoreError> {
        self.write("add_key", Needs::nothing(), move |tx| add_key(tx, &key, &by)).await
    }

    async fn add_first_key(&self, key: NewKey, by: Actor) -> Result<Option<KeyRecord>, StoreError> {
        self.write("add_key", Needs::nothing(), move |tx| add_first_key(tx, &key, &by)).await
    }

    async fn key_by_digest(&self, digest: Digest) -> Result<Option<KeyRecord>, StoreError> {
        self.read(move |tx| tx.row(sql!("keys/by_digest"), [digest.as_bytes()], key)).await
    }

    async fn keys(&self, tenant: i64) -> Result<Vec<KeyRecord>, StoreError> {
        self.read(move |tx| tx.rows(sql!("keys/of_tenant"), [tenant], key)).await
    }

    async fn limit_key(
        &self,
        tenant: i64,
        id: KeyId,
        max_in_flight: Option<u64>,
        by: Actor,
    ) -> Result<Option<KeyRecord>, StoreError> {
        let limit = move |tx: &Tx<'_>| limit_key(tx, tenant, id, max_in_flight, &by);
        self.write("limit_key", Needs::nothing(), limit).await
    }

    async fn revoke_key(&self, tenant: i64, id: KeyId, by: Actor) -> Result<Option<KeyRecord>, StoreError> {
        self.write("revoke_key", Needs::nothing(), move |tx| revoke_key(tx, tenant, id, &by)).await
    }
}

fn put_tenant(
    tx: &Tx<'_>,
    name: &str,
    settings: &TenantSettings,
    by: &Actor,
) -> Result<TenantRecord, StoreError> {
    let before = tenant(tx, name)?.map(|tenant| tenant.settings);
    tx.execute(
        sql!("tenants/put"),
        params! {
            ":name": name,
            ":max_pending_jobs": settings.max_pending_jobs.map(int),
            ":max_in_flight": settings.max_in_flight.map(int),
            ":budget_micros": settings.budget.map(|budget| budget.0),
            ":budget_period": settings.budget_period.name(),
            ":weight": int(settings.weight.get()),
            ":now": tx.now.as_millis(),
        },
    )?;
    tx.execute(sql!("tenants/create_load"), [name])?;
    a_limit_changed(tx)?;
    let record = tenant(tx, name)?
        .ok_or_else(|| StoreError::Corrupt("the tenant just written is not there".to_owned()))?;
    if before.as_ref() != Some(settings) {
        let entry = audit::Entry {
            tenant: Some(record.id),
            by,
            action: AuditAction::TenantPut,
            subject: name.to_owned(),
            before: before.as_ref().map(audited_settings),
            after: Some(audited_settings(settings)),
        };
        audit::append(tx, &entry)?;
    }
    Ok(record)
}

/// A higher limit may let waiting jobs go, in whatever pool.
fn a_limit_changed(tx: &Tx<'_>) -> Result<(), StoreError> {
    for pool in tx.rows(sql!("inspect/pool_names"), (), |c| c.get::<String>())? {
        tx.note_pool(&pool);
    }
    Ok(())
}

fn audited_settings(settings: &TenantSettings) -> Value {
    json!({
        "max_pending_jobs": settings.max_pending_jobs,
        "max_in_flight": settings.max_in_flight,
        "budget_micros": settings.budget.map(|budget| budget.0),
        "budget_period": settings.budget_period.name(),
        "weight": settings.weight.get(),
    })
}

fn tenant(tx: &Tx<'_>, name: &str) -> Result<Option<TenantRecord>, StoreError> {
    let found = tx.row(sql!("tenants/by_name"), [name], |c| {
        Ok(TenantRecord {
            id: c.get()?,
            name: c.get()?,
            settings: TenantSettings {
                max_pending_jobs: c.maybe_count()?,
                max_in_flight: c.maybe_count()?,
                budget: c.get::<Option<i64>>()?.map(Micros),
                budget_period: c.word(BudgetPeriod::from_name)?,
                weight: Weight::new(c.count()?).unwrap_or_default(),
            },
            pending_jobs: c.count()?,
            in_flight: c.count()?,
            account: forebay_core::grant::Account::default(),
            created_at: c.time()?,
        })
    })?;
    let Some(mut record) = found else {
        return Ok(None);
    };
    record.account = queue::account(tx, record.id)?.1;
    Ok(Some(record))
}

fn add_key(tx: &Tx<'_>, new: &NewKey, by: &Actor) -> Result<KeyRecord, StoreError> {
    let id: KeyId = new_id(tx.now);
    let scopes = new.scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" ");
    tx.execute(
        sql!("keys/insert"),
        params! {
            ":id": id.as_bytes(),
            ":tenant": new.tenant,
            ":name": new.name,
            ":digest": new.digest.as_bytes(),
            ":hint": new.hint,
            ":scopes": scopes,
            ":lane": lane_of(Some(id)),
            ":max_in_flight": new.max_in_flight.map(int),
            ":now": tx.now.as_millis(),
            ":expires_at": new.expires_at.map(|at| at.as_millis()),
        },
    )?;
    let record = tx
        .row(sql!("keys/by_id"), (new.tenant, id.as_bytes()), key)?
        .ok_or_else(|| StoreError::Corrupt("the key just written is not there".to_owned()))?;
    audit_key(tx, AuditAction::KeyCreate, by, None, &record)?;
    Ok(record)
}

fn add_first_key(tx: &Tx<'_>, new: &NewKey, by: &Actor) -> Result<Option<KeyRecord>, StoreError> {
    tx.row(sql!("tenants/lock"), [new.tenant], |c| c.get::<i64>())?;
    let known = tx.rows(sql!("keys/of_tenant"), [new.tenant], key)?;
    if known.iter().any(|key| key.scopes.contains(&Scope::Admin)) {
        return Ok(None);
    }
    add_key(tx, new, by).map(Some)
}

fn revoke_key(tx: &Tx<'_>, tenant: i64, id: KeyId, by: &Actor) -> Result<Option<KeyRecord>, StoreError> {
    let find = || tx.row(sql!("keys/by_id"), (tenant, id.as_bytes()), key);
    let Some(before) = find()? else {
        return Ok(None);
    };
    let revoked = tx.execute(sql!("keys/revoke"), (tenant, id.as_bytes(), tx.now.as_millis()))?;
    let after = find()?;
    if let Some(after) = after.as_ref().filter(|_| revoked > 0) {
        audit_key(tx, AuditAction::KeyRevoke, by, Some(&before), after)?;
    }
    Ok(after)
}

fn limit_key(
    tx: &Tx<'_>,
    tenant: i64,
    id: KeyId,
    max_in_flight: Option<u64>,
    by: &Actor,
) -> Result<Option<KeyRecord>, StoreError> {
    let find = || tx.row(sql!("keys/by_id"), (tenant, id.as_bytes()), key);
    let Some(before) = find()?.filter(|before| before.max_in_flight != max_in_flight) else {
        return find();
    };
    tx.execute(sql!("keys/limit"), (tenant, id.as_bytes(), max_in_flight.map(int)))?;
    a_limit_changed(tx)?;
    let after = KeyRecord { max_in_flight, ..before.clone() };
    audit_key(tx, AuditAction::KeyPut, by, Some(&before), &after)?;
    Ok(Some(after))
}

fn audit_key(
    tx: &Tx<'_>,
    action: AuditAction,
    by: &Actor,
    before: Option<&KeyRecord>,
    after: &KeyRecord,
) -> Result<(), StoreError> {
    let shown = |key: &KeyRecord| {
        json!({
            "name": key.name,
            "hint": key.hint,
            "scopes": key.scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>(),
            "expires_at": key.expires_at,
            "revoked_at": key.revoked_at,
            "max_in_flight": key.max_in_flight,
        })
    };
    let (subject, before) = (after.id.to_string(), before.map(shown));
    let entry =
        audit::Entry { tenant: Some(after.tenant), by, action, subject, before, after: Some(shown(after)) };
    audit::append(tx, &entry)
}

/// The number of the lane that a key's jobs wait in: made from its id, so that it is the same everywhere. 0 for jobs that no
/// key has handed in.
pub(super) fn lane_of(key: Option<KeyId>) -> i64 {
    key.map_or(0, |key| {
        // The second half of an id is chance.
        let [.., a, b, c, d, e, f, g, h] = *key.as_bytes();
        (i64::from_be_bytes([a, b, c, d, e, f, g, h]) & i64::MAX).max(1)
    })
}

fn key(c: &mut Columns<'_>) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: c.id()?,
        tenant: c.get()?,
        tenant_name: c.get()?,
        name: c.get()?,
        hint: c.get()?,
        // A scope that a newer build knows grants nothing here.
        scopes: c.get::<String>()?.split(' ').filter_map(Scope::from_name).collect(),
        created_at: c.time()?,
        expires_at: c.maybe_time()?,
        revoked_at: c.maybe_time()?,
        max_in_flight: c.maybe_count()?,
        in_flight: c.maybe_count()?.unwrap_or_default(),
    })
}
