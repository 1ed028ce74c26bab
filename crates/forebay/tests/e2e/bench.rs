//! `forebay bench` measures every scenario on both stores, and leaves nothing behind.

use std::process::Command;

use serde_json::Value;

use crate::harness::FOREBAY;

/// All scenarios, and a figure that each must have.
const SCENARIOS: [(&str, &str); 10] = [
    ("floor", "cycles_per_second"),
    ("accept", "open_p99_ms"),
    ("drain", "per_second"),
    ("mixed", "per_second"),
    ("fairness", "p50_ms"),
    ("backlog", "claim_us_20_tenants"),
    ("latency", "p95_ms"),
    ("calls", "per_second"),
    ("in-flight", "calls_of_5_s"),
    ("idle", "memory_after_jobs_mb"),
];

/// As little of everything as there may be.
const TINY: &str = "bench --json --rounds 1 --seconds 1 --jobs 100 --waiting 100,200 --tenants 1,20 --in-flight 20 \
    --idle 1 --connections 8 --seed 7";

fn bench(more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(FOREBAY);
    command.args(TINY.split_whitespace()).args(more).arg("--folder").arg(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left in its folder");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn figure<'a>(report: &'a Value, scenario: &str, figure: &str) -> &'a Value {
    &report["scenarios"][scenario]["figures"][figure]["median"]
}

fn is_complete(report: &Value) {
    assert_eq!((report["format"].as_u64(), report["about"]["settings"]["seed"].as_u64()), (Some(1), Some(7)));
    for (scenario, name) in SCENARIOS {
        let value = figure(report, scenario, name).as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{scenario} has no {name}: {report:#}");
    }
    for scenario in ["accept", "fairness", "latency"] {
        let curve = report["scenarios"][scenario]["curve_ms"].as_array().unwrap();
        assert!(curve.len() > 10, "{scenario}: {curve:?}");
    }
    let ratio = figure(report, "accept", "of_floor").as_f64().unwrap();
    assert!(ratio > 0.0, "{ratio}");
}

#[test]
fn every_scenario_is_measured_on_sqlite() {
    let report = bench(&[]);
    is_complete(&report);
    assert_eq!(report["about"]["store"]["kind"], "sqlite");
    assert_eq!(figure(&report, "drain", "wal_bytes_per_job"), &Value::Null);
}

#[test]
fn every_scenario_is_measured_on_postgresql_and_what_a_job_costs_there() {
    let server =
        std::env::var("FOREBAY_TEST_POSTGRES").expect("FOREBAY_TEST_POSTGRES: scripts/services start");
    let report = bench(&["--postgres", &server]);
    is_complete(&report);
    let store = &report["about"]["store"];
    assert_eq!((&store["kind"], &store["server"]["synchronous_commit"]), (&"postgres".into(), &"on".into()));
    for scenario in ["accept", "drain", "calls"] {
        for count in ["statements", "round_trips", "wal_bytes", "commits", "buffers"] {
            let value = figure(&report, scenario, &format!("{count}_per_job")).as_f64();
            assert!(value.is_some_and(|value| value > 0.0), "{scenario} {count}: {report:#}");
        }
    }
    for ratio in ["of_single_inserts", "of_grouped_inserts"] {
        assert!(figure(&report, "accept", ratio).as_f64() > Some(0.0), "{ratio}");
    }
    assert!(figure(&report, "backlog", "snapshot_ratio").as_f64() > Some(0.0));
}
