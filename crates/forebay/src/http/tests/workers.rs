//! The processes of an installation.

use forebay_core::id::ProcessId;
use forebay_core::time::Millis;
use forebay_store::record::{ProcessReport, Scope};
use http::StatusCode;
use serde_json::json;

use super::Bench;

impl Bench {
    /// As a process that works on everything in the pool of the default definitions' tasks.
    pub(super) async fn report_a_worker(&self) -> ProcessReport {
        let report = ProcessReport {
            id: ProcessId::from_bytes([1; 16]),
            name: "host-1".to_owned(),
            build: "forebay/1.2.3".to_owned(),
            roles: vec!["work".to_owned(), "maintain".to_owned()],
            slots: 7,
            pools: Some(vec!["openai".to_owned()]),
            tasks: None,
            in_hand: 3,
            started_at: self.app.store.now(),
        };
        self.app.store.report(report.clone()).await.unwrap();
        report
    }
}

#[tokio::test]
async fn processes_are_listed_for_whoever_operates_them() {
    let bench = Bench::new().await;
    let key = bench.key("a", &[Scope::Operate]).await;
    let none = bench.get(&key, "/v1/workers").await;
    assert_eq!((none.status, none.body), (StatusCode::OK, json!({"data": []})));

    let ProcessReport { id, started_at: now, .. } = bench.report_a_worker().await;
    bench.app.store.lead("maintenance", id, Millis::from_secs(10)).await.unwrap().unwrap();
    let worker = bench.get(&key, "/v1/workers").await.body["data"][0].clone();
    assert_eq!(
        worker,
        json!({
            "process_id": format!("prc_{}", "01".repeat(16)), "name": "host-1", "build": "forebay/1.2.3",
            "roles": ["work", "maintain"], "slots": 7, "jobs_in_hand": 3, "pools": ["openai"],
            "leads": ["maintenance"], "started_at": now, "heard_at": worker["heard_at"], "silent": false,
        })
    );

    let reader = bench.key("a", &[Scope::Read]).await;
    assert_eq!(bench.get(&reader, "/v1/workers").await.code(), "forbidden");
    assert_eq!(bench.get(&key, "/v1/workers?state=silent").await.code(), "invalid_parameter");
}
