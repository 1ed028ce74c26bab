//! Help texts: the overview by groups, and examples for each command.

/// The layout of `forebay --help`: the commands by groups instead of one list.
pub const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}";

/// The commands by what they are for.
pub const COMMANDS: &str = "\
Run it:
  demo      See it work: service, simulated provider and jobs at once
  serve     Run the service
  sim       Run a simulated provider, with limits and faults
  migrate   Bring a database to this version
  doctor    Look for what is wrong with a server or a database
  verify    Judge a store from its records: nothing lost, nothing twice
  plan      Calculate what limits allow and a load needs
  bench     Measure how much this machine does

Jobs:
  submit    Submit jobs from files, standard input or arguments
  batch     Submit many jobs from one file, and see how far they are
  get       Show a job, its result, its attempts, or what it waits for
  watch     Follow events as they happen
  jobs      List jobs
  cancel    End jobs
  review    Decide what is in doubt, one after the other
  dead-letters
            List failed jobs, count them, note who deals with them
  replay    Do the work of failed jobs again, by another revision if need be

Administration:
  apply     Check definitions (tasks, models, pools) and make them active
  diff      What a revision or a file changes
  rollback  Make older definitions active again
  revisions Revisions of the definitions, with who and when
  audit     Who changed what, and when
  dataset   Master data that answers are compared with
  tenant    Tenants, their limits and budgets
  key       API keys
  workers   The processes of an installation
  retention How long things are kept, and what was deleted

Options:
";

/// What stands at the end of the overview.
pub const OVERVIEW_END: &str = "\
`forebay COMMAND --help` shows a command's options with examples.

