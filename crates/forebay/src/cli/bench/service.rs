//! A service as a process of its own, and tenants of it.

use std::net::SocketAddr;

use reqwest::Url;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::caller::Target;
use super::stage::{Folder, Process};
use crate::cli::client::{Ask, Client};
use crate::cli::error::CliError;

/// A running service.
pub(super) struct Service {
    pub(super) process: Process,
    url: Url,
    /// Who may do everything; the tenant `default`.
    pub(super) admin: Tenant,
}

/// A tenant, by a key of it that may do everything there.
pub(super) struct Tenant {
    name: String,
    key: String,
    pub(super) client: Client,
}

impl Tenant {
    fn new(name: &str, key: String, url: &Url) -> Result<Self, CliError> {
        let client = Client::new(url.clone(), Some(SecretString::from(key.clone())))?;
        Ok(Self { name: name.to_owned(), key, client })
    }

    /// How many of its jobs have not ended.
    pub(super) async fn pending_jobs(&self) -> Result<f64, CliError> {
        let tenant = self.client.json(Ask::get(&["v1", "tenants", &self.name])).await?;
        let pending = tenant.pointer("/use/pending_jobs").and_then(Value::as_f64);
        pending.ok_or_else(|| CliError::Failed(format!("no count of pending jobs in {tenant}")))
    }
}

impl Service {
    /// A service on the database of this folder, with these roles and so many calls in hand at most.
    pub(super) async fn start(folder: &Folder, roles: &str, slots: u32) -> Result<Self, CliError> {
        let store = folder.store();
        let arguments = ["serve", "--store", &store, "--listen", "127.0.0.1:0", "--roles", roles];
        let environment = [("FOREBAY_SLOTS", slots.to_string())];
        let process = Process::start(folder.path(), &arguments, &environment).await?;
        let key = std::fs::read_to_string(folder.path().join(process.url("admin_key_file")))
            .map_err(|error| CliError::failed("the admin key can't be read", &error))?;
        let url = Url::parse(process.url("url")).map_err(|error| CliError::failed("no address", &error))?;
        let admin = Tenant::new("default", key.trim().to_owned(), &url)?;
        Ok(Self { process, url, admin })
    }

    fn address(&self) -> Result<SocketAddr, CliError> {
        self.process.address("url")
    }

    /// What it takes to submit jobs of the task `chat` for a tenant.
    pub(super) fn jobs_of(&self, tenant: &Tenant) -> Result<Target, CliError> {
        Ok(Target::jobs(self.address()?, &tenant.key))
    }

    /// The same for its first tenant.
    pub(super) fn jobs(&self) -> Result<Target, CliError> {
        self.jobs_of(&self.admin)
    }

    /// Makes a tenant of that name.
    pub(super) async fn tenant(&self, name: &str) -> Result<Tenant, CliError> {
        let client = &self.admin.client;
        client.send(Ask::new(http::Method::PUT, &["v1", "tenants", name]).json(&json!({}))).await?;
        let wanted = json!({ "name": "bench", "scopes": ["admin"] });
        let ask = Ask::post(&["v1", "keys"]).query("tenant", Some(name)).json(&wanted);
        let answer = client.json(ask).await?;
        let key = answer["key"].as_str().unwrap_or_default().to_owned();
        Tenant::new(name, key, &self.url)
    }

    /// A tenant that an earlier service on the same store has made.
    pub(super) fn again(&self, tenant: &Tenant) -> Result<Tenant, CliError> {
        Tenant::new(&tenant.name, tenant.key.clone(), &self.url)
    }

    /// Makes these definitions the active ones.
    pub(super) async fn apply(&self, definitions: &str) -> Result<(), CliError> {
        let body = json!({ "source": definitions });
        let ask = Ask::post(&["v1", "revisions"]).json(&body).repeatable();
        self.admin.client.send(ask).await.map(drop)
    }

    pub(super) async fn end(self) -> Result<(), CliError> {
        self.process.end().await
    }
}

/// Where no provider is called, none has to be there.
const NO_PROVIDER: &str = "http://127.0.0.1:9/v1";

/// The task `chat`, whose calls nobody makes.
pub(super) fn without_provider() -> String {
    definitions(NO_PROVIDER, 1)
}

/// What the model is called there.
pub(super) const MODEL: &str = "sim";

/// The task `chat` with a provider at this address.
pub(super) fn definitions(base_url: &str, in_flight: u32) -> String {
    format!(
        "[providers.sim]\nbase_url = \"{base_url}\"\n\n\
         [pools.sim]\nprovider = \"sim\"\nmax_in_flight = {in_flight}\n\n\
         [models.small]\npool = \"sim\"\nprovider_model = \"{MODEL}\"\ncontext_tokens = 100000\n\
         max_output_tokens = 1000\ninput_micros_per_mtok = 250000\noutput_micros_per_mtok = 2000000\n\n\
         [tasks.chat]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 100\ndefault_ttl_ms = 86400000\n"
    )
}
