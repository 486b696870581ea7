"""/openapi.json: an independent validator accepts it, and requests that are drawn from it are answered as it says."""

import os

import pandas as pd
import pytest
import requests
import schemathesis
from conftest import PASSWORD, Server
from hypothesis import HealthCheck, Phase, given, settings
from openapi_spec_validator import validate
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import response_schema_conformance

load_all_checks()

# Requests of each operation. scripts/long.sh asks for more.
DRAWN = int(os.environ.get("GRAPHLUME_DRAWN_REQUESTS", 12))
# Held open, or answered when there is something to say.
STREAMS = {("GET", "/mcp"), ("GET", "/mcp/x/{toolset}"), ("GET", "/viz/{session_id}/ws"), ("GET", "/viz/{session_id}/frame")}
# 503 is what these say of a machine without a GPU.
HEALTH = ("/streamgl-gpu/primary/health", "/streamgl-gpu/secondary/gpu/health")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A server of its own, for drawn requests delete what they find; its document; what exists there."""
    server = Server(tmp_path_factory.mktemp("openapi") / "data").start()
    api = server.api()
    edges = pd.DataFrame({"s": ["a", "b", "c"], "d": ["b", "c", "a"], "w": [1.0, 2.0, None]})

    def there():
        """Values for the parameters of paths: things that exist, made again when a request has deleted them."""
        file = api.file(edges.to_csv(index=False), "csv")["file_id"]
        dataset = api.dataset([file])
        page = api("GET", f"/graph/graph.html?dataset={dataset}", allow_redirects=False)
        session = page.headers["location"].split("session=")[1].split("&")[0]
        return {"file_id": file, "dataset_id": dataset, "session_id": session, "slug": "admin", "epoch": 1, "index": 0,
                "format": "csv", "output_type": "nodes"}

    yield server, server.token(), there
    assert server.process.poll() is None, server.output()
    server.stop()


def schema_of(server):
    config = SchemathesisConfig.from_dict({"request-timeout": 120})
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=config)


def test_an_outside_validator_accepts_the_document(server):
    document = requests.get(f"{server.url}/openapi.json").json()
    validate(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "default" in operation["responses"], (method, path)
            if "requestBody" in operation:
                kinds = operation["requestBody"]["content"]
                assert all("schema" in kind for kind in kinds.values()), (method, path)
                form = kinds.get("application/json", {}).get("schema")
                assert form is None or form != {"type": "object"}, f"{method} {path} does not say what it takes"
            for status, answer in operation["responses"].items():
                for kind, content in answer.get("content", {}).items():
                    assert kind != "application/json" or content.get("schema", True), (method, path, status)
            in_path = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert in_path == {part[1:-1] for part in path.split("/") if part.startswith("{")}, path


@pytest.mark.parametrize("real", [False, True], ids=["anything", "what-exists"])
def test_drawn_requests_are_answered_as_the_document_says(described, real):
    """Of every operation, with parameters as drawn and with those of things that exist."""
    server, token, there = described
    schema, wrong, seen, taken = schema_of(server), [], 0, set()
    headers = {"Authorization": f"Bearer {token}"}
    for found in schema.get_all_operations():
        operation = found.ok()
        key = (operation.method.upper(), operation.path)
        if key in STREAMS:
            continue
        values = {k: v for k, v in there().items() if f"{{{k}}}" in operation.path} if real else {}
        if real and not values:
            continue

        @settings(max_examples=DRAWN, database=None, deadline=None, derandomize=DRAWN < 50, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case):
            nonlocal seen
            case.path_parameters = {**(case.path_parameters or {}), **values}
            answer = case.call(headers=headers, timeout=120, allow_redirects=False)
            seen += 1
            if answer.status_code < 300:
                taken.add(key)
            if answer.status_code >= 500 and operation.path not in HEALTH:
                wrong.append(f"{key}: {answer.status_code} {answer.text[:300]}")
                return
            try:
                case.validate_response(answer, checks=[response_schema_conformance])
            except Exception as e:  # Each operation is looked at, whatever the one before did.
                wrong.append(f"{key}: {answer.status_code} {str(e)[:600]}")

        ask()
    assert not wrong, f"{len(wrong)} of {seen}:\n" + "\n".join(dict.fromkeys(wrong))
    # Requests that were done, not only refused, so that the forms of answers were compared, too.
    assert seen > 100 and len(taken) > 15, f"{len(taken)} operations were done: {sorted(taken)}"


def test_a_changed_file_takes_just_what_the_document_says(server, alice):
    path = "/api/v2/upload/files/{file_id}/"
    body = requests.get(f"{server.url}/openapi.json").json()["paths"][path]["patch"]["requestBody"]
    described = set(body["content"]["application/json"]["schema"]["properties"])
    file = alice.file("a\n1\n", "csv")["file_id"]
    refused = alice("PATCH", path.format(file_id=file), json={"no_such_field": 1}).json()["message"]
    assert described == set(refused.split("what can be: ")[1].split(", ")), refused


def test_an_answer_of_another_form_is_noticed(described):
    """That the comparison can fail: the document is changed, the server is not."""
    server, token, _ = described
    document = requests.get(f"{server.url}/openapi.json").json()
    document["components"]["schemas"]["Health"]["required"].append("a_member_that_no_answer_has")
    document["paths"] = {"/healthz": document["paths"]["/healthz"]}
    schema = schemathesis.openapi.from_dict(document)
    case = schema["/healthz"]["GET"].Case()
    answer = case.call(base_url=server.url)
    with pytest.raises(BaseExceptionGroup) as refused:
        case.validate_response(answer, checks=[response_schema_conformance])
    assert "a_member_that_no_answer_has" in str(refused.value.exceptions)


def test_a_password_in_the_document_is_never_an_example(server):
    assert PASSWORD not in requests.get(f"{server.url}/openapi.json").text
