"""What a caller of the API knows and its OpenAPI document can't say: which tasks there are, what time it is, which
cursors the server has given, and whose key asks. Only requests that are valid by the document are changed; those that
are meant to be refused stay as they were made."""

import datetime
import json
import os
import pathlib
import uuid

import schemathesis

DEFINITIONS = open(os.environ["FOREBAY_DEFINITIONS"], encoding="utf-8").read()
ANSWER = pathlib.Path(__file__).parent.parent / "examples/invoices/coolblue1.answer.json"
OUTPUT = json.loads(ANSWER.read_text(encoding="utf-8"))["output"]
DOCUMENT = os.environ["FOREBAY_DOCUMENT"]
OWN_KEY = os.environ["FOREBAY_KEY_ID"]
OWN_TENANTS = {"default", "other"}
TASKS = {"messages": "chat", "prompt": "chat", "embed": "embed", "document": "invoice", "text": "invoice"}


def later(**span):
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(**span)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def submission(body):
    kind = next(iter(body["input"]))
    body["task"] = TASKS[kind]
    if kind == "document":
        body["input"] = {"document": DOCUMENT}
    # Which parameters a task allows, and up to which value, its definition says.
    body.pop("params", None)
    if "not_before" in body:
        body["not_before"] = later(minutes=1)
    if "delay_ms" in body:
        body["delay_ms"] = 1
    if "deadline" in body:
        body["deadline"] = later(days=1)
    if "ttl_ms" in body:
        body["ttl_ms"] = max(body["ttl_ms"], 3_600_000)


def key(body):
    if "expires_at" in body:
        body["expires_at"] = later(days=1)


def definitions(body):
    body["source"] = f"{DEFINITIONS}\n# {uuid.uuid4()}\n"


def within_64_bits(value):
    """No schema can say of every number in a free-form member that integers beyond 64 bits are refused."""
    if isinstance(value, dict):
        return {name: within_64_bits(member) for name, member in value.items()}
    if isinstance(value, list):
        return [within_64_bits(element) for element in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    return value


def replay(body):
    # The job's own task; which others there are, and in which revisions, is not in the document.
    body.pop("task", None)


def replay_many(body):
    replay(body)
    body.pop("cursor", None)
    body.pop("metadata", None)


def change_many(body):
    body.pop("cursor", None)
    body.get("filter", {}).pop("metadata", None)


def decision(body):
    # Neither what time it is nor how long a call of the job's task takes is in the document.
    if "deadline" in body:
        body["deadline"] = later(hours=1)
    if "ttl_ms" in body:
        body["ttl_ms"] = 3_600_000
    # What an output must look like, the schema of the job's task says: all reviews here are of invoices.
    if body["decision"] == "correct":
        body["output"] = OUTPUT


BODIES = {
    ("POST", "/v1/dead-letters/change"): change_many,
    ("POST", "/v1/dead-letters/replay"): replay_many,
    ("POST", "/v1/reviews/{job_id}"): decision,
    ("POST", "/v1/jobs/{job_id}/replay"): replay,
    ("POST", "/v1/jobs"): submission,
    ("POST", "/v1/keys"): key,
    ("POST", "/v1/revisions"): definitions,
}


@schemathesis.hook
def before_call(context, case, **kwargs):
    keep_the_run_alive(case)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    route = (case.method.upper(), case.path)
    if isinstance(case.body, dict) and case.media_type == "application/json":
        case.body = within_64_bits(case.body)
    if isinstance(case.body, dict) and route in BODIES:
        BODIES[route](case.body)
    elif isinstance(case.body, list) and case.path == "/v1/datasets/{name}":
        # The columns are those of all rows together, and 64 at most.
        case.body = case.body[:1]
    elif isinstance(case.body, str) and route == ("POST", "/v1/revisions"):
        case.body = f"{DEFINITIONS}\n# {uuid.uuid4()}\n"
    elif case.media_type == "text/csv":
        case.body = f"name\n{uuid.uuid4()}\n"
    # A cursor that the server has not given is refused, whatever it looks like.
    case.query.pop("cursor", None)
    case.headers.pop("Last-Event-ID", None)
    if case.headers.get("If-Match") == "":
        # One phase takes an empty header for valid here, against the pattern of the document; it is refused.
        case.headers.pop("If-Match")
    if route == ("GET", "/v1/usage"):
        case.query = {"from": later(days=-10)[:10], "to": later()[:10]}
    if route == ("GET", "/v1/revisions/diff"):
        case.query = {"from": 1, "to": 1}
    if route == ("POST", "/v1/revisions"):
        # Only together with `dry_run`, and only what is there.
        case.query.pop("from", None)
    if case.path == "/v1/tasks/{task}":
        case.path_parameters["task"] = "chat"


def keep_the_run_alive(case):
    """A run that revokes its own key, or locks its own tenant out, tests nothing from then on."""
    if case.path_parameters.get("key_id") == OWN_KEY:
        case.path_parameters["key_id"] = "key_" + "0" * 32
    if case.method.upper() == "PUT" and case.path_parameters.get("tenant") in OWN_TENANTS:
        case.path_parameters["tenant"] = "made-by-test"
