use std::collections::BTreeMap;
use std::io;

use forebay_core::definition::{Credential, Definitions, TaskKind};
use forebay_core::time::Millis;

use super::*;

pub(crate) mod bad;
mod default;
mod diff;

/// Small definitions that hold, with one line for each thing that the tests break.
pub(crate) const BASE: &str = include_str!("tests/base.toml");

fn nothing_set(_name: &str) -> Option<String> {
    None
}

fn load_alone(source: &str) -> Result<Definitions, Vec<DefinitionFault>> {
    load_with(source, &no_files, &nothing_set)
}

fn loaded(source: &str) -> Definitions {
    load_alone(source).unwrap_or_else(|faults| panic!("{}", said(&faults)))
}

fn said(faults: &[DefinitionFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn base_with(from: &str, to: &str) -> String {
    assert_eq!(BASE.matches(from).count(), 1, "`{from}` has to stand in the base exactly once");
    BASE.replace(from, to)
}

fn in_memory(files: &[(&str, &str)]) -> impl Fn(&str) -> io::Result<String> + use<> {
    let files: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    move |name| {
        files.get(name).cloned().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }
}

#[test]
fn kinds_are_written_or_known_by_the_host() {
    use forebay_core::definition::ProviderKind as K;
    let line = "base_url = \"http://127.0.0.1:7121/v1\"";
    for (written, kind) in [
        (line, K::Compatible),
        ("base_url = \"https://api.openai.com/v1\"", K::Openai),
        ("base_url = \"https://acme.openai.azure.com/openai/v1\"", K::Azure),
        ("base_url = \"http://127.0.0.1:7121/v1\"\nkind = \"llama_cpp\"", K::LlamaCpp),
        ("base_url = \"http://127.0.0.1:7121/v1\"\nkind = \"vllm\"", K::Vllm),
        ("base_url = \"https://api.openai.com/v1\"\nkind = \"compatible\"", K::Compatible),
    ] {
        assert_eq!(loaded(&base_with(line, written)).providers["sim"].kind, kind, "{written}");
    }
}

#[test]
fn what_a_kind_has_no_way_to_do_is_refused() {
    let line = "base_url = \"http://127.0.0.1:7121/v1\"";
    let anthropic = base_with(line, &format!("{line}\nkind = \"anthropic\""));
    let faults = load_alone(&anthropic).map(|_| ()).unwrap_err();
    let keys: Vec<_> = faults.iter().map(|fault| fault.key.as_str()).collect();
    assert_eq!(keys, ["models.vectors.endpoint"], "{}", said(&faults));
    let plain = "structured_output = \"none\"";
    for (member, message) in [
        ("endpoint = \"responses\"", "Anthropic has no Responses; its Messages are \"chat\""),
        (
            "structured_output = \"json_object\"",
            "Anthropic has no plain JSON mode; write \"json_schema\" or \"none\"",
        ),
    ] {
        let faults = load_alone(&anthropic.replace(plain, member)).map(|_| ()).unwrap_err();
        assert!(said(&faults).contains(message), "{}", said(&faults));
    }
    let llama = base_with(line, &format!("{line}\nkind = \"llama_cpp\""));
    let faults = load_alone(&llama.replace(plain, "endpoint = \"responses\"")).map(|_| ()).unwrap_err();
    assert!(said(&faults).contains("ignore the schema"), "{}", said(&faults));
}

#[test]
fn the_base_is_ready_to_use() {
    let definitions = loaded(BASE);
    let invoice = &definitions.tasks["invoice"];
    assert_eq!(invoice.model.pool.provider.base_url, "http://127.0.0.1:7121/v1");
    assert_eq!(invoice.model.pool.provider.credential, Some(Credential::Env("SIM_KEY".to_owned())));
    assert_eq!(invoice.model.pool.limits.requests_per_minute, Some(60));
    assert_eq!((invoice.max_output_tokens, invoice.attempt_total), (500, Millis::from_secs(20)));
    let TaskKind::Extract(extraction) = &invoice.kind else { panic!("invoice is an extract task") };
    assert_eq!((extraction.policy_name.as_str(), extraction.corrections), ("checks@7", 1));
    assert_eq!(definitions.tasks["chat"].params["temperature"], 0.5);
}

#[test]
fn a_variable_overrides_the_address_where_it_is_set() {
    let source = base_with("api_key_env = \"SIM_KEY\"", "base_url_env = \"SIM_URL\"");
    let url = |value: Option<&str>| {
        let value = value.map(str::to_owned);
        let definitions = load_with(&source, &no_files, &|name| value.clone().filter(|_| name == "SIM_URL"));
        definitions.map(|definitions| definitions.providers["sim"].base_url.clone())
    };
    assert_eq!(url(Some("http://10.0.0.1:80/v1/")).unwrap(), "http://10.0.0.1:80/v1");
    assert_eq!(url(None).unwrap(), "http://127.0.0.1:7121/v1");
    for (value, why) in [("10.0.0.1", "an address starts"), ("", "empty"), ("http://\u{fffd}", "an address")]
    {
        let fault = said(&url(Some(value)).unwrap_err());
        let named = "providers.sim.base_url_env = \"SIM_URL\" at line 5: this variable is set, but ";
        assert!(fault.contains(&format!("{named}{why}")), "{value}: {fault}");
    }
}

#[test]
fn the_digest_covers_what_can_change_a_result() {
    let digest = |source: &str, task: &str| loaded(source).tasks[task].digest;
    for (from, to) in [
        ("temperature = 0.5", "temperature = 0.6"),
        ("prompt = \"Be brief.\"", "prompt = \"Be very brief.\""),
        ("max_output_tokens = 400", "max_output_tokens = 401"),
        ("provider_model = \"sim-chat\"", "provider_model = \"sim-chat-2\""),
        ("structured_output = \"none\"", "structured_output = \"json_object\""),
    ] {
        assert_ne!(digest(&base_with(from, to), "chat"), digest(BASE, "chat"), "{to}");
    }
    for (from, to) in [
        ("version = 7", "version = 8"),
        ("required = [\"/total\"]", "required = [\"/net\"]"),
        ("Read {{ document }}", "Please read {{ document }}"),
        ("{\"type\": \"object\"}", "{\"type\": [\"object\"]}"),
        ("corrections = 1", "corrections = 0"),
    ] {
        assert_ne!(digest(&base_with(from, to), "invoice"), digest(BASE, "invoice"), "{to}");
        assert_eq!(digest(&base_with(from, to), "chat"), digest(BASE, "chat"), "{to}");
    }
}

#[test]
fn the_digest_leaves_out_what_can_not() {
    for (from, to) in [
        ("max_attempts = 3", "max_attempts = 4"),
        ("default_ttl_ms = 60000", "default_ttl_ms = 60001"),
        ("attempt_total_ms = 20000", "attempt_total_ms = 20001"),
        ("output_micros_per_mtok = 600000", "output_micros_per_mtok = 1"),
        ("requests_per_minute = 60", "requests_per_minute = 61"),
        ("base_url = \"http://127.0.0.1:7121/v1\"", "base_url = \"https://elsewhere.test/v1\""),
        ("description = \"An invoice.\"", "description = \"A bill.\""),
        ("allowed_params = [\"seed\"]", "allowed_params = []"),
        ("{\"type\": \"object\"}", "{ \"type\":\"object\" }"),
    ] {
        let changed = loaded(&base_with(from, to));
        for (name, task) in loaded(BASE).tasks {
            assert_eq!(changed.tasks[&name].digest, task.digest, "{to}");
        }
    }
}

#[test]
fn a_revision_is_one_text_without_files() {
    let source = base_with("prompt = \"Be brief.\"", "prompt_file = \"brief.txt\"  # kept");
    let source = source.replace("schema = '{\"type\": \"object\"}'", "schema_file = \"schema.json\"");
    let prompt = "Be \"brief\".\n\\o/ and ''' so\r\n";
    let files = in_memory(&[("brief.txt", prompt), ("schema.json", "{\n  \"type\": \"object\"\n}\n")]);

    let refused = said(&load_alone(&source).unwrap_err());
    assert!(
        refused.contains(
            "tasks.chat.prompt_file = \"brief.txt\" at line 56: the file can't be read: a revision"
        )
    );

    let bundled = bundle(&source, &files).unwrap();
    assert!(bundled.contains("schema = '''\n{\n  \"type\": \"object\"\n}\n'''"), "{bundled}");
    assert!(bundled.contains("  # kept"));
    let alone = loaded(&bundled);
    let beside = load_with(&source, &files, &nothing_set).unwrap();
    for (name, task) in &beside.tasks {
        assert_eq!(alone.tasks[name].digest, task.digest, "{name}");
    }
    let TaskKind::Llm { prompt: Some(compiled) } = &alone.tasks["chat"].kind else {
        panic!("chat has a prompt")
    };
    assert_eq!(compiled.source(), prompt);
    assert_eq!(bundle(&bundled, &no_files).unwrap(), bundled, "nothing is left to put in");
}

#[test]
fn bundling_tells_what_it_can_not_put_in() {
    let source = base_with("prompt = \"Be brief.\"", "prompt = \"Be brief.\"\nprompt_file = \"brief.txt\"");
    let source = source.replace("schema = '{\"type\": \"object\"}'", "schema_file = \"schema.json\"");
    let faults = said(&bundle(&source, &in_memory(&[])).unwrap_err());
    assert_eq!(
        faults,
        "tasks.invoice.schema_file = \"schema.json\" at line 39: the file can't be read: no such file\n\
         tasks.chat.prompt_file = \"brief.txt\" at line 57: give prompt or prompt_file, not both"
    );
}
