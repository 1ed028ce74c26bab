//! Records, written into a database as rows. What the judge does not read gets some value that the tables take.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::BytesMut;
use forebay_store::postgres::{Target, connect};
use rusqlite::Connection;
use rusqlite::types::ToSqlOutput;
use tokio_postgres::Client;
use tokio_postgres::types::{IsNull, ToSql, Type};

use super::super::records::{Id, Records};
use super::super::rows::Value;
use super::super::{Unreadable, postgres, sqlite};
use crate::runtime::Tasks;
use crate::verify::world::is_terminal;

/// A row for a table: what stands in which column.
type Row = (&'static str, Vec<(&'static str, Value)>);

/// A value of a column.
trait Cell {
    fn value(&self) -> Value;
}

impl Cell for i64 {
    fn value(&self) -> Value {
        Value::Integer(*self)
    }
}

impl Cell for bool {
    fn value(&self) -> Value {
        Value::Integer((*self).into())
    }
}

impl Cell for &str {
    fn value(&self) -> Value {
        Value::Text((*self).to_owned())
    }
}

impl Cell for String {
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Cell for Vec<u8> {
    fn value(&self) -> Value {
        Value::Bytes(self.clone())
    }
}

impl Cell for Id {
    fn value(&self) -> Value {
        Value::Bytes(self.0.to_vec())
    }
}

impl<T: Cell> Cell for Option<T> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Cell::value)
    }
}

/// A row by its columns: `row!("table", row { same, names }, "column" = value, ...)`.
macro_rules! row {
    ($table:literal, $of:ident { $($name:ident),* } $(, $column:literal = $value:expr)* $(,)?) => {
        ($table, vec![$((stringify!($name), $of.$name.value()),)* $(($column, $value.value()),)*])
    };
}

/// Every row that says what the records say.
fn rows(store: &Records) -> Vec<Row> {
    let rows = tenants(store).chain(jobs(store)).chain(journal(store)).chain(attempts(store));
    rows.chain(sums(store)).chain(affairs(store)).chain(batches(store)).collect()
}

/// The number that other tables know a job by.
fn seq(store: &Records, job: Id) -> Option<i64> {
    store.jobs.iter().find(|row| row.id == job).map(|row| row.seq)
}

fn tenants(store: &Records) -> impl Iterator<Item = Row> {
    let meta = row!(
        "meta",
        store { incarnation },
        "id" = 1,
        "store_id" = 2,
        "cursor_secret" = Vec::new(),
        "created_at" = 0,
    );
    let tenants = store.tenants.iter().filter(|row| row.id != 0).map(|row| {
        row!("tenants", row { id, name, max_pending_jobs, budget_micros, budget_period }, "created_at" = 0)
    });
    let loads = store
        .tenants
        .iter()
        .map(|row| row!("tenant_load", row { pending_jobs, in_flight }, "tenant" = row.id));
    let revisions = store
        .revisions
        .iter()
        .map(|row| row!("revisions", row { number, source }, "digest" = Vec::new(), "created_at" = 0));
    std::iter::once(meta).chain(tenants).chain(loads).chain(revisions)
}

