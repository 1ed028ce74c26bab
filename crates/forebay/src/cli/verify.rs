//! `forebay verify`: judges a store from its records and from logs.

use std::path::{Path, PathBuf};

use clap::Args;
use forebay_core::digest::Digest;
use forebay_core::time::Millis;
use forebay_store::StoreError;
use forebay_store::blob::Blobs as _;
use forebay_store::blob::s3::S3Bucket;
use futures_util::StreamExt as _;

use super::error::CliError;
use super::exit::Exit;
use super::output::{Mark, Output};
use super::store;
use super::values::duration;
use crate::blobs;
use crate::config::{self, BlobPlace, Key, Sources, StoreUrl};
use crate::verify::records::Records;
use crate::verify::report::{Report, Verdict, Violation};
use crate::verify::world::Outside;
use crate::verify::{Unreadable, judge, logs, look_at_blob, look_at_blobs, postgres, sqlite};

/// Blobs that a bucket is asked for at the same time.
const AT_ONCE: usize = 16;
/// Violations that are shown to a person; JSON has all of them.
const SHOWN: usize = 50;

/// Arguments of `forebay verify`.
#[derive(Debug, Clone, Args)]
pub struct VerifyArgs {
    /// The database, sqlite:PATH or postgres://USER@HOST/DATABASE; it is read only, whether a server has it open
    /// or not
    #[arg(
        long,
        env = "FOREBAY_STORE",
        hide_env_values = true,
        default_value = "sqlite:forebay.db",
        value_name = "URL"
    )]
    pub store: String,
    /// Where blobs are: a folder, or s3://BUCKET/PREFIX [default: FOREBAY_BLOBS, else the folder beside the database]
    #[arg(long, value_name = "PLACE")]
    pub blobs: Option<String>,
    /// The server's configuration file, for where its blobs are and how a bucket is reached
    #[arg(long, env = "FOREBAY_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The simulator's log of calls: JSON lines as `GET /_sim/requests` or `forebay sim --log` gives them
    #[arg(long, value_name = "FILE")]
    pub sim_log: Option<PathBuf>,
    /// A client's log of what it submitted and what was answered: JSON lines, see docs/verify.md
    #[arg(long, value_name = "FILE")]
    pub client_log: Option<PathBuf>,
    /// A log of the server, in which no prompt and no key may stand; several times for several
    #[arg(long, value_name = "FILE")]
    pub server_log: Vec<PathBuf>,
    /// Nothing may be left for machines to do
    #[arg(long)]
    pub drained: bool,
    /// Leaves out what compares times: a clock was set meanwhile
    #[arg(long)]
    pub clock_moved: bool,
    /// How long maintenance may take with what is due
    #[arg(long, value_name = "SPAN", default_value = "10s", value_parser = duration)]
    pub grace: Millis,
}

/// Judges.
pub async fn run(args: VerifyArgs, output: &Output) -> Result<Exit, CliError> {
    let store = store::named(&args.store)?;
    let place = place(&args)?;
    let outside = aside(move || outside(&args)).await??;
    let mut records = read(&store).await?;
    match place {
        BlobPlace::Bucket(bucket) => look_into(&bucket, &mut records).await?,
        // A server's database does not say where its files are.
        BlobPlace::Folder(folder)
            if records.blobs.is_empty() || folder.is_dir() || matches!(store, StoreUrl::Sqlite(_)) =>
        {
            records = aside(move || with_blobs(records, &folder)).await?;
        }
        BlobPlace::Folder(folder) => output.note(&format!(
            "there is no folder {}: blobs are not looked at; --blobs names another place",
            folder.display()
        )),
    }
    let report = aside(move || judge(&records, &outside)).await?;
    show(&report, output)?;
    Ok(if report.holds { Exit::Done } else { Exit::Failed })
}

/// Runs what takes long where it keeps nobody waiting.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CliError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| CliError::failed("the verification broke off", &error))
}

fn outside(args: &VerifyArgs) -> Result<Outside, CliError> {
    let bad_log = |error: logs::BadLog| {
        CliError::usage(error.to_string(), "give a file of JSON lines, as docs/verify.md describes them")
    };
    Ok(Outside {
        calls: args.sim_log.as_deref().map(logs::calls).transpose().map_err(bad_log)?,
        told: args.client_log.as_deref().map(logs::told).transpose().map_err(bad_log)?,
        server_logs: args.server_log.iter().map(server_log).collect::<Result<_, _>>()?,
        drained: args.drained,
        grace: args.grace.get(),
        clock_moved: args.clock_moved,
    })
}

async fn read(store: &StoreUrl) -> Result<Records, CliError> {
    let records = match store.clone() {
        StoreUrl::Sqlite(path) => aside(move || sqlite::read(&path)).await?,
        StoreUrl::Postgres(target) => {
            let (client, link) = store::connect(&target).await?;
            let records = postgres::read(&client, &target.to_string()).await;
            drop(client);
            link.stop().await;
            records
        }
    };
    records.map_err(|error| match error {
        Unreadable::Open { .. } => CliError::NoStore {
            problem: error.to_string(),
            fix: "name the database with --store sqlite:PATH or postgres://USER@HOST/DATABASE".to_owned(),
        },
        Unreadable::Read { .. } => CliError::Failed(error.to_string()),
    })
}

