//! A plan as a table and sentences, and as JSON.

use comfy_table::Table;
use forebay_core::capacity::course::Outlook;
use forebay_core::capacity::planner::Plan;
use forebay_core::capacity::ratio::Ratio;
use serde_json::{Value, json};

use crate::cli::table::{self, Column, Show};

const COLUMNS: [Column; 5] = [
    ("LIMIT", "/dimension", Show::Plain),
    ("AT MOST", "/limit", Show::Plain),
    ("ATTEMPTS/S", "/attempts", Show::Plain),
    ("JOBS/S", "/jobs", Show::Plain),
    ("", "/binds", Show::Plain),
];

/// What each limit allows, the least first.
pub(super) fn limits(plan: &Plan) -> Table {
    let rows: Vec<Value> = plan
        .capacities
        .iter()
        .enumerate()
        .map(|(nth, capacity)| {
            json!({
                "dimension": capacity.dimension.name(),
                "limit": capacity.limit,
                "attempts": rate(capacity.attempts_per_second),
                "jobs": rate(capacity.jobs_per_second),
                "binds": if nth == 0 { "binds" } else { "" },
            })
        })
        .collect();
    table::of(&rows, &COLUMNS)
}

/// What follows from it, a sentence a line.
pub(super) fn lines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |name: &str, text: String| lines.push(format!("{name:<15}{text}"));
    if let Some(in_flight) = plan.in_flight.filter(|in_flight| !in_flight.mean.is_zero()) {
        let slow = in_flight
            .at_p95
            .map(|calls| format!(", {} if all took as long as the p95", number(calls.to_f64())));
        say(
            "in flight",
            format!("{} calls on average{}", number(in_flight.mean.to_f64()), slow.unwrap_or_default()),
        );
    }
    if let Some(workers) = plan.workers {
        let (busy, headroom) = (workers.by_utilization, workers.by_headroom);
        if busy > 0 {
            say("workers", format!("{busy} by utilization, {headroom} by headroom"));
        }
        if let Some(most) = workers.of_use {
            let name = if busy > 0 { "" } else { "workers" };
            say(name, format!("more than {most} are of no use below these limits"));
        }
    }
    if plan.course.backlog > 0
        && let Some(outlook) = plan.alone()
    {
        say("backlog alone", said(outlook));
    }
    if !plan.course.arrivals.is_zero()
        && let Some(outlook) = plan.with_arrivals()
    {
        say("with arrivals", said(outlook));
    }
    let late = &plan.late;
    if let Some(jobs) = late.by_deadline.filter(|_| plan.course.backlog > 0) {
        say("late", format!("{} jobs of the backlog at the deadline", number(jobs)));
    }
    if let Some(jobs) = late.of_backlog.filter(|jobs| !jobs.is_zero()) {
        say("late", format!("{} jobs of the backlog by their share", number(jobs.to_f64())));
    }
    if let Some(jobs) = late.an_hour.filter(|jobs| !jobs.is_zero()) {
        say("late", format!("{} jobs an hour by their share", number(jobs.to_f64())));
    }
    lines
}

/// All of it, with the unit at the end of each name.
pub(super) fn document(plan: &Plan) -> Value {
    let exact = |ratio: Option<Ratio>| ratio.map(Ratio::to_f64);
    let capacities: Vec<Value> = plan
        .capacities
        .iter()
        .map(|capacity| {
            json!({
                "dimension": capacity.dimension.name(),
                "limit": capacity.limit,
                "attempts_per_second": capacity.attempts_per_second.to_f64(),
                "jobs_per_second": capacity.jobs_per_second.to_f64(),
            })
        })
        .collect();
    json!({
        "capacities": capacities,
        "binding": plan.binding().map(|capacity| capacity.dimension.name()),
        "in_flight": plan.in_flight.map(|calls| json!({ "mean": calls.mean.to_f64(), "at_p95": exact(calls.at_p95) })),
        "workers": plan.workers.map(|workers| json!({
            "by_utilization": workers.by_utilization,
            "by_headroom": workers.by_headroom,
            "of_use": workers.of_use,
        })),
        "backlog_alone": plan.alone().map(outlook),
        "with_arrivals": plan.with_arrivals().map(outlook),
        "late_jobs": {
            "of_backlog_by_share": exact(plan.late.of_backlog),
            "an_hour_by_share": exact(plan.late.an_hour),
            "of_backlog_by_deadline": plan.late.by_deadline,
        },
    })
}

fn outlook(outlook: Outlook) -> Value {
    match outlook {
        Outlook::Drains { seconds } => json!({ "steady": true, "drained_after_seconds": seconds }),
        Outlook::Grows { jobs_per_second } => {
            json!({ "steady": false, "grows_by_jobs_per_second": jobs_per_second.to_f64() })
        }
    }
}

fn said(outlook: Outlook) -> String {
    match outlook {
        Outlook::Drains { seconds } => format!("done in {} s{}", number(seconds), in_words(seconds)),
        Outlook::Grows { jobs_per_second } if jobs_per_second.is_zero() => {
            "no steady state exists: as many jobs arrive as can leave, and waiting times have no bound"
                .to_owned()
        }
        Outlook::Grows { jobs_per_second } => {
            let hour = number(jobs_per_second.to_f64() * 3_600.0);
            let second = rate(jobs_per_second);
            format!("no steady state exists: the backlog grows by {second} jobs a second, {hour} an hour")
        }
    }
}

/// The same time in the two largest units, where seconds alone say little.
fn in_words(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    match minutes {
        _ if seconds < 120.0 => String::new(),
        _ if minutes < 60.0 => format!(" ({minutes} min)"),
        _ if minutes < 1_440.0 => format!(" ({} h {} min)", (minutes / 60.0).floor(), minutes % 60.0),
        _ => format!(" ({} d {} h)", (minutes / 1_440.0).floor(), (minutes % 1_440.0 / 60.0).floor()),
    }
}

fn rate(ratio: Ratio) -> String {
    format!("{:.4}", ratio.to_f64())
}

/// As whole as it is.
pub(super) fn number(value: f64) -> String {
    if value >= 100.0 || value.fract().abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.2}") }
}