fn jobs(store: &Records) -> impl Iterator<Item = Row> {
    let jobs = store.jobs.iter().map(|row| {
        let bounded = !is_terminal(&row.state) && row.state != "REVIEW_REQUIRED";
        row!(
            "jobs",
            row {
                id,
                seq,
                tenant,
                task,
                kind,
                revision,
                state,
                state_version,
                fence,
                generation,
                step,
                attempts,
                deferrals,
                available_at,
                lease_until,
                deadline,
                failure_class,
                failure_message,
                pool,
                claimable,
                key_first,
                keeps_key,
                ordering_key,
                input_tokens,
                output_tokens,
                cost_micros,
                uncertain_micros,
                updated_at,
                finished_at
            },
            "expires_at" = bounded.then_some(row.deadline),
            "lane" = 0,
            "step_since" = 0,
            "priority" = "normal",
            "place" = 0,
            "step_kind" = "chat",
            "model" = "small",
            "step_input" = 0,
            "step_output" = 0,
            "planned_at" = 0,
            "batch" = store.inputs.iter().find(|input| input.job == row.id).and_then(|input| input.batch),
        )
    });
    let inputs = store.inputs.iter().map(|row| {
        row!(
            "inputs",
            row {
                body,
                blob,
                request_digest,
                document,
                idempotency_key,
                series_key,
                series_version,
                not_before,
                replay_of,
                created_at
            },
            "job" = seq(store, row.job),
            "id" = row.job,
            "tenant" = 1,
        )
    });
    let keys = store.keys.iter().map(|row| {
        row!("idempotency_keys", row { tenant, key, body_digest, expires_at }, "job_id" = row.job)
    });
    jobs.chain(inputs).chain(keys)
}

/// What became of the jobs.
fn journal(store: &Records) -> impl Iterator<Item = Row> {
    // The step that a job is at has its row only when it is left.
    let steps = store.steps.iter().filter(|row| row.finished_at.is_some()).map(|row| {
        row!(
            "steps",
            row { generation, number, finished_at, entry },
            "job" = seq(store, row.job),
            "kind" = "chat",
            "pool" = "main",
            "model" = "small",
            "target" = 0,
            "input_tokens" = 0,
            "output_tokens" = 0,
            "planned_at" = 0,
        )
    });
    let results = store.results.iter().map(|row| {
        row!("results", row { generation, output, provenance, created_at }, "job" = seq(store, row.job))
    });
    let events = store.events.iter().map(|row| {
        let mut event = row!(
            "events",
            row { seq, tenant, state_version, at, body },
            "job" = seq(store, row.job),
            "type" = row.kind,
        );
        event.1.extend(store.epochs.map(|_| ("epoch", row.epoch.value())));
        event
    });
    steps.chain(results).chain(events)
}

fn attempts(store: &Records) -> impl Iterator<Item = Row> {
    store.attempts.iter().map(|row| {
        let permit = store.grants.iter().find(|grant| grant.attempt == row.id).map(|grant| grant.lease_until);
        row!(
            "attempts",
            row {
                id,
                tenant,
                generation,
                step,
                fence,
                worker,
                build,
                task,
                pool,
                model,
                claimed_at,
                settled_at,
                outcome,
                failure_class,
                message,
                reserved_input,
                reserved_output,
                reserved_micros,
                price_input,
                price_cached,
                price_output,
                budget_start,
                input_tokens,
                cached_tokens,
                output_tokens,
                cost_micros,
                uncertain_micros,
                overage_micros,
                evidence
            },
            "lane" = 0,
            "job" = seq(store, row.job),
            "permit_until" = permit,
            "claim_id" = row.id,
        )
    })
}

/// On PostgreSQL some counts are divided over rows, and a view has the sums: here one row has all of it.
fn behind_views((table, mut columns): Row) -> Row {
    let (table, part) = match table {
        "tenant_load" => ("tenant_counts", ("part", 1.value())),
        "calls" => ("call_counts", ("ended", false.value())),
        _ => return (table, columns),
    };
    columns.push(part);
    (table, columns)
}

/// What is a sum over others.
fn sums(store: &Records) -> impl Iterator<Item = Row> {
    let calls = store.calls.iter().map(|row| row!("calls", row { kind, name, in_flight }));
    let kept = store.kept_keys.iter().map(|row| {
        row!("kept_keys", row { tenant, task, ordering_key, first_job, latest_job }, "kept_at" = 0)
    });
    let budgets = store.budgets.iter().map(|row| {
        row!(
            "budgets",
            row { tenant, period_start },
            "reserved_micros" = row.reserved,
            "spent_micros" = row.spent,
            "uncertain_micros" = row.uncertain,
            "overage_micros" = row.overage,
        )
    });
    let days = store.usage_days.iter().map(|row| {
        row!(
            "usage_days",
            row {
                tenant,
                day,
                task,
                model,
                pool,
                attempts,
                input_tokens,
                output_tokens,
                cost_micros,
                uncertain_micros
            }
        )
    });
    calls.chain(kept).chain(budgets).chain(days)
}

