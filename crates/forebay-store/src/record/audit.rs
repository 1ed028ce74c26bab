use forebay_core::id::KeyId;
use forebay_core::time::Timestamp;
use forebay_core::word::Word;
use serde_json::Value;

/// Who asks for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The key; absent for the program itself.
    pub key: Option<KeyId>,
    /// What the key is called, so that a record can be read when the key is long gone.
    pub name: String,
}

impl Actor {
    /// The program itself, where nobody asked: the first start, a due time that passed.
    pub fn program() -> Self {
        Self { key: None, name: "forebay".to_owned() }
    }
}

/// What is audited. The names are in the API and in the database: they are only ever added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// A tenant was made or its settings were changed.
    TenantPut,
    /// A key was made.
    KeyCreate,
    /// A key got another limit.
    KeyPut,
    /// A key was revoked.
    KeyRevoke,
    /// Definitions were applied.
    RevisionApply,
    /// The definitions of an older revision were made the active ones again.
    RevisionRollback,
    /// A job was ended by request.
    JobCancel,
    /// A new version of a dataset was sent.
    DatasetPut,
    /// What is left of a batch was ended by request.
    BatchCancel,
    /// A failed job is done again.
    JobReplay,
    /// A dead letter got another owner, or was dealt with.
    DeadLetterPut,
    /// A note was written about a dead letter.
    DeadLetterNote,
    /// A reviewer took a review for a while.
    ReviewClaim,
    /// A reviewer gave a review back.
    ReviewRelease,
    /// A review's output was taken as it is.
    ReviewApprove,
    /// A review's output was replaced by another.
    ReviewCorrect,
    /// A review's output was refused.
    ReviewReject,
    /// A job in review was sent back to the machines.
    ReviewRerun,
    /// A review was not decided until its due time.
    ReviewOverdue,
}

impl AuditRecord {
    /// What was done, by its name.
    pub fn action_name(&self) -> &str {
        match &self.action {
            Word::Known(action) => action.name(),
            Word::Unknown(name) => name,
        }
    }
}

impl AuditAction {
    /// Every action.
    pub const ALL: [AuditAction; 19] = [
        AuditAction::TenantPut,
        AuditAction::KeyCreate,
        AuditAction::KeyPut,
        AuditAction::KeyRevoke,
        AuditAction::RevisionApply,
        AuditAction::RevisionRollback,
        AuditAction::JobCancel,
        AuditAction::DatasetPut,
        AuditAction::BatchCancel,
        AuditAction::JobReplay,
        AuditAction::DeadLetterPut,
        AuditAction::DeadLetterNote,
        AuditAction::ReviewClaim,
        AuditAction::ReviewRelease,
        AuditAction::ReviewApprove,
        AuditAction::ReviewCorrect,
        AuditAction::ReviewReject,
        AuditAction::ReviewRerun,
        AuditAction::ReviewOverdue,
    ];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            AuditAction::TenantPut => "tenant.put",
            AuditAction::KeyCreate => "key.create",
            AuditAction::KeyPut => "key.put",
            AuditAction::KeyRevoke => "key.revoke",
            AuditAction::RevisionApply => "revision.apply",
            AuditAction::RevisionRollback => "revision.rollback",
            AuditAction::JobCancel => "job.cancel",
            AuditAction::DatasetPut => "dataset.put",
            AuditAction::BatchCancel => "batch.cancel",
            AuditAction::JobReplay => "job.replay",
            AuditAction::DeadLetterPut => "dead_letter.put",
            AuditAction::DeadLetterNote => "dead_letter.note",
            AuditAction::ReviewClaim => "review.claim",
            AuditAction::ReviewRelease => "review.release",
            AuditAction::ReviewApprove => "review.approve",
            AuditAction::ReviewCorrect => "review.correct",
            AuditAction::ReviewReject => "review.reject",
            AuditAction::ReviewRerun => "review.rerun",
            AuditAction::ReviewOverdue => "review.overdue",
        }
    }

    /// The action of that name.
    pub fn from_name(name: &str) -> Option<AuditAction> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// Which audit records. A condition that is absent excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Of this tenant's affairs; of all where absent, the installation's own included.
    pub tenant: Option<i64>,
    /// Of this action.
    pub action: Option<AuditAction>,
    /// About this subject.
    pub subject: Option<String>,
    /// By this key.
    pub actor: Option<KeyId>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// Only before this number.
    pub before: Option<i64>,
    /// The most records.
    pub limit: usize,
}

/// Audit records, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditPage {
    /// The records.
    pub records: Vec<AuditRecord>,
    /// Where the next page starts; absent on the last.
    pub next: Option<i64>,
}

/// One change that somebody asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    /// Its number; rises.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Whose affair, by name; absent where it is the whole installation's.
    pub tenant: Option<String>,
    /// Who.
    pub actor: Actor,
    /// What was done.
    pub action: Word<AuditAction>,
    /// To what: an id, a name, a number.
    pub subject: String,
    /// What was there before; absent where there was nothing.
    pub before: Option<Value>,
    /// What is there now; absent where nothing is left.
    pub after: Option<Value>,
}
