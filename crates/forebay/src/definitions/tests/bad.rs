//! Definitions that are wrong, one line of the base at a time, and what their author reads.

use super::*;

#[test]
fn each_fault_is_told_with_its_place_its_value_and_the_fix() {
    for (from, to, expected) in CASES {
        let faults = load_alone(&base_with(from, to)).map(|_| ()).unwrap_err();
        assert_eq!(said(&faults), expected, "{to}");
    }
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_text() {
    let source = BASE
        .replace("provider = \"sim\"", "provider = \"sin\"")
        .replace("version = 7", "version = 0")
        .replace("model = \"chat\"\nprompt", "model = \"gpt-5\"\nprompt")
        .replace("corrections = 1", "corrections = 2")
        .replace("base_ms = 1000", "base_ms = 0")
        .replace("kind = \"llm\"\nmodel = \"vectors\"", "kind = \"llm\"\nmodle = \"vectors\"");
    let faults = load_alone(&source).map(|_| ()).unwrap_err();
    let places: Vec<_> = faults.iter().map(|fault| (fault.line, fault.key.as_str())).collect();
    // What refers to the pool, the model or the policy with a fault is not wrong for that.
    assert_eq!(
        places,
        [
            (10, "pools.sim.provider"),
            (31, "policies.checks.version"),
            (37, "tasks.invoice.model"),
            (41, "tasks.invoice.corrections"),
            (49, "tasks.invoice.retry.base_ms"),
            (60, "tasks.embed"),
            (62, "tasks.embed.modle"),
        ]
    );
}

#[test]
fn all_faults_of_one_table_are_told_and_those_in_arrays_have_their_own_place() {
    let source = BASE
        .replace("requests_per_minute = 60", "requests = 60\nrate = 1\nmax_in_flight = \"9\"")
        .replace("required = [\"/total\"]", "required = [\"/total\", \"net\"]\n[[policies.checks.dates]]\nfeild = \"/a\"\n[[policies.checks.dates]]\nfield = \"/b\"\nearliest = 7")
        .replace("provider_model = \"sim-chat\"\n", "");
    let faults = load_alone(&source).map(|_| ()).unwrap_err();
    let places: Vec<_> = faults.iter().map(|fault| (fault.key.as_str(), fault.line, fault.column)).collect();
    assert_eq!(
        places,
        [
            ("pools.sim.requests", 11, 1),
            ("pools.sim.rate", 12, 1),
            ("pools.sim.max_in_flight", 13, 1),
            ("models.chat", 16, 9),
            ("policies.checks.required.1", 33, 23),
            ("policies.checks.dates.0", 34, 1),
            ("policies.checks.dates.0.feild", 35, 1),
            ("policies.checks.dates.1.earliest", 38, 1),
        ]
    );
}

#[test]
fn a_reference_is_wrong_whatever_else_is() {
    let source = BASE
        .replace("provider = \"sim\"", "provider = \"sin\"\nmax_in_flight = \"9\"")
        .replace("pool = \"sim\"\nprovider_model = \"sim-chat\"", "pool = \"sin\"\nprovider_model = 7")
        .replace("policy = \"checks\"\ncorrections = 1", "policy = \"cheks\"\ncorrections = \"1\"");
    let faults = load_alone(&source).map(|_| ()).unwrap_err();
    let keys: Vec<_> = faults.iter().map(|fault| fault.key.as_str()).collect();
    let expected = [
        "pools.sim.provider",
        "pools.sim.max_in_flight",
        "models.chat.pool",
        "models.chat.provider_model",
        "tasks.invoice.policy",
        "tasks.invoice.corrections",
    ];
    assert_eq!(keys, expected, "{}", said(&faults));
}

#[test]
fn faults_inside_texts_have_their_place_in_the_text_or_in_its_file() {
    let broken = "Read\n  {{ document }}\n  {{ customer }} {{ total }}\n";
    let inline =
        base_with(r#"prompt = "Read {{ document }} and answer.""#, &format!("prompt = '''\n{broken}'''"));
    let faults = load_alone(&inline).map(|_| ()).unwrap_err();
    let places: Vec<_> = faults.iter().map(|fault| (fault.line, fault.column)).collect();
    assert_eq!(places, [(41, 6), (41, 21)], "{}", said(&faults));

    let beside = base_with(r#"prompt = "Read {{ document }} and answer.""#, "prompt_file = \"p.txt\"")
        .replace("schema = '{\"type\": \"object\"}'", "schema_file = \"s.json\"");
    let schema = "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"a\": {\"type\": \"text\", \"minLength\": -1}\n  }\n}";
    let files = in_memory(&[("p.txt", broken), ("s.json", schema)]);
    let faults = load_with(&beside, &files, &nothing_set).map(|_| ()).unwrap_err();
    let places: Vec<_> =
        faults.iter().map(|fault| (fault.file.as_deref().unwrap(), fault.line, fault.column)).collect();
    assert_eq!(
        places,
        [("p.txt", 3, 6), ("p.txt", 3, 21), ("s.json", 4, 11), ("s.json", 4, 27)],
        "{}",
        said(&faults)
    );
    assert!(said(&faults).contains(
        "tasks.invoice.schema_file in s.json, line 4, column 11: the schema is not valid: \"text\" is no type"
    ));
    let cut = in_memory(&[("p.txt", "{{ document }}"), ("s.json", "{\n  \"type\": \n")]);
    let faults = load_with(&beside, &cut, &nothing_set).map(|_| ()).unwrap_err();
    assert_eq!((faults[0].file.as_deref(), faults[0].line), (Some("s.json"), 3), "{}", said(&faults));
}

/// A line of the base, what stands there instead, and all that is said about it.
pub(crate) const CASES: [(&str, &str, &str); 80] = [
    ("[providers.sim]", "[providers.sim", "line 3, column 15: not TOML: unclosed table, expected `]`"),
    ("total_ms = 30000", "total_ms = 30000\ntotal_ms = 30000", "line 8, column 1: not TOML: duplicate key"),
    (
        "[policies.checks]",
        "[policy.checks]",
        "policy at line 30: there is no such section; sections are: providers, pools, models, policies, tasks, retention, submit_limits\n\
             tasks.invoice.policy = \"checks\" at line 40: no policy of that name; the definitions have no policy at all",
    ),
    (
        "[tasks.embed]\nkind = \"llm\"\nmodel = \"vectors\"",
        "tasks.embed = 1",
        "tasks.chat.tasks at line 60: there is no member `tasks`; it has to be one of `kind`, `description`, `model`, `prompt`, `prompt_file`, `variables`, `schema`, `schema_file`, `policy`, `corrections`, `max_output_tokens`, `params`, `allowed_params`, `retry`, `on_unknown`, `default_ttl_ms`, `attempt_total_ms`, `at_budget`, `max_in_flight`, `on_failure`, `review_due_ms`, `review_default`",
    ),
    (
        "[tasks.embed]",
        r#"[tasks."Em bed"]"#,
        r#"tasks."Em bed" at line 60: a name is 1 to 64 lower-case letters, digits, `.`, `_` or `-`, and starts with a letter or digit"#,
    ),
    (
        r#"api_key_env = "SIM_KEY""#,
        r#"api_key = "sk-1""#,
        "providers.sim.api_key at line 5: there is no member `api_key`; it has to be one of `kind`, `base_url`, `base_url_env`, `api_key_env`, `api_key_file`, `connect_ms`, `first_byte_ms`, `idle_ms`, `total_ms`",
    ),
    (
        r#"api_key_env = "SIM_KEY""#,
        "api_key_env = \"SIM_KEY\"\napi_key_file = \"/run/key\"",
        "providers.sim.api_key_file at line 6: give api_key_env or api_key_file, not both",
    ),
    (
        r#"base_url = "http://127.0.0.1:7121/v1""#,
        "base_url = \"https://api.anthropic.com/v1\"\nkind = \"openai\"",
        r#"providers.sim.kind = "openai" at line 5: api.anthropic.com is of another kind; leave this out"#,
    ),
    (
        r#"base_url = "http://127.0.0.1:7121/v1""#,
        r#"base_url = "https://acme.openai.azure.com/openai""#,
        r#"providers.sim.base_url = "https://acme.openai.azure.com/openai" at line 4: Azure's address ends with /openai/v1: https://NAME.openai.azure.com/openai/v1"#,
    ),
    (
        r#"base_url = "http://127.0.0.1:7121/v1""#,
        r#"base_url = "api.openai.com/v1""#,
        r#"providers.sim.base_url = "api.openai.com/v1" at line 4: an address starts with https:// or http://, like https://api.openai.com/v1"#,
    ),
    (
        r#"base_url = "http://127.0.0.1:7121/v1""#,
        r#"base_url = "https://u:p@host/v1""#,
        "providers.sim.base_url at line 4: an address holds no credentials; use api_key_env or api_key_file",
    ),
    (
        r#"base_url = "http://127.0.0.1:7121/v1""#,
        r#"base_url = "https://host/v1?a=b""#,
        r#"providers.sim.base_url = "https://host/v1?a=b" at line 4: an address ends with its path; paths of calls are appended to it"#,
    ),
    (
        r#"base_url = "http://127.0.0.1:7121/v1""#,
        r#"base_url = "https://""#,
        r#"providers.sim.base_url = "https://" at line 4: the address names no host"#,
    ),
    (
        r#"api_key_env = "SIM_KEY""#,
        r#"api_key_env = "sk-proj-1""#,
        "providers.sim.api_key_env at line 5: this is no name of an environment variable; the key itself never stands here",
    ),
    (
        r#"api_key_env = "SIM_KEY""#,
        r#"base_url_env = "$URL""#,
        r#"providers.sim.base_url_env = "$URL" at line 5: this is no name of an environment variable"#,
    ),
    (
        "first_byte_ms = 10000",
        "first_byte_ms = 60000",
        "providers.sim.first_byte_ms = 60000 at line 6: 60000 ms is longer than the whole attempt, total_ms = 30000",
    ),
    (
        "first_byte_ms = 10000",
        "idle_ms = 40000",
        "providers.sim.first_byte_ms at line 3: the default of 60000 ms is longer than the whole attempt, total_ms = 30000\n\
             providers.sim.idle_ms = 40000 at line 6: 40000 ms is longer than the whole attempt, total_ms = 30000",
    ),
    (
        "first_byte_ms = 10000",
        "connect_ms = 0",
        "providers.sim.first_byte_ms at line 3: the default of 60000 ms is longer than the whole attempt, total_ms = 30000\n\
             providers.sim.connect_ms = 0 at line 6: no call is that fast; give at least 1",
    ),
    (
        "total_ms = 30000",
        "total_ms = -1",
        "providers.sim.total_ms = -1 at line 7: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    ),
    (
        "total_ms = 30000",
        r#"total_ms = "30s""#,
        r#"providers.sim.total_ms = "30s" at line 7: invalid type: string "30s", expected a whole number from 0 to 4294967295"#,
    ),
    (
        r#"provider = "sim""#,
        r#"provider = "openai""#,
        r#"pools.sim.provider = "openai" at line 10: no provider of that name; providers are: sim"#,
    ),
    (
        "requests_per_minute = 60",
        "requests_per_minute = 0",
        "pools.sim.requests_per_minute = 0 at line 11: a limit of 0 lets nothing through; leave it out for no limit",
    ),
    (
        "requests_per_minute = 60",
        "requests_per_minute = 60\nsafety_margin_percent = 60",
        "pools.sim.safety_margin_percent = 60 at line 12: 60 is more than 50: lower the limits instead",
    ),
    (
        "requests_per_minute = 60\ntokens_per_minute = 100000",
        "max_in_flight = 4\nsafety_margin_percent = 5",
        "pools.sim.safety_margin_percent = 5 at line 12: the pool has no limit per minute or day that a margin could be taken off",
    ),
    (
        "requests_per_minute = 60",
        "requests_per_minute = 60\npacing = \"fast\"",
        "pools.sim.pacing = \"fast\" at line 12: there is no choice `fast`, expected `off` or `even`",
    ),
    (
        "tokens_per_minute = 100000",
        "tokens_per_minute = 400",
        "tasks.invoice.max_output_tokens = 500 at line 42: an answer of up to 500 tokens would never start: pool `sim` takes at most 400 by tokens_per_minute\n\
             tasks.chat.max_output_tokens = 400 at line 55: an answer of up to 400 tokens would never start: pool `sim` takes at most 400 by tokens_per_minute",
    ),
    (
        r#"provider_model = "sim-chat""#,
        "",
        "models.chat at line 14: this member is missing: `provider_model`",
    ),
    (
        "context_tokens = 8000",
        "context_tokens = 900",
        "models.chat.max_output_tokens = 1000 at line 18: more than the context_tokens = 900",
    ),
    (
        "output_micros_per_mtok = 600000",
        "",
        "models.chat.output_micros_per_mtok at line 14: a chat model needs a price of generated tokens; 0 where they are free",
    ),
    (
        r#"endpoint = "embeddings""#,
        r#"endpoint = "embedding""#,
        r#"models.vectors.endpoint = "embedding" at line 26: there is no choice `embedding`; it has to be one of `chat`, `responses`, `embeddings`"#,
    ),
    (
        r#"endpoint = "embeddings""#,
        "endpoint = \"embeddings\"\nmax_output_tokens = 5\nstructured_output = \"none\"",
        "models.vectors.max_output_tokens = 5 at line 27: an embeddings model generates no tokens; leave it out\n\
             models.vectors.structured_output = \"none\" at line 28: an embeddings model answers without JSON; leave it out",
    ),
    (
        "input_micros_per_mtok = 20000",
        "input_micros_per_mtok = 0.02",
        "models.vectors.input_micros_per_mtok = 0.02 at line 28: invalid type: floating point `0.02`, expected a whole number from 0 to 4294967295",
    ),
    ("version = 7", "version = 0", "policies.checks.version = 0 at line 31: versions start at 1"),
    (
        r#"required = ["/total"]"#,
        r#"required = ["total"]"#,
        r#"policies.checks.required.0 = "total" at line 32: `total` is not a JSON pointer: expected `/member`, `/member/inner` or `/list/*/member`"#,
    ),
    (
        r#"required = ["/total"]"#,
        r#"requires = ["/total"]"#,
        r#"policies.checks.requires = ["/total"] at line 32: there is no member `requires`; it has to be one of `version`, `required`, `style`, `amounts`, `printed_tax`, `credit_notes`, `currency`, `dates`, `ibans`, `labels`, `evidence`, `master_data`, `duplicates`"#,
    ),
    (
        r#"schema = '{"type": "object"}'"#,
        r#"schema = '{"properties": {"totals": true}, "additionalProperties": false}'"#,
        r#"policies.checks.required = ["/total"] at line 32: /total can't be in an output: there is no such place in the schema of the task `invoice`"#,
    ),
    (
        r#"required = ["/total"]"#,
        "[policies.checks.amounts]\ntotal = \"/total\"\ntolerance = \"-1\"",
        r#"policies.checks.amounts.tolerance = "-1" at line 34: can't be negative"#,
    ),
    (
        r#"required = ["/total"]"#,
        "[[policies.checks.dates]]\nfield = \"/a\"\nearliest = \"2024-02-30\"",
        r#"policies.checks.dates.0.earliest = "2024-02-30" at line 34: `2024-02-30` is not a day such as "2024-02-29""#,
    ),
    (
        r#"kind = "extract""#,
        r#"kind = "extraction""#,
        r#"tasks.invoice.kind = "extraction" at line 35: there is no choice `extraction`, expected `llm` or `extract`"#,
    ),
    (
        "model = \"chat\"\nprompt",
        "model = \"gpt-5\"\nprompt",
        r#"tasks.invoice.model = "gpt-5" at line 37: no model of that name; models are: chat, vectors"#,
    ),
    (
        "model = \"chat\"\nprompt",
        "model = \"vectors\"\nprompt",
        "tasks.invoice.model = \"vectors\" at line 37: model `vectors` makes embeddings; an extract task needs a chat model\n\
             tasks.invoice.max_output_tokens = 500 at line 42: model `vectors` makes embeddings and generates no tokens; leave it out",
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        r#"prompt = "Read it.""#,
        r#"tasks.invoice.prompt = "Read it." at line 38: the prompt does not use {{ document }}, so the model would not see it"#,
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        r#"prompt = "Read {{ document }} by {{ schema }}.""#,
        r#"tasks.invoice.prompt = "Read {{ document }} by {{ schema }}." at line 38: the template uses `schema`, which `variables` does not declare"#,
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        r#"prompt = "Read {{ document.""#,
        r#"tasks.invoice.prompt = "Read {{ document." at line 38: the template does not parse: syntax error: unexpected end of input, expected identifier or integer"#,
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        r#"prompt = " ""#,
        r#"tasks.invoice.prompt = " " at line 38: a prompt says something; leave it out for none"#,
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        "",
        "tasks.invoice.prompt at line 34: an extract task needs a prompt, or a prompt_file",
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        "prompt = \"Read {{ document }}\"\nvariables = [\"document\", \"customer\"]",
        r#"tasks.invoice.variables = ["document", "customer"] at line 39: the variables of an extract prompt are "document" and, if it is used, "schema""#,
    ),
    (
        r#"prompt = "Read {{ document }} and answer.""#,
        r#"prompt_file = "p.txt""#,
        r#"tasks.invoice.prompt_file = "p.txt" at line 38: the file can't be read: a revision stands alone and can't refer to files; `forebay apply` puts them into it"#,
    ),
    (
        r#"schema = '{"type": "object"}'"#,
        "",
        "tasks.invoice.schema at line 34: an extract task needs a schema, or a schema_file",
    ),
    (
        r#"schema = '{"type": "object"}'"#,
        r#"schema = '{"type": "object", "type": "array"}'"#,
        r#"tasks.invoice.schema = '{"type": "object", "type": "array"}' at line 39: the schema can't be read: the member `type` is given twice"#,
    ),
    (
        r#"schema = '{"type": "object"}'"#,
        r#"schema = '{"type": "objekt"}'"#,
        r#"tasks.invoice.schema = '{"type": "objekt"}' at line 39: the schema is not valid: "objekt" is no type; types are: array, boolean, integer, null, number, object, string"#,
    ),
    (
        r#"schema = '{"type": "object"}'"#,
        "schema = '''\n{\"$ref\": \"https://example.test/s.json\"}'''",
        "tasks.invoice.schema = '''... at line 40: the schema refers to `https://example.test/s.json`: only references inside the schema (`#...`) are allowed",
    ),
    (
        r#"policy = "checks""#,
        r#"policy = "check""#,
        r#"tasks.invoice.policy = "check" at line 40: no policy of that name; policies are: checks"#,
    ),
    (
        r#"policy = "checks""#,
        "",
        "tasks.invoice.policy at line 34: an extract task needs a policy; one with nothing but a version checks nothing",
    ),
    (
        "corrections = 1",
        "corrections = 2",
        "tasks.invoice.corrections = 2 at line 41: at most 1: what one corrective call does not repair, a person decides",
    ),
    (
        "max_output_tokens = 500",
        "max_output_tokens = 1001",
        "tasks.invoice.max_output_tokens = 1001 at line 42: more than model `chat` gives: 1000",
    ),
    (
        "default_ttl_ms = 60000",
        "default_ttl_ms = 24999",
        "tasks.invoice.default_ttl_ms = 24999 at line 43: 24999 ms is shorter than one attempt and the margin for its commit: 20000 + 5000 ms",
    ),
    (
        "attempt_total_ms = 20000",
        "attempt_total_ms = 30001",
        "tasks.invoice.attempt_total_ms = 30001 at line 44: longer than the provider gives a call, total_ms = 30000",
    ),
    (
        "review_due_ms = 3600000",
        "review_due_ms = 0",
        "tasks.invoice.review_due_ms = 0 at line 45: a person needs time for a decision; give at least 1",
    ),
    (
        "default_ttl_ms = 60000",
        "default_ttl_ms = 1.5e3",
        "tasks.invoice.default_ttl_ms = 1.5e3 at line 43: invalid type: floating point `1500.0`, expected a whole number from 0 on",
    ),
    (
        "max_attempts = 3",
        "max_attempts = 0",
        "tasks.invoice.retry.max_attempts = 0 at line 48: the first try is an attempt too; give at least 1",
    ),
    (
        "max_attempts = 3",
        "delays_ms = [10000]",
        "tasks.invoice.retry.base_ms = 1000 at line 49: give delays_ms or a growing delay (base_ms, factor, cap_ms), not both\n\
             tasks.invoice.retry.cap_ms = 5000 at line 50: give delays_ms or a growing delay (base_ms, factor, cap_ms), not both",
    ),
    (
        "max_attempts = 3\nbase_ms = 1000\ncap_ms = 5000",
        "delays_ms = []",
        "tasks.invoice.retry.delays_ms = [] at line 48: a list without delays allows no retry; give max_attempts = 1 for that",
    ),
    (
        "max_attempts = 3\nbase_ms = 1000\ncap_ms = 5000",
        "delays_ms = [1, 2]\nmax_attempts = 4",
        "tasks.invoice.retry.max_attempts = 4 at line 49: delays_ms has 2 delays, so there are 3 attempts at most",
    ),
    (
        "cap_ms = 5000",
        "cap_ms = 500",
        "tasks.invoice.retry.cap_ms = 500 at line 50: 500 ms is below the first delay, 1000 ms",
    ),
    (
        "base_ms = 1000\ncap_ms = 5000",
        "base_ms = 60001",
        "tasks.invoice.retry.cap_ms at line 47: the default of 60000 ms is below the first delay, 60001 ms",
    ),
    (
        "cap_ms = 5000",
        "factor = 0",
        "tasks.invoice.retry.factor = 0 at line 50: a factor of 0 is no delay at all; give at least 1",
    ),
    (
        "cap_ms = 5000",
        "max_elapsed_ms = 0",
        "tasks.invoice.retry.max_elapsed_ms = 0 at line 50: leave it out for no limit of its own",
    ),
    (
        r#"prompt = "Be brief.""#,
        "schema = '{}'\ncorrections = 0",
        "tasks.chat.schema = '{}' at line 56: only a task of kind \"extract\" has this; an llm task's answer is taken as it is\n\
             tasks.chat.corrections = 0 at line 57: only a task of kind \"extract\" has this; an llm task's answer is taken as it is",
    ),
    (
        r#"prompt = "Be brief.""#,
        "prompt = \"In {{ language }}.\"\nvariables = [\"language\"]",
        r#"tasks.chat.variables = ["language"] at line 57: the prompt of an llm task has no variables: nothing would fill them in"#,
    ),
    (
        r#"prompt = "Be brief.""#,
        r#"prompt = "In {{ language }}.""#,
        r#"tasks.chat.prompt = "In {{ language }}." at line 56: the template uses `language`, which `variables` does not declare"#,
    ),
    (
        "temperature = 0.5",
        r#"model = "x""#,
        r#"tasks.chat.params.model = "x" at line 57: a task does not set this parameter: the task's `model` says that"#,
    ),
    (
        "temperature = 0.5",
        "temperature = nan",
        "tasks.chat.params.temperature = nan at line 57: a parameter is JSON: no date, no infinity, no NaN",
    ),
    (
        "temperature = 0.5",
        "until = 2026-01-01",
        "tasks.chat.params.until = 2026-01-01 at line 57: a parameter is JSON: no date, no infinity, no NaN",
    ),
    (
        r#"allowed_params = ["seed"]"#,
        r#"allowed_params = ["seed", "n"]"#,
        r#"tasks.chat.allowed_params = ["seed", "n"] at line 58: a request can't set `n`: a job has one answer; submit more jobs"#,
    ),
    (
        r#"allowed_params = ["seed"]"#,
        r#"allowed_params = "seed""#,
        r#"tasks.chat.allowed_params = "seed" at line 58: invalid type: string "seed", expected a sequence"#,
    ),
    (
        r#"model = "vectors""#,
        "model = \"vectors\"\nprompt = \"x\"\nmax_output_tokens = 5",
        "tasks.embed.prompt = \"x\" at line 63: model `vectors` makes embeddings and is told nothing; leave it out\n\
             tasks.embed.max_output_tokens = 5 at line 64: model `vectors` makes embeddings and generates no tokens; leave it out",
    ),
    (
        r#"model = "vectors""#,
        "model = \"vectors\"\nmax_in_flight = 0",
        "tasks.embed.max_in_flight = 0 at line 63: none of its jobs would ever run; give at least 1, or leave it out for no limit",
    ),
    (
        r#"model = "vectors""#,
        "model = \"vectors\"\non_failure = \"stop\"",
        r#"tasks.embed.on_failure = "stop" at line 63: there is no choice `stop`, expected `continue` or `block`"#,
    ),
    (
        r#"model = "vectors""#,
        "model = \"vectors\"\non_unknown = \"ask\"",
        r#"tasks.embed.on_unknown = "ask" at line 63: there is no choice `ask`; it has to be one of `retry`, `once`, `review`"#,
    ),
];
