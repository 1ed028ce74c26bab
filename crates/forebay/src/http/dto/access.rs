use forebay_core::id::KeyId;
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_store::record::{KeyRecord, Scope, TenantRecord};
use serde::Serialize;
use utoipa::ToSchema;

use super::{CURRENCY, shapes};

/// A tenant: what it may do, and what it does.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Tenant {
    name: String,
    /// Jobs that have not ended; no limit where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_pending_jobs: Option<u64>,
    /// Calls at the same time over all pools; no limit where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u64>,
    /// Money that may be used in a period; no limit where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetSettings>,
    /// Its share of each pool beside other tenants: twice the weight, twice the tokens.
    #[schema(minimum = 1, maximum = 1_000)]
    weight: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    r#use: TenantUse,
}

/// How much money may be used in which span.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct BudgetSettings {
    #[schema(value_type = i64, minimum = 0)]
    limit_micros: Micros,
    /// `day`, `month` or `total`, in UTC.
    #[schema(value_type = String)]
    period: &'static str,
}

/// What a tenant has under way and has used.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct TenantUse {
    pending_jobs: u64,
    in_flight: u64,
    budget: BudgetUse,
}

/// The account of the current period.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct BudgetUse {
    /// Set aside for attempts under way.
    #[schema(value_type = i64)]
    reserved_micros: Micros,
    /// Billed for certain.
    #[schema(value_type = i64)]
    spent_micros: Micros,
    /// Perhaps billed.
    #[schema(value_type = i64)]
    uncertain_micros: Micros,
    /// What is neither used nor set aside; absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    left_micros: Option<Micros>,
    currency: &'static str,
}

impl From<TenantRecord> for Tenant {
    fn from(record: TenantRecord) -> Self {
        let settings = record.settings;
        let period = settings.budget_period.name();
        let account = record.account;
        Self {
            name: record.name,
            max_pending_jobs: settings.max_pending_jobs,
            max_in_flight: settings.max_in_flight,
            budget: settings.budget.map(|limit_micros| BudgetSettings { limit_micros, period }),
            weight: settings.weight.get(),
            created_at: record.created_at,
            r#use: TenantUse {
                pending_jobs: record.pending_jobs,
                in_flight: record.in_flight,
                budget: BudgetUse {
                    reserved_micros: account.reserved,
                    spent_micros: account.spent,
                    uncertain_micros: account.uncertain,
                    left_micros: account.left(),
                    currency: CURRENCY,
                },
            },
        }
    }
}

/// Tenants by name.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct TenantList {
    pub(in crate::http) data: Vec<Tenant>,
}

/// What a tenant may do. Only its shape: the body is read by its own parser. What is left out is unlimited.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TenantSettings)]
pub(in crate::http) struct TenantBody {
    #[schema(minimum = 0, maximum = 9_223_372_036_854_775_807_u64)]
    max_pending_jobs: Option<u64>,
    #[schema(minimum = 0, maximum = 9_223_372_036_854_775_807_u64)]
    max_in_flight: Option<u64>,
    budget: Option<BudgetBody>,
    /// Its share of each pool beside other tenants; 1 where absent.
    #[schema(minimum = 1, maximum = 1_000)]
    weight: Option<u64>,
}

/// How much money may be used in which span.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BudgetRequest)]
pub(in crate::http) struct BudgetBody {
    #[schema(minimum = 0)]
    limit_micros: i64,
    #[schema(schema_with = shapes::period, required = false)]
    period: Option<String>,
}

/// A key, without its text.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Key {
    #[schema(value_type = String)]
    pub(in crate::http) key_id: KeyId,
    tenant: String,
    /// What it is for.
    name: String,
    /// Its first characters.
    hint: String,
    /// What it may do: `submit`, `read`, `inspect`, `review`, `operate`, `admin`.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Since when it does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
    /// Calls at the same time, over all pools, of the jobs that it has handed in; no limit where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u64>,
    /// Calls of such jobs that are under way.
    in_flight: u64,
}

impl From<KeyRecord> for Key {
    fn from(record: KeyRecord) -> Self {
        Self {
            key_id: record.id,
            tenant: record.tenant_name,
            name: record.name,
            hint: record.hint,
            scopes: record.scopes.into_iter().map(Scope::name).collect(),
            created_at: record.created_at,
            expires_at: record.expires_at,
            revoked_at: record.revoked_at,
            max_in_flight: record.max_in_flight,
            in_flight: record.in_flight,
        }
    }
}

/// A new key, with its text.
#[derive(Serialize, ToSchema)]
#[schema(as = NewKey)]
pub(in crate::http) struct NewKeyAnswer {
    #[serde(flatten)]
    pub(in crate::http) record: Key,
    /// What is sent as `Authorization: Bearer ...`. Shown here and never again.
    #[schema(example = "fbk_...")]
    pub(in crate::http) key: String,
}

/// Keys, newest first, revoked ones included.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct KeyList {
    pub(in crate::http) data: Vec<Key>,
}

/// What a key is asked for with. Only its shape: the body is read by its own parser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyRequest)]
pub(in crate::http) struct NewKeyBody {
    /// What it is for.
    #[schema(schema_with = shapes::text::<100>)]
    name: String,
    #[schema(schema_with = shapes::scopes)]
    scopes: Vec<String>,
    /// Until when it works; without end where absent.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Calls at the same time, over all pools, of the jobs that it hands in; no limit where absent.
    #[schema(minimum = 0, maximum = 9_223_372_036_854_775_807_u64)]
    max_in_flight: Option<u64>,
}

/// What can be changed of a key. Only its shape: the body is read by its own parser. What is left out is unlimited.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeySettings)]
pub(in crate::http) struct KeyBody {
    #[schema(minimum = 0, maximum = 9_223_372_036_854_775_807_u64)]
    max_in_flight: Option<u64>,
}
