//! `forebay plan`: what limits allow and what a load needs, from numbers that are given.

mod plot;
mod report;

use std::path::PathBuf;

use clap::Args;
use forebay_core::capacity::planner::{self, Attempt, Fault, Load, Plan, Room, Tokens};
use forebay_core::capacity::ratio::Ratio;
use forebay_core::definition::PoolLimits;
use forebay_core::time::Millis;
use forebay_core::window::Dimension;

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::values::duration;

/// Arguments of `forebay plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// Jobs that arrive: 0.5/s, 30/min, 1800/h or 20000/day
    #[arg(long, value_name = "RATE", value_parser = rate, default_value = "0/s", help_heading = LOAD)]
    arrivals: Ratio,
    /// Jobs that wait at the start
    #[arg(long, value_name = "N", value_parser = count, default_value = "0", help_heading = LOAD)]
    backlog: u64,
    /// Attempts that a job takes on average
    #[arg(long, value_name = "N", value_parser = decimal, default_value = "1", help_heading = LOAD)]
    attempts: Ratio,
    /// How long an attempt takes on average: 15s
    #[arg(long, value_name = "SPAN", value_parser = duration, help_heading = LOAD)]
    service: Option<Millis>,
    /// How long 95 of 100 attempts take at most
    #[arg(long, value_name = "SPAN", value_parser = duration, help_heading = LOAD)]
    service_p95: Option<Millis>,
    /// Tokens that an attempt reserves for what is sent
    #[arg(long, value_name = "N", value_parser = count, help_heading = LOAD)]
    input_tokens: Option<u64>,
    /// Tokens that it reserves for the answer
    #[arg(long, value_name = "N", value_parser = count, help_heading = LOAD)]
    output_tokens: Option<u64>,
    /// Tokens that it reserves in all, where not the sum of both
    #[arg(long, value_name = "N", value_parser = count, help_heading = LOAD)]
    tokens: Option<u64>,
    /// When the backlog must be done: says how many jobs are late
    #[arg(long, value_name = "SPAN", value_parser = duration, help_heading = LOAD)]
    deadline: Option<Millis>,
    /// The share of jobs that miss their deadline, where it is known: 2%
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = LOAD)]
    late: Option<Ratio>,
    #[command(flatten)]
    limits: LimitArgs,
    /// The share of their time that workers are to be busy
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "70%", help_heading = "Workers")]
    utilization: Ratio,
    /// The other rule for workers: how many times those that are busy on average
    #[arg(long, value_name = "N", value_parser = decimal, default_value = "1.5", help_heading = "Workers")]
    headroom: Ratio,
    /// Draws the backlog over time into this file, as SVG
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    plot: Option<PathBuf>,
}

const LOAD: &str = "Load";

/// What a pool may take.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Calls in a minute
    #[arg(long, value_name = "N", value_parser = count)]
    requests_per_minute: Option<u64>,
    /// Tokens sent in a minute
    #[arg(long, value_name = "N", value_parser = count)]
    input_tokens_per_minute: Option<u64>,
    /// Tokens of answers in a minute
    #[arg(long, value_name = "N", value_parser = count)]
    output_tokens_per_minute: Option<u64>,
    /// Tokens in both directions in a minute
    #[arg(long, value_name = "N", value_parser = count)]
    tokens_per_minute: Option<u64>,
    /// Calls in a day
    #[arg(long, value_name = "N", value_parser = count)]
    requests_per_day: Option<u64>,
    /// Tokens in a day
    #[arg(long, value_name = "N", value_parser = count)]
    tokens_per_day: Option<u64>,
    /// Calls at the same time
    #[arg(long, value_name = "N", value_parser = count)]
    max_in_flight: Option<u64>,
    /// Tokens reserved by calls under way
    #[arg(long, value_name = "N", value_parser = count)]
    max_tokens_in_flight: Option<u64>,
}

impl LimitArgs {
    fn given(&self) -> Vec<(Dimension, u64)> {
        let limits = PoolLimits {
            requests_per_minute: self.requests_per_minute,
            input_tokens_per_minute: self.input_tokens_per_minute,
            output_tokens_per_minute: self.output_tokens_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            requests_per_day: self.requests_per_day,
            tokens_per_day: self.tokens_per_day,
            max_in_flight: self.max_in_flight,
            max_tokens_in_flight: self.max_tokens_in_flight,
            ..PoolLimits::default()
        };
        limits.limited().collect()
    }
}

