//! What the tour runs on: a temporary store, a service, and a simulated provider unless a real one is given.

use std::net::SocketAddr;
use std::path::PathBuf;

use reqwest::Url;
use secrecy::SecretString;

use super::invoices;
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::config::Settings;
use crate::runtime::random_bytes;
use crate::service::{self, Service};
use crate::sim::{self, SimHandle, SimOptions};
use crate::{definitions, sim::scenario::Scenario};

/// Everything that the tour started, to be ended with it.
pub(super) struct Stage {
    folder: PathBuf,
    service: Service,
    sim: Option<SimHandle>,
    client: Client,
    key_file: PathBuf,
}

impl Stage {
    /// Starts simulator and service on free ports and a new folder.
    pub(super) async fn open() -> Result<Self, CliError> {
        let folder =
            std::env::temp_dir().join(format!("forebay-demo-{:016x}", u64::from_be_bytes(random_bytes())));
        private_folder(&folder)?;
        let sim = if has_provider() { None } else { Some(simulator(invoices::scenario()).await?) };
        let definitions = match &sim {
            Some(sim) => simulated_definitions(&sim.base_url()),
            None => definitions::DEFAULT.to_owned(),
        };
        let settings = Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ..Settings::for_database(folder.join("forebay.db"))
        };
        let service = service::start_with(settings, &definitions)
            .await
            .map_err(|error| CliError::failed("the demo can't start", &error))?;
        let key_file = service.admin_key_file.clone();
        let client = client(&service)?;
        Ok(Self { folder, service, sim, client, key_file })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the model's answers are canned.
    pub(super) fn is_simulated(&self) -> bool {
        self.sim.is_some()
    }

    /// What a person reads first.
    pub(super) fn introduction(&self) -> String {
        let model = match &self.sim {
            Some(sim) => format!(
                "The provider is simulated ({}): the model's answers are canned, one for each document.\n\
                 What happens to them is real: schema, arithmetic, evidence, money, reviews.\n\
                 With OPENAI_API_KEY (and OPENAI_BASE_URL) set, the demo asks a real model instead.",
                sim.base_url()
            ),
            None => {
                "The provider is the one that OPENAI_BASE_URL and OPENAI_API_KEY name; its calls cost money."
                    .to_owned()
            }
        };
        format!("Forebay demo: a service on http://{}, with a temporary store.\n{model}\n", self.service.addr)
    }

    /// What a person can do while it serves on.
    pub(super) fn what_next(&self) -> String {
        let (url, key) = (format!("http://{}", self.service.addr), self.key_file.display());
        format!(
            "\nIt goes on serving until Ctrl-C; then its store is deleted. In another terminal:\n  \
             export FOREBAY_URL={url} FOREBAY_KEY=$(cat {key})\n  \
             forebay jobs\n  \
             forebay get JOB --attempts\n  \
             forebay review\n\
             The API's documentation: {url}/docs"
        )
    }

    /// Ends everything and removes what it left on the disk.
    pub(super) async fn close(self) {
        self.service.stop().await;
        if let Some(sim) = self.sim {
            sim.shutdown().await;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "the demo's folder could not be removed");
        }
    }
}

fn private_folder(folder: &std::path::Path) -> Result<(), CliError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .map_err(|error| CliError::failed(&format!("{} can't be made", folder.display()), &error))
}

/// Whether a real provider is named in the environment.
fn has_provider() -> bool {
    ["OPENAI_BASE_URL", "OPENAI_API_KEY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

async fn simulator(scenario: Scenario) -> Result<SimHandle, CliError> {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    sim::serve(SimOptions { listen, scenario, ..SimOptions::default() })
        .await
        .map_err(|error| CliError::failed("the simulator can't start", &error))
}

/// The default definitions, with the simulator in the provider's place.
pub(super) fn simulated_definitions(base_url: &str) -> String {
    definitions::DEFAULT
        .replace("base_url = \"https://api.openai.com/v1\"", &format!("base_url = \"{base_url}\""))
        .replace("\nbase_url_env = \"OPENAI_BASE_URL\"\n", "\n")
        .replace("\napi_key_env = \"OPENAI_API_KEY\"\n", "\n")
        // A tour that waits for a minute to pass shows nothing but the wait.
        .replace("\ntokens_per_minute = 200000\n", "\ntokens_per_minute = 20000000\n")
}

fn client(service: &Service) -> Result<Client, CliError> {
    let url = format!("http://{}", service.addr);
    let url = Url::parse(&url).map_err(|error| CliError::failed(&url, &error))?;
    let key = std::fs::read_to_string(&service.admin_key_file)
        .map_err(|error| CliError::failed("the admin key can't be read", &error))?;
    Client::new(url, Some(SecretString::from(key.trim().to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulator_takes_the_place_of_the_provider() {
        let source = simulated_definitions("http://127.0.0.1:1/v1");
        let definitions = definitions::load(&source, &definitions::no_files).unwrap();
        let provider = &definitions.providers["openai"];
        assert_eq!((provider.base_url.as_str(), &provider.credential), ("http://127.0.0.1:1/v1", &None));
        assert!(!source.contains("api.openai.com/v1"));
        assert_eq!(definitions.pools["openai"].limits.tokens_per_minute, Some(20_000_000));
    }
}