/// What persons have to do with.
fn affairs(store: &Records) -> impl Iterator<Item = Row> {
    let reviews = store.reviews.iter().map(|row| {
        row!(
            "reviews",
            row {
                generation,
                opened_at,
                due_at,
                due_default,
                alerted_at,
                output,
                decided_at,
                decision,
                decided_by,
                decided_version,
                decided_seq
            },
            "job_id" = row.job,
            "seq" = 1,
            "tenant" = 1,
            "findings" = b"[]".to_vec(),
            "provenance" = b"{}".to_vec(),
        )
    });
    let audit = store.audit.iter().map(|row| {
        row!("audit", row { seq, at, tenant, action, subject, before, after }, "actor_name" = row.actor)
    });
    let letters = store.letters.iter().map(|row| {
        row!(
            "dead_letters",
            row { tenant, seq, class, failed_at, state },
            "job_id" = row.job,
            "created_at" = 0,
            "updated_at" = 0,
            "revision" = 1,
            "task" = "chat",
        )
    });
    reviews.chain(audit).chain(letters)
}

fn batches(store: &Records) -> impl Iterator<Item = Row> {
    let batches = store.batches.iter().map(|row| {
        row!(
            "batches",
            row { id, tenant, kind, size, open, filled_at, finished_at },
            "body_digest" = Vec::new(),
            "created_at" = 0,
        )
    });
    let members = store.members.iter().map(|row| {
        row!(
            "batch_members",
            row { batch, position, replay_of },
            "job_id" = row.job,
            "replayed" = false,
            "status" = 202,
            "problem" = row.job.is_none().then_some("{}"),
        )
    });
    let documents = store.blobs.iter().filter(|(job, _)| job.is_none()).map(|(_, digest)| {
        row!(
            "documents",
            store {},
            "tenant" = 1,
            "digest" = digest,
            "bytes" = 1,
            "media_type" = "text/plain",
            "created_at" = 0,
            "used_at" = 0,
        )
    });
    batches.chain(members).chain(documents)
}

fn insert(row: &Row, placeholder: char) -> String {
    let columns: Vec<_> = row.1.iter().map(|(column, _)| *column).collect();
    let places: Vec<_> = (1..=columns.len()).map(|nth| format!("{placeholder}{nth}")).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", row.0, columns.join(", "), places.join(", "))
}

/// A file of SQLite.
pub(super) struct File(tempfile::TempDir);

impl File {
    pub(super) fn with(store: &Records) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forebay.db");
        forebay_store::sqlite::migrate(&path).unwrap();
        let file = Connection::open(&path).unwrap();
        file.execute_batch("BEGIN; DELETE FROM tenant_load").unwrap();
        for row in rows(store) {
            let values = rusqlite::params_from_iter(row.1.iter().map(|(_, value)| value));
            file.execute(&insert(&row, '?'), values).unwrap_or_else(|error| panic!("{}: {error}", row.0));
        }
        file.execute_batch("COMMIT").unwrap();
        Self(folder)
    }

    pub(super) fn read(&self) -> Records {
        sqlite::read(&self.0.path().join("forebay.db")).unwrap()
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Integer(number) => (*number).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Bytes(bytes) => bytes.as_slice().into(),
            Value::Null | Value::Other => rusqlite::types::Null.into(),
        })
    }
}

/// A database of the server that `scripts/services start postgres` has started.
pub(super) struct Server {
    target: Target,
    /// Connected with the database that makes others.
    maker: Link,
}

/// A connection and what moves its bytes.
struct Link(Client, Tasks);

impl Link {
    async fn to(target: &Target) -> Self {
        let (client, link) = connect(target).await.unwrap();
        let tasks = Tasks::default();
        tasks.spawn("link", async move { drop(link.await) });
        Self(client, tasks)
    }

