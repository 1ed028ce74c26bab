//! The processes that work on a store.

use forebay_core::id::ProcessId;
use forebay_core::time::Millis;
use forebay_store::record::{ProcessRecord, ProcessReport};

use crate::bundle::Bundle;

fn report(b: &Bundle, number: u8) -> ProcessReport {
    ProcessReport {
        id: ProcessId::from_bytes([number; 16]),
        name: format!("host-{number}"),
        build: "forebay/1.2.3".to_owned(),
        roles: vec!["api".to_owned(), "work".to_owned()],
        slots: 256,
        pools: None,
        tasks: None,
        in_hand: 0,
        started_at: b.now(),
    }
}

async fn names(b: &Bundle) -> Vec<String> {
    b.store().processes().await.unwrap().into_iter().map(|process| process.report.name).collect()
}

pub async fn a_process_says_how_it_is(b: &Bundle) {
    let restricted = ProcessReport {
        pools: Some(vec!["main".to_owned(), "other".to_owned()]),
        tasks: Some(vec!["chat".to_owned()]),
        ..report(b, 1)
    };
    b.store().report(restricted.clone()).await.unwrap();
    b.wait_secs(1);
    let all = report(b, 2);
    b.store().report(all.clone()).await.unwrap();
    b.wait_secs(5);
    let busy = ProcessReport { in_hand: 7, ..restricted };
    b.store().report(busy.clone()).await.unwrap();
    b.store().lead("maintenance", all.id, Millis::from_secs(10)).await.unwrap().unwrap();
    let leading =
        ProcessRecord { heard_at: all.started_at, report: all, leads: vec!["maintenance".to_owned()] };
    let busy = ProcessRecord { heard_at: b.now(), report: busy, leads: vec![] };
    assert_eq!(b.store().processes().await.unwrap(), [busy.clone(), leading.clone()]);
    b.wait_secs(10);
    let led = ProcessRecord { leads: vec![], ..leading };
    assert_eq!(b.store().processes().await.unwrap(), [busy, led], "its lease has lapsed");
}

pub async fn who_is_silent_is_forgotten(b: &Bundle) {
    b.store().report(report(b, 1)).await.unwrap();
    b.wait_secs(3_600);
    assert_eq!(names(b).await, ["host-1"]);
    b.wait_secs(1);
    assert_eq!(names(b).await, [""; 0]);
    b.store().report(report(b, 2)).await.unwrap();
    assert_eq!(names(b).await, ["host-2"]);
}

pub async fn who_ends_is_gone(b: &Bundle) {
    b.store().report(report(b, 1)).await.unwrap();
    b.store().report(report(b, 2)).await.unwrap();
    b.store().sign_off(report(b, 1).id).await.unwrap();
    assert_eq!(names(b).await, ["host-2"]);
}
