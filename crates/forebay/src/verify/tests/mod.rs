//! What is read of a store is what stands in it, whichever database it is: the case that the checks are tested with,
//! and the same with one thing broken, is written into a file and into a database of a server, and judged there.

mod stored;

use super::checks::testing::{Case, case};
use super::judge;
use super::records::{Epochs, Id, Records};
use stored::{File, Server};

/// The records of each table in words; in order where that means something.
fn shown(records: &Records) -> Vec<(&'static str, Vec<String>)> {
    macro_rules! tables {
        ($($name:ident)*) => {
            vec![$((stringify!($name), records.$name.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>())),*]
        };
    }
    let mut tables = tables!(
        jobs events epochs tenants revisions inputs keys steps attempts grants calls kept_keys budgets usage_days results
        reviews audit letters batches members blobs
    );
    for (name, rows) in &mut tables {
        if !matches!(*name, "jobs" | "events") {
            rows.sort();
        }
    }
    tables.push(("incarnation", vec![records.incarnation.to_string()]));
    tables
}

/// What is found, in words.
fn judged(records: &Records, case: &Case) -> Vec<String> {
    let report = judge(records, &case.outside);
    let said = report
        .violations
        .iter()
        .map(|found| format!("{:?} {} {:?}", found.invariant, found.problem, found.rows));
    let mut said: Vec<_> = said.collect();
    said.sort();
    said
}

/// The case with something of every kind in it.
fn full_case() -> Case {
    let mut case = case();
    let large = vec![3; 32];
    let waits = case.waits;
    let input = case.store.inputs.iter_mut().find(|input| input.job == waits).unwrap();
    (input.body, input.blob) = (None, Some(large.clone()));
    (input.document, input.batch) = (Some(vec![4; 32]), Some(Id([11; 16])));
    case.store.blobs = vec![(None, vec![4; 32]), (Some(waits), large)];
    case
}

/// Two epochs, the later of which has the lower numbers: as transactions at the same time may leave it.
fn written_by_many(case: &mut Case) {
    case.store.epochs = Some(Epochs { current: 7, closed: 5 });
    case.store.events.iter_mut().for_each(|event| event.epoch = 5);
}

type Break = fn(&mut Case);

/// One thing of each table, broken, and a word of what is said about it.
const BROKEN: &[(&str, Break)] = &[
    ("sum over all states", |case| _ = case.store.events.remove(3)),
    ("has an input", |case| _ = case.store.inputs.remove(0)),
    ("stands for a job", |case| case.store.keys[0].job = Id([99; 16])),
    ("unfinished jobs are counted", |case| case.store.tenants[1].pending_jobs += 1),
    ("the calls of a pool", |case| case.store.calls[0].in_flight += 1),
    ("what came of it", |case| case.store.attempts[0].cost_micros = Some(77)),
    ("sum of its attempts", |case| case.store.budgets[0].spent += 1),
    ("use of a day", |case| case.store.usage_days[0].output_tokens += 1),
    ("was evaluated", |case| case.store.results[1].output = Some(br#"{"total":"9.00"}"#.to_vec())),
    ("somebody's", |case| case.store.reviews[0].decided_by = None),
    ("cancellation is audited", |case| case.store.audit.retain(|row| row.action != "job.cancel")),
    ("says what its job says", |case| case.store.letters[0].class = "deadline".to_owned()),
    ("members of its call", |case| case.store.batches[0].size = 9),
    ("what its rows say", |case| _ = case.store.members.pop()),
    ("fence", |case| case.store.jobs[0].fence += 3),
];

#[tokio::test]
async fn a_file_is_read_as_it_was_written() {
    let case = full_case();
    let file = File::with(&case.store);
    let read = file.read();
    assert_eq!(shown(&read), shown(&case.store));
    assert_eq!(judged(&read, &case), Vec::<String>::new());
}

#[tokio::test]
async fn a_database_of_a_server_is_read_as_it_was_written() {
    let mut case = full_case();
    written_by_many(&mut case);
    let server = Server::migrated().await;
    server.write(&case.store).await;
    let read = server.read().await;
    assert_eq!(shown(&read), shown(&case.store));
    assert_eq!(judged(&read, &case), Vec::<String>::new());
    server.end().await;
}

#[tokio::test]
async fn what_is_broken_is_found_in_either() {
    let server = Server::migrated().await;
    for (words, broken) in BROKEN {
        let mut case = full_case();
        broken(&mut case);
        let in_file = judged(&File::with(&case.store).read(), &case);
        assert!(in_file.iter().any(|line| line.contains(words)), "{words}: {in_file:?}");
        written_by_many(&mut case);
        server.write(&case.store).await;
        let in_server = judged(&server.read().await, &case);
        assert!(in_server.iter().any(|line| line.contains(words)), "{words}: {in_server:?}");
    }
    server.end().await;
}

#[tokio::test]
async fn one_moment_is_read_whatever_is_written_meanwhile() {
    let mut case = full_case();
    written_by_many(&mut case);
    let server = Server::migrated().await;
    server.write(&case.store).await;
    let read = server.read_while("events", "DELETE FROM events; DELETE FROM batch_members").await;
    assert_eq!(shown(&read), shown(&case.store));
    server.end().await;
}

#[tokio::test]
async fn a_database_without_the_tables_is_refused() {
    let server = Server::empty().await;
    let refusal = server.try_read().await.unwrap_err().to_string();
    assert!(refusal.contains("meta") && refusal.contains("does not exist"), "{refusal}");
    server.end().await;
}
