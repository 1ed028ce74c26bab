//! `forebay tenant`: who may use how much.

use clap::{Args, Subcommand};
use forebay_core::fairness::Weight;
use forebay_store::record::BudgetPeriod;
use http::Method;
use serde_json::{Map, Value, json};

use super::client::{Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{self, Column, Show};
use super::values::{Limit, count_limit, money_limit};

/// Arguments of `forebay tenant`.
#[derive(Debug, Clone, Args)]
pub struct TenantArgs {
    #[command(subcommand)]
    command: TenantCommand,
    #[command(flatten)]
    connection: Connection,
}

/// What to do with tenants.
#[derive(Debug, Clone, Subcommand)]
enum TenantCommand {
    /// All tenants, with their limits and what they have used
    List,
    /// One tenant
    Get {
        /// Its name
        name: String,
    },
    /// Makes a tenant or changes its limits; what is not named stays as it is
    Put(PutArgs),
}

/// The limits of a tenant.
#[derive(Debug, Clone, Args)]
struct PutArgs {
    /// Its name
    name: String,
    /// Jobs that have not ended, or `none` for no limit
    #[arg(long, value_parser = count_limit, value_name = "N")]
    max_pending_jobs: Option<Limit<u64>>,
    /// Calls at the same time, or `none`
    #[arg(long, value_parser = count_limit, value_name = "N")]
    max_in_flight: Option<Limit<u64>>,
    /// Its share of each pool beside other tenants, from 1 to 1000; a new tenant has 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Weight::MOST))]
    weight: Option<u64>,
    /// Money in a period, as 12.50, or `none`
    #[arg(long, value_parser = money_limit, value_name = "AMOUNT")]
    budget: Option<Limit<i64>>,
    /// In which spans the budget is counted: day, month or total
    #[arg(long, value_parser = period, value_name = "PERIOD")]
    budget_period: Option<BudgetPeriod>,
}

fn period(name: &str) -> Result<BudgetPeriod, String> {
    BudgetPeriod::from_name(name).ok_or_else(|| "expected day, month or total".to_owned())
}

const COLUMNS: [Column; 10] = [
    ("TENANT", "/name", Show::Plain),
    ("PENDING", "/use/pending_jobs", Show::Plain),
    ("MAX PENDING", "/max_pending_jobs", Show::Plain),
    ("IN FLIGHT", "/use/in_flight", Show::Plain),
    ("MAX IN FLIGHT", "/max_in_flight", Show::Plain),
    ("WEIGHT", "/weight", Show::Plain),
    ("BUDGET", "/budget/limit_micros", Show::Money),
    ("PERIOD", "/budget/period", Show::Plain),
    ("SPENT", "/use/budget/spent_micros", Show::Money),
    ("RESERVED", "/use/budget/reserved_micros", Show::Money),
];

/// Does it.
pub async fn run(args: TenantArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let answer = match &args.command {
        TenantCommand::List => client.json(Ask::get(&["v1", "tenants"])).await?,
        TenantCommand::Get { name } => client.json(Ask::get(&["v1", "tenants", name])).await?,
        TenantCommand::Put(put) => put.send(&client).await?,
    };
    let rows = match answer.get("data") {
        Some(Value::Array(rows)) => rows.as_slice(),
        _ => std::slice::from_ref(&answer),
    };
    if output.is_json() {
        rows.iter().try_for_each(|row| output.record(row))?;
    } else {
        output.table(table::of(rows, &COLUMNS))?;
    }
    Ok(Exit::Done)
}

impl PutArgs {
    async fn send(&self, client: &Client) -> Result<Value, CliError> {
        let path = ["v1", "tenants", self.name.as_str()];
        let before = match client.json(Ask::get(&path)).await {
            Ok(tenant) => tenant,
            Err(error) if error.problem().is_some_and(|problem| problem.status == 404) => json!({}),
            Err(error) => return Err(error),
        };
        client.json(Ask::new(Method::PUT, &path).json(&self.settings(&before)?)).await
    }

    /// The tenant's limits as they shall be: those of before, with what the arguments name.
    fn settings(&self, before: &Value) -> Result<Value, CliError> {
        let mut settings = Map::new();
        for name in ["max_pending_jobs", "max_in_flight", "budget", "weight"] {
            let kept = before.get(name).filter(|value| !value.is_null());
            settings.extend(kept.map(|value| (name.to_owned(), value.clone())));
        }
        set_limit(&mut settings, "max_pending_jobs", self.max_pending_jobs);
        set_limit(&mut settings, "max_in_flight", self.max_in_flight);
        settings.extend(self.weight.map(|weight| ("weight".to_owned(), weight.into())));
        match self.budget {
            Some(Limit::None) => drop(settings.remove("budget")),
            // A new limit is counted in the spans of the old one, unless others are named.
            Some(Limit::At(micros)) => match settings.get_mut("budget") {
                Some(budget) => budget["limit_micros"] = json!(micros),
                None => drop(settings.insert("budget".to_owned(), json!({ "limit_micros": micros }))),
            },
            None => {}
        }
        if let Some(period) = self.budget_period {
            let budget = settings.get_mut("budget").ok_or_else(|| {
                CliError::usage("--budget-period: the tenant has no budget", "name one with --budget")
            })?;
            budget["period"] = json!(period.name());
        }
        Ok(Value::Object(settings))
    }
}

fn set_limit<T: Into<Value>>(settings: &mut Map<String, Value>, name: &str, limit: Option<Limit<T>>) {
    match limit {
        Some(Limit::At(limit)) => drop(settings.insert(name.to_owned(), limit.into())),
        Some(Limit::None) => drop(settings.remove(name)),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(budget: Option<Limit<i64>>, budget_period: Option<BudgetPeriod>) -> PutArgs {
        PutArgs {
            name: "acme".to_owned(),
            max_pending_jobs: None,
            max_in_flight: None,
            weight: None,
            budget,
            budget_period,
        }
    }

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        let put = PutArgs { max_pending_jobs: Some(Limit::None), ..put(Some(Limit::At(7)), None) };
        let budget = json!({ "limit_micros": 5, "period": "day" });
        let before = json!({ "name": "acme", "max_pending_jobs": 9, "max_in_flight": 4, "weight": 3, "budget": budget });
        let after =
            json!({ "max_in_flight": 4, "weight": 3, "budget": { "limit_micros": 7, "period": "day" } });
        assert_eq!(put.settings(&before).unwrap(), after);
        let heavier = PutArgs { weight: Some(8), ..put };
        assert_eq!(heavier.settings(&before).unwrap()["weight"], 8);
    }

    #[test]
    fn a_budget_comes_and_goes_as_a_whole() {
        let month = Some(BudgetPeriod::Month);
        let budget = json!({ "budget": { "limit_micros": 7, "period": "month" } });
        assert_eq!(put(Some(Limit::At(7)), month).settings(&json!({})).unwrap(), budget);
        assert_eq!(put(Some(Limit::None), None).settings(&budget).unwrap(), json!({}));
        assert_eq!(put(None, month).settings(&json!({})).unwrap_err().exit(), Exit::Usage);
    }
}
