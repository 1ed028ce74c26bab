//! What was measured on: the build, the machine, the database server, and what was asked for.

use serde_json::{Value, json};

use super::BenchArgs;
use super::scratch::Server;
use crate::cli::error::CliError;
use crate::runtime::BUILD;

/// Everything but the figures.
pub(super) async fn record(args: &BenchArgs, seed: u64) -> Result<Value, CliError> {
    let server = match &args.postgres {
        Some(url) => Some(Server::connect(url).await?.about().await?),
        None => None,
    };
    Ok(json!({
        "build": { "name": BUILD, "is_debug": cfg!(debug_assertions) },
        "machine": machine(),
        "store": { "kind": if server.is_some() { "postgres" } else { "sqlite" }, "server": server },
        "settings": {
            "rounds": args.rounds,
            "seconds": args.seconds,
            "connections": args.connections,
            "rate": args.rate,
            "jobs": args.jobs,
            "waiting": args.waiting,
            "tenants": args.tenants,
            "in_flight": args.in_flight,
            "idle": args.idle,
            "seed": seed,
        },
    }))
}

fn machine() -> Value {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches([' ', '\t', ':']).trim_end().to_owned())
    };
    json!({
        "cpu": value(&file("/proc/cpuinfo"), "model name"),
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": value(&file("/proc/meminfo"), "MemTotal"),
        "system": file("/proc/sys/kernel/osrelease").trim(),
    })
}