impl PlanArgs {
    fn plan(&self) -> Result<Plan, CliError> {
        let load = Load {
            arrivals: self.arrivals,
            backlog: self.backlog,
            attempts_per_job: self.attempts,
            attempt: Attempt {
                mean: self.service,
                p95: self.service_p95,
                input_tokens: self.input_tokens,
                output_tokens: self.output_tokens,
                total_tokens: self.tokens,
            },
            deadline: self.deadline,
            late_share: self.late,
        };
        let room = Room { utilization: self.utilization, headroom: self.headroom };
        planner::plan(&load, &self.limits.given(), &room).map_err(|faults| refused(&faults))
    }
}

/// Plans, prints and draws.
pub async fn run(args: PlanArgs, output: &Output) -> Result<Exit, CliError> {
    if args.limits.given().is_empty() && args.service.is_none() && args.late.is_none() {
        let fix =
            "give a limit, such as --tokens-per-minute 600000, or how long an attempt takes: --service 15s";
        return Err(CliError::usage("there is nothing to plan with", fix));
    }
    let plan = args.plan()?;
    if let Some(path) = &args.plot {
        let drawing = plot::drawn(&plan).ok_or_else(|| {
            let fix = "give a limit, and a --backlog or --arrivals";
            CliError::usage("there is nothing to draw: neither a limit nor a load", fix)
        })?;
        let written = tokio::fs::write(path, drawing).await;
        written.map_err(|error| CliError::failed(&format!("can't write {}", path.display()), &error))?;
    }
    if output.is_json() {
        output.record(&report::document(&plan))?;
        return Ok(Exit::Done);
    }
    if !plan.capacities.is_empty() {
        output.table(report::limits(&plan))?;
    }
    report::lines(&plan).iter().try_for_each(|line| output.line(line))?;
    if let Some(path) = &args.plot {
        output.note(&format!("drawn: {}", path.display()));
    }
    Ok(Exit::Done)
}

fn refused(faults: &[Fault]) -> CliError {
    let problems: Vec<_> = faults.iter().map(ToString::to_string).collect();
    let mut fixes: Vec<_> = faults
        .iter()
        .map(|fault| match fault {
            Fault::NoTokens(_, Tokens::Input) => "--input-tokens N",
            Fault::NoTokens(_, Tokens::Output) => "--output-tokens N",
            Fault::NoTokens(_, Tokens::Total) => "--tokens N, or --input-tokens N and --output-tokens N",
            Fault::NoMean(_) => "--service SPAN",
            Fault::NeverFits { .. } => "a larger limit, or fewer tokens",
            Fault::OutOfRange { .. } => "another number",
        })
        .collect();
    fixes.dedup();
    CliError::usage(problems.join("\n"), format!("give {}", fixes.join("; ")))
}

/// Reads a whole number; digits may be grouped by `_`.
fn count(text: &str) -> Result<u64, String> {
    let is_digits = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    let digits = text.replace('_', "");
    let number = digits.parse().ok().filter(|_| is_digits);
    number.ok_or_else(|| "expected a whole number, such as 600000 or 600_000".to_owned())
}

fn decimal(text: &str) -> Result<Ratio, String> {
    Ratio::parse(text).ok_or_else(|| "expected a number, such as 1.10".to_owned())
}

/// Reads a share: `70%` or `0.7`.
fn share(text: &str) -> Result<Ratio, String> {
    let read = match text.strip_suffix('%') {
        Some(percent) => Ratio::parse(percent).and_then(|percent| percent.over(Ratio::whole(100))),
        None => Ratio::parse(text),
    };
    read.ok_or_else(|| "expected a share, such as 70% or 0.7".to_owned())
}

/// Reads how many in which time, as how many in a second.
fn rate(text: &str) -> Result<Ratio, String> {
    const UNITS: [(&str, u64); 4] = [("s", 1), ("min", 60), ("h", 3_600), ("day", 86_400)];
    let read = text.split_once('/').and_then(|(number, unit)| {
        let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        Ratio::parse(number)?.over(Ratio::whole(seconds))
    });
    read.ok_or_else(|| "expected a rate: 0.5/s, 30/min, 1800/h or 20000/day".to_owned())
}

#[cfg(test)]
mod tests;
