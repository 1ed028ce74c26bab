//! Many jobs in one call: each is accepted or refused by itself, a group of them in one transaction.
//!
//! What was refused before its transaction is written with its group. What the transaction itself refuses is written
//! with the next one, so that a call that breaks off leaves a member either decided or untouched; the same call under
//! the same key goes on from there.

use std::collections::BTreeSet;

use forebay_core::digest::Digest;
use forebay_core::id::{BatchId, JobId};
use forebay_core::limits::REPLAY_JOBS;
use forebay_core::request::{self, Submission};
use forebay_store::record::{
    BatchKind, Begun, LetterFilter, Member, MemberProblem, MemberRecord, NewBatch, NewJob, Placed,
    ReplayQuery, ReplayRefused, ReplaySource,
};

use super::replay::prepare_replay;
use super::{Caller, Refused, Wish, prepare};
use crate::app::App;

/// Members in one transaction: other writes wait for that many at most.
const GROUP: usize = 100;

/// Words a refusal as the member's own call would have been answered: status, and problem as JSON.
pub type Explain<'a> = &'a (dyn Fn(Refused) -> (u16, String) + Send + Sync);

/// A call that was taken in.
#[derive(Debug)]
pub struct Taken {
    /// The batch that it made; absent where there was nothing to do.
    pub batch: Option<BatchId>,
    /// Whether the call had been made before.
    pub replayed: bool,
    /// Jobs that it made just now.
    pub accepted: u64,
    /// Where the next call goes on, of replays.
    pub after: i64,
    /// What stopped it before its end.
    pub stopped: Option<Refused>,
}

/// Which dead letters are to be replayed, and how.
#[derive(Debug, Clone)]
pub struct Many {
    /// Which ones.
    pub filter: LetterFilter,
    /// Where the call before ended.
    pub after: i64,
    /// The most, up to [`REPLAY_JOBS`].
    pub limit: usize,
    /// How.
    pub wish: Wish,
}

/// Accepts the jobs of a batch, each by itself.
///
/// # Errors
///
/// When the body is no batch, when its key stands for another call, or when the store fails.
pub async fn submit_batch(
    app: &App,
    caller: Caller,
    idempotency_key: Option<String>,
    body: &[u8],
    explain: Explain<'_>,
) -> Result<Taken, Refused> {
    let jobs = request::batch::jobs(body)?;
    let size = jobs.len();
    let mut call =
        Call::begin(app, caller, BatchKind::Jobs, size, idempotency_key, Digest::of(body), explain).await?;
    for (nth, group) in jobs.chunks(GROUP).enumerate() {
        let mut members = Vec::with_capacity(group.len());
        for (position, text) in (nth * GROUP..).zip(group) {
            if !call.has(position) {
                let prepared = prepare_member(app, caller, text).await;
                members.push((position as u64, call.member(position, prepared.map(Member::Job), None)?));
            }
        }
        call.place(members).await?;
    }
    call.end(0, None).await
}

async fn prepare_member(app: &App, caller: Caller, text: &str) -> Result<NewJob, Refused> {
    let mut submission = Submission::parse_in_batch(request::json::parse(text.as_bytes())?)?;
    let key = submission.idempotency_key.take();
    prepare(app, caller, key, submission).await
}

/// Accepts jobs that do the work of failed ones again, oldest failure first, until there are none left, as many as are
/// asked for, or a limit speaks against more.
///
/// # Errors
///
/// When the key stands for another call, or when the store fails.
pub async fn replay_many(
    app: &App,
    caller: Caller,
    idempotency_key: Option<String>,
    many: &Many,
    explain: Explain<'_>,
) -> Result<Taken, Refused> {
    let limit = many.limit.min(REPLAY_JOBS);
    let mut after = many.after;
    let mut sources = next_sources(app, caller, many, after, limit).await?;
    if sources.is_empty() && idempotency_key.is_none() {
        return Ok(Taken { batch: None, replayed: false, accepted: 0, after, stopped: None });
    }
    let asked = Digest::of(
        format!("{:?} {} {limit} {:?} {}", many.filter, many.after, many.wish.task, many.wish.again)
            .as_bytes(),
    );
    let mut call =
        Call::begin(app, caller, BatchKind::Replay, limit, idempotency_key, asked, explain).await?;
    let mut stopped = None;
    while !sources.is_empty() && call.next < limit && !call.closed && stopped.is_none() {
        let mut members = Vec::with_capacity(sources.len());
        let places: Vec<i64> = sources.iter().map(|source| source.seq).collect();
        for source in sources {
            let (position, original) = (call.next + members.len(), source.job.id);
            let prepared = prepare_replay(app, caller, source, &many.wish).await;
            members.push((
                position as u64,
                call.member(position, prepared.map(Member::Replay), Some(original))?,
            ));
        }
        call.next += members.len();
        let refused = call.place_replays(members).await?;
        let first = refused.first().map(|(nth, _)| *nth);
        after = match first {
            Some(nth) => nth.checked_sub(1).map_or(after, |nth| places[nth]),
            None => places.last().copied().unwrap_or(after),
        };
        stopped = refused.into_iter().next().map(|(_, refused)| refused);
        sources = next_sources(app, caller, many, after, limit.saturating_sub(call.next)).await?;
    }
    call.end(after, stopped).await
}

async fn next_sources(
    app: &App,
    caller: Caller,
    many: &Many,
    after: i64,
    left: usize,
) -> Result<Vec<ReplaySource>, Refused> {
    let query = ReplayQuery { filter: many.filter.clone(), again: many.wish.again, after };
    Ok(app.store.replayable(caller.tenant, query, left.min(GROUP)).await?)
}