/// Where a server that is started here in the same way has its blobs.
fn place(args: &VerifyArgs) -> Result<BlobPlace, CliError> {
    let named =
        args.blobs.clone().map(|place| match place.starts_with("s3://") || place.starts_with("folder:") {
            true => place,
            false => format!("folder:{place}"),
        });
    let flags = [(Key::Store, "--store", Some(args.store.clone())), (Key::Blobs, "--blobs", named)];
    let flags = flags.into_iter().filter_map(|(key, flag, value)| Some((key, flag, value?))).collect();
    let environment = |name: &str| std::env::var(name).ok();
    let settings = config::load(Sources { file: args.config.clone(), environment: &environment, flags });
    Ok(settings.map_err(CliError::Configuration)?.blobs)
}

/// Looks at every blob of a bucket that a row refers to. What is wrong with one is for the judge; that the bucket can't be
/// read is not.
async fn look_into(bucket: &S3Bucket, records: &mut Records) -> Result<(), CliError> {
    let unread = |reason: String| CliError::Failed(format!("blobs can't be read: {reason}"));
    let blobs = blobs::reach(bucket).map_err(unread)?;
    let looks = records.blobs.clone().into_iter().map(|(job, digest)| {
        let blobs = &blobs;
        async move {
            let found = match <[u8; 32]>::try_from(digest.as_slice()) {
                Ok(bytes) => blobs.get(Digest::from_bytes(bytes)).await,
                Err(_) => Ok(None),
            };
            (job, digest, found)
        }
    });
    let mut found = futures_util::stream::iter(looks).buffered(AT_ONCE);
    while let Some((job, digest, found)) = found.next().await {
        let bytes = match found {
            Ok(bytes) => bytes.ok_or_else(|| "it is not in the bucket".to_owned()),
            Err(StoreError::Blob { reason, .. }) => Err(reason),
            Err(error) => return Err(unread(error.to_string())),
        };
        look_at_blob(records, job, &digest, bytes);
    }
    Ok(())
}

fn with_blobs(mut records: Records, folder: &Path) -> Records {
    look_at_blobs(&mut records, folder);
    records
}

fn server_log(path: &PathBuf) -> Result<(String, String), CliError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|error| CliError::usage(format!("{name}: {error}"), "name a file that is there"))?;
    Ok((name, String::from_utf8_lossy(&bytes).into_owned()))
}

fn show(report: &Report, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(report);
    }
    for line in &report.invariants {
        let mark = match line.verdict {
            Verdict::Holds => Mark::Ok,
            Verdict::NothingSeen => Mark::Warn,
            Verdict::Violated => Mark::Fail,
        };
        let seen = match line.verdict {
            Verdict::NothingSeen => "nothing to look at".to_owned(),
            Verdict::Holds => format!("{} looked at", line.looked_at),
            Verdict::Violated => format!("{} of {}", line.violations, line.looked_at),
        };
        output
            .marked(mark, &format!("{:<4} {seen:<20} {}", format!("{:?}", line.invariant), line.sentence))?;
    }
    figures(report, output)?;
    report.violations.iter().take(SHOWN).try_for_each(|violation| violated(violation, output))?;
    if report.violations.len() > SHOWN {
        output.note(&format!("{} more violations; --json has all of them", report.violations.len() - SHOWN));
    }
    Ok(())
}

fn figures(report: &Report, output: &Output) -> Result<(), CliError> {
    let figures = &report.figures;
    let mut line = format!(
        "\n{} jobs, {} attempts, {} events, {} rescued, {} unknown",
        figures.jobs, figures.attempts, figures.events, figures.rescues, figures.unknown
    );
    if let (Some(promised), Some(lost)) = (figures.promised, figures.lost) {
        line.push_str(&format!("; {promised} promised, {lost} lost"));
    }
    if let (Some(calls), Some(unexplained)) = (figures.calls, figures.unexplained_calls) {
        line.push_str(&format!("; {calls} calls, {unexplained} unexplained"));
    }
    if let Some(difference) = figures.money_difference_micros {
        line.push_str(&format!(", {difference} micro-units between ledger and bill"));
    }
    output.line(&line)
}

fn violated(violation: &Violation, output: &Output) -> Result<(), CliError> {
    let names = [&violation.job_id, &violation.attempt_id].into_iter().flatten();
    let about: Vec<_> = names.map(String::as_str).collect();
    output.line(&format!(
        "\n{:?}  not true: {}  {}",
        violation.invariant,
        violation.problem,
        about.join(" ")
    ))?;
    violation.rows.iter().try_for_each(|row| output.line(&format!("    {row}")))
}
