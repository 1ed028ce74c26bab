//! Providers.

use forebay_core::definition::{Credential, Deadlines, Provider, ProviderKind};
use forebay_core::time::Millis;

use super::fault::Faults;
use super::parts::{section, within};
use super::{Section, Variables, written};

/// Reads `[providers.*]`.
pub(super) fn providers(faults: &mut Faults<'_>, variables: Variables<'_>) -> Section<Provider> {
    section(faults, "providers", |faults, path, written: written::Provider| {
        let name = path[1].to_owned();
        let base_url = base_url(faults, path, &written, variables);
        let kind = kind(faults, path, &written, &base_url);
        let deadlines = deadlines(faults, path, &written);
        let credential = credential(faults, path, written);
        Some(Provider { name, kind, base_url, credential, deadlines })
    })
}

/// The address, or what the environment says instead of it.
fn base_url(
    faults: &mut Faults<'_>,
    path: &[&str],
    written: &written::Provider,
    variables: Variables<'_>,
) -> String {
    let wrong = written.base_url_env.as_deref().is_some_and(|name| !is_variable(name));
    faults.when(wrong, &within(path, "base_url_env"), "this is no name of an environment variable");
    if let Some(wrong) = wrong_url(&written.base_url) {
        faults.at(&within(path, "base_url"), wrong);
    }
    let from_variable = written.base_url_env.as_deref().and_then(variables);
    if from_variable.as_deref() == Some("") {
        // Taken for absent, it would send every document to the address that stands in the definitions.
        let message = "this variable is set, but empty: unset it, or set it to an address";
        faults.at(&within(path, "base_url_env"), message);
    } else if let Some(wrong) = from_variable.as_deref().and_then(wrong_url) {
        faults.at(&within(path, "base_url_env"), format!("this variable is set, but {wrong}"));
    }
    let url = from_variable.as_deref().unwrap_or(&written.base_url);
    url.trim_end_matches('/').to_owned()
}

/// What is written, or what the host is known to be. A host that is known is of no other kind.
fn kind(faults: &mut Faults<'_>, path: &[&str], written: &written::Provider, base_url: &str) -> ProviderKind {
    let (_, rest) = base_url.split_once("://").unwrap_or_default();
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let known = ProviderKind::of_host(host);
    let kind = written.kind.unwrap_or(known);
    // Anthropic speaks OpenAI's chat completions, too.
    let fits = known == ProviderKind::Compatible || kind == known || kind == ProviderKind::Compatible;
    let message = format!("{host} is of another kind; leave this out");
    faults.when(!fits, &within(path, "kind"), message);
    let odd = known == ProviderKind::Azure && !rest.ends_with("/openai/v1");
    let message = "Azure's address ends with /openai/v1: https://NAME.openai.azure.com/openai/v1";
    faults.when(odd, &within(path, "base_url"), message);
    kind
}

/// What is wrong with an address. The gateway parses it for good; this finds what people do write.
fn wrong_url(url: &str) -> Option<&'static str> {
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        return Some("an address starts with https:// or http://, like https://api.openai.com/v1");
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        Some("the address names no host")
    } else if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        Some("an address consists of visible ASCII characters")
    } else if host.contains('@') {
        Some("an address holds no credentials; use api_key_env or api_key_file")
    } else if url.contains(['?', '#']) {
        Some("an address ends with its path; paths of calls are appended to it")
    } else {
        None
    }
}

/// Whether a text can be the name of an environment variable.
fn is_variable(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn credential(faults: &mut Faults<'_>, path: &[&str], written: written::Provider) -> Option<Credential> {
    let wrong = written.api_key_env.as_deref().is_some_and(|name| !is_variable(name));
    let message = "this is no name of an environment variable; the key itself never stands here";
    faults.when(wrong, &within(path, "api_key_env"), message);
    let both = written.api_key_env.is_some() && written.api_key_file.is_some();
    faults.when(both, &within(path, "api_key_file"), "give api_key_env or api_key_file, not both");
    let env = written.api_key_env.map(Credential::Env);
    env.or(written.api_key_file.map(Credential::File))
}

fn deadlines(faults: &mut Faults<'_>, path: &[&str], written: &written::Provider) -> Deadlines {
    let default = Deadlines::default();
    let millis = |given: Option<u32>, otherwise: Millis| given.map_or(otherwise, |ms| Millis::new(ms.into()));
    let deadlines = Deadlines {
        connect: millis(written.connect_ms, default.connect),
        first_byte: millis(written.first_byte_ms, default.first_byte),
        idle: millis(written.idle_ms, default.idle),
        total: millis(written.total_ms, default.total),
    };
    let total = deadlines.total;
    let parts = [
        ("connect_ms", deadlines.connect),
        ("first_byte_ms", deadlines.first_byte),
        ("idle_ms", deadlines.idle),
    ];
    for (name, part) in parts {
        let path = within(path, name);
        faults.when(part == Millis::ZERO, &path, "no call is that fast; give at least 1");
        let whose = faults.whose(&path);
        let (ms, all) = (part.get(), total.get());
        let message = format!("{whose}{ms} ms is longer than the whole attempt, total_ms = {all}");
        faults.when(part > total && total > Millis::ZERO, &path, message);
    }
    let path = within(path, "total_ms");
    faults.when(total == Millis::ZERO, &path, "no call is that fast; give at least 1");
    deadlines
}