/// A call on its way into its batch.
struct Call<'a> {
    app: &'a App,
    tenant: i64,
    batch: BatchId,
    explain: Explain<'a>,
    replayed: bool,
    /// Members that an earlier try of the same call has decided.
    known: BTreeSet<u64>,
    /// Nothing is taken in any more: an earlier try came to its end, or the batch was cancelled.
    closed: bool,
    /// What a transaction refused and the next one writes.
    refused: Vec<(u64, Member)>,
    accepted: u64,
    next: usize,
}

impl<'a> Call<'a> {
    async fn begin(
        app: &'a App,
        caller: Caller,
        kind: BatchKind,
        size: usize,
        idempotency_key: Option<String>,
        body_digest: Digest,
        explain: Explain<'a>,
    ) -> Result<Self, Refused> {
        let new = NewBatch {
            tenant: caller.tenant,
            kind,
            size: size as u64,
            idempotency_key,
            idempotency_ttl: app.settings.idempotency_ttl,
            body_digest,
        };
        let (batch, replayed) = match app.store.begin_batch(new).await? {
            Begun::New(batch) => (batch, false),
            Begun::Known(batch) => (batch, true),
            Begun::KeyReused(batch) => return Err(Refused::BatchKeyReused { batch }),
        };
        let mut call = Self {
            app,
            tenant: caller.tenant,
            batch,
            explain,
            replayed,
            known: BTreeSet::new(),
            closed: false,
            refused: Vec::new(),
            accepted: 0,
            next: 0,
        };
        if replayed {
            call.look().await?;
        }
        Ok(call)
    }

    /// Finds what an earlier try of the call has decided.
    async fn look(&mut self) -> Result<(), Refused> {
        let store = &self.app.store;
        let record = store.batch(self.tenant, self.batch).await?;
        let members: Vec<MemberRecord> = store.members(self.tenant, self.batch).await?;
        self.closed = record.is_none_or(|record| record.filled_at.is_some());
        self.next = members.last().map_or(0, |member| member.position as usize + 1);
        self.known = members.into_iter().map(|member| member.position).collect();
        Ok(())
    }

    fn has(&self, position: usize) -> bool {
        self.closed || self.known.contains(&(position as u64))
    }

    /// A member, or why it is none. That the store fails is no answer to a member.
    fn member(
        &self,
        position: usize,
        prepared: Result<Member, Refused>,
        replay_of: Option<JobId>,
    ) -> Result<Member, Refused> {
        match prepared {
            Ok(member) => Ok(member),
            Err(Refused::Store(failure)) => Err(self.cut(failure)),
            Err(refused) => Ok(self.problem(position, refused, replay_of)),
        }
    }

    fn problem(&self, position: usize, refused: Refused, replay_of: Option<JobId>) -> Member {
        // A replay's request is not in the body of its call.
        let refused = if replay_of.is_some() { refused } else { refused.under(&format!("/jobs/{position}")) };
        let (status, problem) = (self.explain)(refused);
        Member::Refused(MemberProblem { status, problem, replay_of })
    }

    fn cut(&self, failure: forebay_store::StoreError) -> Refused {
        Refused::BatchCut { batch: self.batch, failure }
    }

    /// Places a group of jobs; what the store refuses is a problem of the member.
    async fn place(&mut self, members: Vec<(u64, Member)>) -> Result<(), Refused> {
        for (position, refused) in self.send(members, false).await? {
            let member = self.problem(position as usize, Refused::from(refused), None);
            self.refused.push((position, member));
        }
        Ok(())
    }

    /// Places a group of replays; gives back what a limit speaks against, by its place in the group.
    async fn place_replays(&mut self, members: Vec<(u64, Member)>) -> Result<Vec<(usize, Refused)>, Refused> {
        let first = members.first().map_or(0, |(position, _)| *position);
        let refused = self.send(members, false).await?.into_iter();
        // That somebody else was faster is what was asked for.
        let limits = refused.filter(|(_, refused)| matches!(refused, ReplayRefused::NotAccepted(_)));
        Ok(limits.map(|(position, refused)| ((position - first) as usize, Refused::from(refused))).collect())
    }

    /// Has members placed; gives back those that were not accepted.
    async fn send(
        &mut self,
        members: Vec<(u64, Member)>,
        last: bool,
    ) -> Result<Vec<(u64, ReplayRefused)>, Refused> {
        if self.closed || (members.is_empty() && !last) {
            return Ok(Vec::new());
        }
        let mut placing = std::mem::take(&mut self.refused);
        placing.extend(members);
        let asked: Vec<(u64, bool)> = placing
            .iter()
            .map(|(position, member)| (*position, !matches!(member, Member::Refused(_))))
            .collect();
        let placed = self.app.store.place(self.tenant, self.batch, placing, last).await;
        let Placed::Each(outcomes) = placed.map_err(|failure| self.cut(failure))? else {
            self.closed = true;
            return Ok(Vec::new());
        };
        let mut refused = Vec::new();
        for ((position, is_job), outcome) in asked.into_iter().zip(outcomes) {
            match outcome {
                Ok(()) => self.accepted += u64::from(is_job),
                Err(reason) => refused.push((position, reason)),
            }
        }
        Ok(refused)
    }

    /// Says that all members are in.
    async fn end(mut self, after: i64, stopped: Option<Refused>) -> Result<Taken, Refused> {
        self.send(Vec::new(), true).await?;
        Ok(Taken {
            batch: Some(self.batch),
            replayed: self.replayed,
            accepted: self.accepted,
            after,
            stopped,
        })
    }
}