Environment:
  FOREBAY_URL    where the server is [default: http://127.0.0.1:7120]
  FOREBAY_KEY    the API key; for a server on this machine the key beside its
                 database is found
  FOREBAY_STORE  the database [default: sqlite:forebay.db]
  FOREBAY_STORE_PASSWORD  that of its PostgreSQL user
  FOREBAY_LOG    what is logged: info, or forebay=debug,warn
  NO_COLOR       no colors

Exit codes:
  0 done, 1 failed, 2 wrong usage, 3 job failed, 4 job needs a review,
  5 server unreachable, 6 refused by the server, 130 interrupted";

/// Examples of `forebay serve`.
pub const SERVE: &str = "\
Examples:
  forebay serve
  forebay serve --store sqlite:/var/lib/forebay/forebay.db --listen 0.0.0.0:7120
  FOREBAY_STORE_PASSWORD=... forebay serve --store postgres://forebay@db.example.com/forebay --roles work
  forebay serve --config forebay.toml --log-format json";

/// Examples of `forebay demo`.
pub const DEMO: &str = "\
Examples:
  forebay demo
  forebay demo --exit --json";

/// Examples of `forebay sim`.
pub const SIM: &str = "\
Examples:
  forebay sim
  forebay sim --scenario rate-limited.toml --time-scale 60 --log requests.jsonl";

/// Examples of `forebay verify`.
pub const VERIFY: &str = "\
Examples:
  forebay verify --store sqlite:/var/lib/forebay/forebay.db
  forebay verify --store 'postgres://auditor@db.example.com/forebay?sslmode=verify-full'
  forebay verify --store sqlite:test.db --sim-log calls.jsonl --client-log client.jsonl --drained --json";

/// Examples of `forebay plan`.
pub const PLAN: &str = "\
Examples:
  forebay plan --backlog 10000 --attempts 1.10 --service 15s --tokens 6000 --requests-per-minute 600 --tokens-per-minute 600_000 --max-in-flight 30
  forebay plan --arrivals 5/s --service 8s --utilization 90%
  forebay plan --arrivals 1/s --backlog 10000 --tokens 6000 --tokens-per-minute 600_000 --plot backlog.svg

No server is asked: the numbers are those that are given.";

/// Examples of `forebay bench`.
pub const BENCH: &str = "\
Examples:
  forebay bench
  forebay bench floor accept --rounds 9
  forebay bench drain --jobs 100000 --folder /var/lib/forebay --json
  forebay bench floor accept drain --postgres postgres://forebay@localhost/forebay
  forebay bench backlog --waiting 1000,100000,1000000 --tenants 1,1000,10000

What is written to disk counts: give --folder a place on the disk that a database
would have. Other work on the machine shows in everything but the ratios to the floor
of the same round and what is counted for each job.";

/// Examples of `forebay submit`.
pub const SUBMIT: &str = "\
Examples:
  forebay submit chat --prompt 'Why is the sky blue?' --wait
  forebay submit invoice inbox/2026-001.txt --wait --json
  forebay submit invoice inbox/*.txt --idempotency-key inbox-2026-12-01
  cat report.md | forebay submit summary - --ttl 10m --priority high
  forebay submit chat --prompt Hi --set /params/temperature=0.2 --metadata order=4711";

/// Examples of `forebay batch`.
pub const BATCH: &str = "\
Examples:
  forebay batch submit jobs.jsonl
  forebay batch submit jobs.jsonl --wait --json > outcomes.jsonl
  forebay batch get batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay batch watch batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay batch cancel batch_0199c0de5b7a7c4e8f00a1b2c3d4e5f6

A line of jobs.jsonl is a job as POST /v1/jobs takes it:
  {\"task\": \"chat\", \"input\": {\"prompt\": \"Hi\"}, \"metadata\": {\"order\": \"4711\"}}";

/// Examples of `forebay get`.
pub const GET: &str = "\
Examples:
  forebay get job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay get job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --result > result.json
  forebay get job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --explain";

/// Examples of `forebay watch`.
pub const WATCH: &str = "\
Examples:
  forebay watch
  forebay watch job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay watch --json | jq -r 'select(.data.state == \"FAILED_TERMINAL\") | .subject'";

/// Examples of `forebay jobs`.
pub const JOBS: &str = "\
Examples:
  forebay jobs --state REVIEW_REQUIRED
  forebay jobs --task invoice --created-after 1d --metadata order=4711
  forebay jobs --all --json > jobs.jsonl";

/// Examples of `forebay retention`.
pub const RETENTION: &str = "\
Examples:
  forebay retention
  forebay retention --json | jq .deleted

The rules are a part of the definitions: [retention] in what `forebay apply` takes.";

/// Examples of `forebay cancel`.
pub const CANCEL: &str = "\
Examples:
  forebay cancel job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay jobs --state READY --all --json | jq -r .job_id | xargs forebay cancel";

/// Examples of `forebay review`.
pub const REVIEW: &str = "\
Examples:
  forebay review
  forebay review --task invoice --overdue
  forebay review list --finding net_tax_total --json
  forebay review show job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay review correct job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --set /total=49.99
  forebay review reject job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 --comment duplicate
  forebay review export --decision correct --since 30d --text > corrections.jsonl";

/// Examples of `forebay workers`.
pub const WORKERS: &str = "\
Examples:
  forebay workers
  forebay workers --json | jq -r 'select(.silent) | .name'";

/// Examples of `forebay apply`.
pub const APPLY: &str = "\
Examples:
  forebay apply definitions.toml --dry-run
  forebay apply definitions.toml --expect 7
  forebay apply definitions.toml --comment 'gpt-5 for invoices'

The definitions that are active now: forebay revisions (the numbers), then
forebay revisions N > definitions.toml";

/// Examples of `forebay diff`.
pub const DIFF: &str = "\
Examples:
  forebay diff definitions.toml
  forebay diff --from 3 --to 5 --text
  forebay diff definitions.toml --exit-code";

/// Examples of `forebay rollback`.
pub const ROLLBACK: &str = "\
Examples:
  forebay rollback
  forebay rollback 3 --dry-run
  forebay rollback 3 --expect 5";

/// Examples of `forebay revisions`.
pub const REVISIONS: &str = "\
Examples:
  forebay revisions
  forebay revisions 3 > definitions.toml";

/// Examples of `forebay audit`.
pub const AUDIT: &str = "\
Examples:
  forebay audit --since 24h
  forebay audit --subject job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay audit --follow
  forebay audit --action revision.rollback --json
  forebay audit --since 30d --export csv > audit.csv";
/// Examples of `forebay dead-letters`.
pub const DEAD_LETTERS: &str = "\
Examples:
  forebay dead-letters groups
  forebay dead-letters list --task invoice --class invalid_request
  forebay dead-letters show job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay dead-letters note job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6 'new template'
  forebay dead-letters dismiss job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay dead-letters change --class auth --unowned --assign anna
  forebay dead-letters change --task invoice --before 30d --dismiss --note 'too old to matter'";

/// Examples of `forebay replay`.
pub const REPLAY: &str = "\
Examples:
  forebay replay job_0199c0de5b7a7c4e8f00a1b2c3d4e5f6
  forebay replay --task invoice --class invalid_request --dry-run
  forebay replay --task invoice --class invalid_request --task-revision invoice@4
  forebay replay --all --reason 'the account has credit again'";

/// Examples of `forebay tenant`.
pub const TENANT: &str = "\
Examples:
  forebay tenant list
  forebay tenant put acme --max-in-flight 20 --budget 12.50 --budget-period day
  forebay tenant put acme --budget none
  forebay tenant get acme --json";

/// Examples of `forebay dataset`.
pub const DATASET: &str = "\
Examples:
  forebay dataset put suppliers suppliers.csv
  erp-export | forebay dataset put suppliers - --format json --if-version 3
  forebay dataset get suppliers
  forebay dataset get suppliers --content --version 2 | sha256sum";

/// Examples of `forebay key`.
pub const KEY: &str = "\
Examples:
  forebay key create erp --scope submit,read --tenant acme --expires 90d
  forebay key list
  forebay key revoke key_0199c0de5b7a7c4e8f00a1b2c3d4e5f6";

/// Examples of `forebay migrate`.
pub const MIGRATE: &str = "\
Examples:
  forebay migrate
  forebay migrate --store sqlite:/var/lib/forebay/forebay.db
  forebay migrate --store postgres://owner@db.example.com/forebay";

/// Examples of `forebay doctor`.
pub const DOCTOR: &str = "\
Examples:
  forebay doctor
  forebay doctor --store postgres://forebay@db.example.com/forebay
  FOREBAY_URL=https://forebay.example.com FOREBAY_KEY=fbk_... forebay doctor --json";
