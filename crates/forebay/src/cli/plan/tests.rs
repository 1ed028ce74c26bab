use super::*;
use clap::Parser;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: PlanArgs,
}

const BURST: &str = "--backlog 10000 --attempts 1.10 --service 15s --tokens 6000 --requests-per-minute 600 \
                     --tokens-per-minute 600_000 --max-in-flight 30";

fn args(line: &str) -> PlanArgs {
    Line::try_parse_from(std::iter::once("plan").chain(line.split_whitespace())).unwrap().args
}

fn shown(line: &str) -> String {
    let plan = args(line).plan().unwrap();
    format!("{}\n{}", report::limits(&plan).trim_fmt(), report::lines(&plan).join("\n"))
}

#[test]
fn a_burst_is_planned_in_a_table_and_sentences() {
    insta::assert_snapshot!(shown(&format!("{BURST} --arrivals 1/s --service-p95 40s --deadline 55m")), @r"
    LIMIT                AT MOST  ATTEMPTS/S  JOBS/S
    tokens_per_minute    600000   1.6667      1.5152  binds
    max_in_flight        30       2.0000      1.8182
    requests_per_minute  600      10.0000     9.0909
    in flight      16.50 calls on average, 44 if all took as long as the p95
    workers        24 by utilization, 25 by headroom
                   more than 25 are of no use below these limits
    backlog alone  done in 6600 s (1 h 50 min)
    with arrivals  done in 19412 s (5 h 24 min)
    late           5000 jobs of the backlog at the deadline
    ");
}

#[test]
fn above_capacity_it_says_so() {
    let text = shown(&format!("{BURST} --arrivals 2/s"));
    let said = "no steady state exists: the backlog grows by 0.4848 jobs a second, 1745 an hour";
    assert!(text.contains(said), "{text}");
}

#[test]
fn the_json_has_units_in_its_names() {
    let document = report::document(&args(&format!("{BURST} --arrivals 120/min")).plan().unwrap());
    assert_eq!(document["binding"], "tokens_per_minute");
    assert_eq!(document["with_arrivals"]["steady"], false);
    assert!((document["backlog_alone"]["drained_after_seconds"].as_f64().unwrap() - 6_600.0).abs() < 1e-6);
    assert!((document["capacities"][0]["jobs_per_second"].as_f64().unwrap() - 50.0 / 33.0).abs() < 1e-9);
}

#[test]
fn what_is_missing_is_named_with_the_flag() {
    let error = args("--tokens-per-minute 1000 --max-in-flight 5").plan().unwrap_err();
    assert_eq!(
        error.to_string(),
        "tokens_per_minute says nothing without the tokens that an attempt reserves\n\
         max_in_flight says nothing without the mean time that an attempt takes\n  \
         fix: give --tokens N, or --input-tokens N and --output-tokens N; --service SPAN"
    );
}

#[test]
fn values_are_read_in_their_units() {
    assert_eq!(rate("30/min"), rate("0.5/s"));
    assert_eq!(rate("1800/h"), rate("43200/day"));
    assert_eq!(share("70%"), share("0.7"));
    assert_eq!(count("600_000"), Ok(600_000));
    for wrong in ["5", "5/", "/s", "5/w", "-1/s"] {
        assert!(rate(wrong).is_err(), "{wrong}");
    }
    assert!(count("_").is_err() && count("1.5").is_err() && share("x%").is_err() && decimal("1e3").is_err());
}

#[test]
fn a_drawing_has_a_line_for_each_course_and_stays_inside() {
    let lines = |line: &str| {
        let svg = plot::drawn(&args(line).plan().unwrap()).unwrap();
        let points = svg.split("points=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        points.collect::<Vec<_>>()
    };
    let both = lines(&format!("{BURST} --arrivals 1/s"));
    assert_eq!(both, ["70.0,40.0 277.4,275.0 680.0,275.0", "70.0,40.0 680.0,275.0"]);
    for line in [
        "--requests-per-day 1000 --requests-per-minute 600 --backlog 2500",
        "--requests-per-minute 60 --arrivals 2/s",
    ] {
        for point in lines(line).join(" ").split(' ') {
            let (x, y) = point.split_once(',').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!((70.0..=680.0).contains(&x) && (40.0..=275.0).contains(&y), "{point} of {line}");
        }
    }
    assert!(plot::drawn(&args("--requests-per-minute 60").plan().unwrap()).is_none());
}
