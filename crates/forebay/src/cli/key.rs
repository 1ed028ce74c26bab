//! `forebay key`: API keys.

use clap::{Args, Subcommand};
use forebay_core::id::KeyId;
use forebay_store::record::Scope;
use forebay_store::{Clock as _, SystemClock};
use http::Method;
use serde_json::{Value, json};

use super::client::Ask;
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::table::{self, Column, Show, cell};
use super::values::{Limit, When, count_limit};

/// Arguments of `forebay key`.
#[derive(Debug, Clone, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
    /// Whose keys [default: those of the tenant whose key is used]
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// What to do with keys.
#[derive(Debug, Clone, Subcommand)]
enum KeyCommand {
    /// All keys, without their secrets
    List,
    /// Makes a key and prints it, this once
    Create(CreateArgs),
    /// Changes how many calls the jobs of a key may have at the same time
    Limit {
        /// The key's id, as `forebay key list` shows it
        key: KeyId,
        /// Calls at the same time, or `none`
        #[arg(long, value_parser = count_limit, value_name = "N")]
        max_in_flight: Limit<u64>,
    },
    /// Makes a key stop working
    Revoke {
        /// The key's id, as `forebay key list` shows it
        key: KeyId,
    },
}

/// A key to be made.
#[derive(Debug, Clone, Args)]
struct CreateArgs {
    /// What it is for
    name: String,
    /// What it may do: submit, read, inspect, review, operate, admin; several with commas
    #[arg(long, required = true, value_delimiter = ',', value_parser = scope, value_name = "SCOPE")]
    scope: Vec<Scope>,
    /// Until when it works: a span from now such as 90d, or a time
    #[arg(long, value_name = "TIME")]
    expires: Option<When>,
    /// Calls at the same time of the jobs that it hands in [default: no limit]
    #[arg(long, value_name = "N")]
    max_in_flight: Option<u64>,
}

fn scope(name: &str) -> Result<Scope, String> {
    let names = || Scope::ALL.map(Scope::name).join(", ");
    Scope::from_name(name).ok_or_else(|| format!("expected one of {}", names()))
}

const COLUMNS: [Column; 10] = [
    ("KEY", "/key_id", Show::Plain),
    ("NAME", "/name", Show::Plain),
    ("TENANT", "/tenant", Show::Plain),
    ("BEGINS", "/hint", Show::Plain),
    ("SCOPES", "/scopes", Show::Plain),
    ("IN FLIGHT", "/in_flight", Show::Plain),
    ("MAX IN FLIGHT", "/max_in_flight", Show::Plain),
    ("CREATED", "/created_at", Show::Plain),
    ("EXPIRES", "/expires_at", Show::Plain),
    ("REVOKED", "/revoked_at", Show::Plain),
];

/// Does it.
pub async fn run(args: KeyArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let of_tenant = |ask: Ask| ask.query("tenant", args.tenant.as_deref());
    match &args.command {
        KeyCommand::List => {
            let keys = client.json(of_tenant(Ask::get(&["v1", "keys"]))).await?;
            show(table::rows(&keys), output)?;
        }
        KeyCommand::Create(create) => {
            let ask = Ask::post(&["v1", "keys"]).json(&create.body());
            let created = client.json(of_tenant(ask)).await?;
            show_created(&created, output)?;
        }
        KeyCommand::Limit { key, max_in_flight } => {
            let body = match max_in_flight {
                Limit::At(calls) => json!({ "max_in_flight": calls }),
                Limit::None => json!({}),
            };
            let ask = Ask::new(Method::PUT, &["v1", "keys", &key.to_string()]).json(&body);
            show(&[client.json(of_tenant(ask)).await?], output)?;
        }
        KeyCommand::Revoke { key } => {
            let ask = Ask::new(Method::DELETE, &["v1", "keys", &key.to_string()]);
            let revoked = client.json(of_tenant(ask)).await?;
            show_revoked(*key, &revoked, output)?;
        }
    }
    Ok(Exit::Done)
}

fn show(keys: &[Value], output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return keys.iter().try_for_each(|key| output.record(key));
    }
    output.table(table::of(keys, &COLUMNS))
}

fn show_created(created: &Value, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(created);
    }
    output.note(&format!("{} was made; it is shown this once:", cell(created.get("key_id"), Show::Plain)));
    output.line(&cell(created.get("key"), Show::Plain))
}

fn show_revoked(key: KeyId, revoked: &Value, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(revoked);
    }
    output.line(&format!("{key}  revoked"))
}

impl CreateArgs {
    fn body(&self) -> Value {
        let scopes: Vec<_> = self.scope.iter().map(|scope| scope.name()).collect();
        let mut body = json!({ "name": self.name, "scopes": scopes });
        if let Some(expires) = self.expires {
            body["expires_at"] = json!(expires.from(SystemClock.now()));
        }
        if let Some(calls) = self.max_in_flight {
            body["max_in_flight"] = json!(calls);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_asked_for_with_what_is_named() {
        let create = CreateArgs {
            name: "erp".to_owned(),
            scope: vec![Scope::Submit, Scope::Read],
            expires: Some("2026-12-01T10:00:00Z".parse().unwrap()),
            max_in_flight: Some(3),
        };
        let expected = json!({
            "name": "erp", "scopes": ["submit", "read"], "expires_at": "2026-12-01T10:00:00.000Z", "max_in_flight": 3,
        });
        assert_eq!(create.body(), expected);
    }
}
