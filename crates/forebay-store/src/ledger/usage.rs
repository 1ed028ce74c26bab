//! What was used, read from the days that settling adds to. Retention leaves them alone.

use super::columns::{Columns, limit};
use super::sql;
use super::transaction::Tx;
use super::values::params;
use crate::StoreError;
use crate::record::{UsageBy, UsageKey, UsageQuery, UsageRow};

pub(super) fn rows(tx: &Tx<'_>, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError> {
    let after = query.after.as_ref();
    let text = |part: fn(&UsageKey) -> &Option<String>| {
        after.and_then(|key| part(key).as_deref()).unwrap_or_default()
    };
    // Earlier days than that of the row behind which to go on are read no more.
    let from = after.and_then(|key| key.day).unwrap_or(query.from);
    tx.rows(
        sql!("inspect/usage"),
        params! {
            ":by_tenant": query.is_by(UsageBy::Tenant),
            ":by_day": query.is_by(UsageBy::Day),
            ":by_task": query.is_by(UsageBy::Task),
            ":by_model": query.is_by(UsageBy::Model),
            ":by_pool": query.is_by(UsageBy::Pool),
            ":first_tenant": query.tenant.unwrap_or(i64::MIN),
            ":last_tenant": query.tenant.unwrap_or(i64::MAX),
            ":from": from.start_of_day().as_millis(),
            ":to": query.to.start_of_day().as_millis(),
            // Before every row, where there is none.
            ":after_day": after.map_or(-1, |key| key.day.map_or(0, |day| day.as_millis())),
            ":after_name": text(|key| &key.tenant),
            ":after_task": text(|key| &key.task),
            ":after_model": text(|key| &key.model),
            ":after_pool": text(|key| &key.pool),
            ":limit": limit(query.limit),
        },
        |c| row(c, query),
    )
}

fn row(c: &mut Columns<'_>, query: &UsageQuery) -> Result<UsageRow, StoreError> {
    let tenant = Some(c.get()?).filter(|_| query.is_by(UsageBy::Tenant));
    let key = UsageKey {
        tenant,
        day: Some(c.time()?).filter(|_| query.is_by(UsageBy::Day)),
        task: Some(c.get()?).filter(|_| query.is_by(UsageBy::Task)),
        model: Some(c.get()?).filter(|_| query.is_by(UsageBy::Model)),
        pool: Some(c.get()?).filter(|_| query.is_by(UsageBy::Pool)),
    };
    Ok(UsageRow {
        key,
        attempts: c.count()?,
        input_tokens: c.count()?,
        output_tokens: c.count()?,
        cost: c.micros()?,
        uncertain: c.micros()?,
    })
}