    async fn run(&self, sql: &str) {
        self.0.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    async fn end(self) {
        drop(self.0);
        self.1.stop().await;
    }
}

impl Server {
    pub(super) async fn empty() -> Self {
        let url = std::env::var("FOREBAY_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!("FOREBAY_TEST_POSTGRES is not set: scripts/services start, then eval \"$(scripts/services env)\"")
        });
        let maker = Link::to(&Target::parse(&url).unwrap()).await;
        let name = format!("verify_{:016x}", u64::from_be_bytes(crate::runtime::random_bytes()));
        maker.run(&format!("CREATE DATABASE {name}")).await;
        let place = url.rsplit_once('/').unwrap().0;
        Self { target: Target::parse(&format!("{place}/{name}")).unwrap(), maker }
    }

    /// With all tables, and no row in them.
    pub(super) async fn migrated() -> Self {
        let server = Self::empty().await;
        let link = Link::to(&server.target).await;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../forebay-store/migrations/postgres");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for file in files {
            link.run(&std::fs::read_to_string(file).unwrap()).await;
        }
        link.end().await;
        server
    }

    /// Has the records instead of what was there.
    pub(super) async fn write(&self, store: &Records) {
        let link = Link::to(&self.target).await;
        // Some tables have triggers against whoever deletes from them.
        link.run(
            "BEGIN;
             SET LOCAL session_replication_role = replica;
             DO $$ DECLARE name text; BEGIN
               FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'log_epochs'
               LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
             END $$",
        )
        .await;
        let mut statements = HashMap::new();
        for row in rows(store).into_iter().map(behind_views) {
            let sql = insert(&row, '$');
            let statement = match statements.entry(sql) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => {
                    let prepared = link.0.prepare(free.key()).await;
                    free.insert(prepared.unwrap_or_else(|error| panic!("{}: {error:?}", row.0)))
                }
            };
            let values: Vec<&(dyn ToSql + Sync)> = row.1.iter().map(|(_, value)| value as _).collect();
            let inserted = link.0.execute(&*statement, &values).await;
            inserted.unwrap_or_else(|error| panic!("{}: {error:?}", row.0));
        }
        if let Some(epochs) = store.epochs {
            link.run(&format!(
                "UPDATE log_epochs SET current = {}, closed = {}",
                epochs.current, epochs.closed
            ))
            .await;
        }
        link.run("COMMIT").await;
        link.end().await;
    }

    pub(super) async fn read(&self) -> Records {
        self.try_read().await.unwrap()
    }

    pub(super) async fn try_read(&self) -> Result<Records, Unreadable> {
        let link = Link::to(&self.target).await;
        let records = postgres::read(&link.0, "store").await;
        link.end().await;
        records
    }

    /// Reads while somebody else holds a table until the reader has come to it, and then changes things.
    pub(super) async fn read_while(&self, table: &str, change: &str) -> Records {
        let other = Link::to(&self.target).await;
        other.run(&format!("BEGIN; LOCK TABLE {table}")).await;
        let meddle = async {
            let waits =
                format!("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass");
            while other.0.query(&waits, &[]).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            other.run(change).await;
            other.run("COMMIT").await;
        };
        let (records, ()) = tokio::join!(self.read(), meddle);
        other.end().await;
        records
    }

    /// Removes the database.
    pub(super) async fn end(self) {
        self.maker.run(&format!("DROP DATABASE {} WITH (FORCE)", self.target.database())).await;
        self.maker.end().await;
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (self, kind) {
            (Value::Integer(number), &Type::BOOL) => (*number != 0).to_sql(kind, out),
            (Value::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(kind, out),
            (Value::Integer(number), _) => number.to_sql(kind, out),
            (Value::Text(text), _) => text.to_sql(kind, out),
            (Value::Bytes(bytes), _) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
            (Value::Null | Value::Other, _) => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}
