use forebay_core::digest::Digest;
use forebay_core::fairness::Weight;
use forebay_core::grant::Account;
use forebay_core::id::KeyId;
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Submit jobs and upload documents.
    Submit,
    /// See jobs, their results and events, and documents.
    Read,
    /// See attempts and steps: how often which provider was tried.
    Inspect,
    /// Decide reviews.
    Review,
    /// Cancel, replay, see pools and workers.
    Operate,
    /// Tenants, keys and definitions; includes every other scope, over all tenants where the key belongs to
    /// the tenant `default`.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 6] =
        [Scope::Submit, Scope::Read, Scope::Inspect, Scope::Review, Scope::Operate, Scope::Admin];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Submit => "submit",
            Scope::Read => "read",
            Scope::Inspect => "inspect",
            Scope::Review => "review",
            Scope::Operate => "operate",
            Scope::Admin => "admin",
        }
    }

    /// The scope of that name.
    pub fn from_name(name: &str) -> Option<Scope> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// In which spans a tenant's budget is counted, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BudgetPeriod {
    /// Each calendar day.
    Day,
    /// Each calendar month.
    Month,
    /// Once and for all.
    #[default]
    Total,
}

impl BudgetPeriod {
    /// Every period.
    pub const ALL: [BudgetPeriod; 3] = [BudgetPeriod::Day, BudgetPeriod::Month, BudgetPeriod::Total];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            BudgetPeriod::Day => "day",
            BudgetPeriod::Month => "month",
            BudgetPeriod::Total => "total",
        }
    }

    /// The period of that name.
    pub fn from_name(name: &str) -> Option<BudgetPeriod> {
        Self::ALL.into_iter().find(|period| period.name() == name)
    }
}

/// What a tenant may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantSettings {
    /// Jobs that have not ended; no limit where absent.
    pub max_pending_jobs: Option<u64>,
    /// Calls at the same time over all pools; no limit where absent.
    pub max_in_flight: Option<u64>,
    /// Money that may be used in a period; no limit where absent.
    pub budget: Option<Micros>,
    /// In which spans the budget is counted.
    pub budget_period: BudgetPeriod,
    /// Its share of each pool, beside other tenants.
    pub weight: Weight,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRecord {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub settings: TenantSettings,
    /// Jobs that have not ended.
    pub pending_jobs: u64,
    /// Calls under way.
    pub in_flight: u64,
    /// Its account in the current period.
    pub account: Account,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A key that is to be kept.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Whose.
    pub tenant: i64,
    /// What it is for.
    pub name: String,
    /// The digest of its secret.
    pub digest: Digest,
    /// Its first characters.
    pub hint: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// Calls at the same time, over all pools, of the jobs that it hands in; no limit where absent.
    pub max_in_flight: Option<u64>,
}

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its id.
    pub id: KeyId,
    /// Whose.
    pub tenant: i64,
    /// Whose, by name.
    pub tenant_name: String,
    /// What it is for.
    pub name: String,
    /// Its first characters.
    pub hint: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it works.
    pub expires_at: Option<Timestamp>,
    /// Since when it does not.
    pub revoked_at: Option<Timestamp>,
    /// Calls at the same time, over all pools, of the jobs that it has handed in; no limit where absent.
    pub max_in_flight: Option<u64>,
    /// Calls under way.
    pub in_flight: u64,
}

/// A document that the tenant has now.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// Whose.
    pub tenant: i64,
    /// Of its bytes.
    pub digest: Digest,
    /// How many.
    pub bytes: u64,
    /// What kind of text or data.
    pub media_type: String,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRecord {
    /// Of its bytes.
    pub digest: Digest,
    /// How many.
    pub bytes: u64,
    /// What kind of text or data.
    pub media_type: String,
    /// When it came.
    pub created_at: Timestamp,
}
