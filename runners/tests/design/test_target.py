"""target.yaml: what it may hold, and errors that name file, line, key and remedy."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from runners import ROOT
from runners.cli import lab
from runners.design.block import FixedRate
from runners.design.description import FORM
from runners.design.experiment import validate
from runners.design.ladder import Ladder
from runners.design.target import TEMPLATE, TargetFile, read_target, shared_workload
from runners.errors import PlanError
from runners.experiments.registry import experiment, plan_of, questions_of

LEAST = """\
name: a
command: [python3, server.py, "18501"]
url: http://127.0.0.1:18501
ready: {port: 18501}
workloads:
  get: {method: GET, path: /x}
"""
WHOLE = """\
name: whole
command: [node, server.js]
url: http://127.0.0.1:18501
directory: app
environment:
  MODE: fast
  PASSWORD: {from: LAB_TEST_PASSWORD}
ready: {line: listening, timeout_s: 5}
stop_signal: SIGINT
cpus: [0]
data: store
headers:
  Accept: text/plain
  Authorization: {from: LAB_TEST_TOKEN, prefix: "Bearer "}
workloads:
  get: {path: "/items/{key}", keys: 100}
  put: {method: PUT, path: "/items/{counter}", body_bytes: 120}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "a.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> TargetFile:
    return read_target(written(folder, text))


def test_the_least_that_works(tmp_path: Path) -> None:
    target_file = read(tmp_path, LEAST)
    assert target_file.target.command == ("python3", "server.py", "18501")
    assert target_file.workload("").arguments == ("GET", "/x", "0", "0")
    assert target_file.workload("get").script == TEMPLATE
    assert target_file.directory == tmp_path


def test_all_that_there_is(tmp_path: Path) -> None:
    target_file = read(tmp_path, WHOLE)
    assert target_file.data == tmp_path / "app" / "store"
    assert target_file.workload("put").arguments[:4] == ("PUT", "/items/{counter}", "0", "120")
    assert target_file.setting.name == "whole"


@pytest.mark.parametrize(
    ("described", "body", "headers"),
    [
        ("body: 'a, {counter}'", "text a, {counter}", []),
        ("json: {id: '{counter}', tags: [1, é]}", 'text {"id":"{counter}","tags":[1,"é"]}',
         ["header Content-Type application/json"]),
        ("body_bytes: [100, 1000]", "100,1000", []),
    ],
)  # fmt: skip
def test_a_body_is_an_argument_of_the_template(described: str, body: str, headers: list[str], tmp_path: Path) -> None:
    target_file = read(tmp_path, LEAST.replace("GET, path: /x", f"PUT, path: /x, {described}"))
    assert target_file.workload("get").arguments == ("PUT", "/x", "0", body, *headers)


def test_a_body_file_lies_relative_to_the_description_and_a_content_type_of_ones_own_stays(tmp_path: Path) -> None:
    target_file = read(tmp_path, LEAST.replace("GET, path: /x", "PUT, path: /x, body_file: order.json"))
    assert target_file.workload("get").arguments[3] == f"file {tmp_path / 'order.json'}"
    own = LEAST.replace("GET, path: /x", "PUT, path: /x, json: [1]") + "headers: {content-type: text/x}\n"
    assert read(tmp_path, own).workload("get").arguments[4:] == ("header content-type text/x",)


def test_a_secret_is_in_no_argument_and_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TEST_TOKEN", "hush-hush")
    monkeypatch.setenv("LAB_TEST_PASSWORD", "hush-hush")
    target_file = read(tmp_path, WHOLE)
    kept = json.dumps(target_file.described()) + " ".join(target_file.workload("get").arguments)
    assert "LAB_TEST_TOKEN" in kept and "LAB_TEST_PASSWORD" in kept
    assert "hush-hush" not in kept


@pytest.mark.parametrize(
    ("old", "new", "where", "cause"),
    [
        ("[python3, server.py", "python3 server.py #", "line 2, key command", "array"),
        ('"18501"]', "18501]", "line 2, key command.2", "expected `str`"),
        ("port: 18501}", "prot: 18501}", "line 4, key ready.prot", "did you mean port?"),
        ("port: 18501}", "port: 185010}", "line 4, key ready.port", "65535"),
        ("port: 18501}", "port: 18501, line: up}", "line 4, key ready", "one of port, url and line"),
        ("method: GET", "method: get", "line 6, key workloads.get.method", "capitals"),
        ("path: /x", "path: x", "line 6, key workloads.get.path", "begins with /"),
        ("path: /x", "path: '/{key}'", "line 6, key workloads.get.path", "keys: N"),
        ("path: /x", "path: '/{kye}'", "line 6, key workloads.get.path", "{kye} is no placeholder"),
        ("path: /x", "path: /x, bdoy: a", "line 6, key workloads.get.bdoy", "did you mean body?"),
        ("path: /x", "path: /x, body: 3", "line 6, key workloads.get.body", "body_file"),
        ("path: /x", "path: /x, body: a", "line 6, key workloads.get.body", "a GET has no body"),
        ("GET, path: /x", "PUT, path: /x, json: [1], body: a", "line 6, key workloads.get.json", "one body"),
        ("GET, path: /x", "PUT, path: /x, body_file: a, body_bytes: 1", "line 6, key workloads.get.body", "one body"),
        ("GET, path: /x", "PUT, path: /x, body: '{key}'", "line 6, key workloads.get.path", "keys: N"),
        ("path: /x", "path: /x, script: a.lua", "line 6, key workloads.get", "not both"),
        ("name: a", "name: <b>", "line 1, key name", "small letters"),
        ("name: a", "nmae: a", "line 1, key nmae", "did you mean name?"),
        ("name: a\n", "", "line 1", "missing required field `name`"),
        ("127.0.0.1:18501", "127.0.0.1:18501/api", "line 3, key url", "more than scheme"),
        ("127.0.0.1:18501", "127.0.0.1:99999", "line 3, key url", "no port"),
        ("ready:", "data: ../elsewhere\nready:", "line 4, key data", "below `directory`"),
        ("ready:", "data: /\nready:", "line 4, key data", "below `directory`"),
        ("ready:", "data: .\nready:", "line 4, key data", "below `directory`"),
        ("ready:", "headers: {Cookie: x}\nready:", "line 4, key headers.Cookie", "must not stand in the file"),
        ("ready:", "headers: {A: \"b\\r\\nC: d\"}\nready:", "line 4, key headers.A", "no header"),
        ("ready:", "environment: {A: 1}\nready:", "line 4, key environment.A", "expected `str | object`"),
        ("ready:", "environment: {A: {form: B}}\nready:", "line 4, key environment.A", "from"),
        ("ready:", "categories: {db: [x]}\nready:", "line 4, key categories", "db"),
        ("ready:", "categories: {storage: ['(']}\nready:", "line 4, key categories.storage", "no regular expression"),
        ("ready:", "name: b\nready:", "line 4, key name", "stands twice"),
        ("ready:", "workloads: &w {a: *w}\nready:", "line 4", "holds itself"),
        ("ready:", "fill: {}\nready:", "line 4, key fill", "a workload or a command"),
        ("ready:", "fill: {workload: get, command: [x]}\nready:", "line 4, key fill", "not both"),
        ("ready:", "fill: {workload: put, keys: 3}\nready:", "line 4, key fill.workload", "one of get"),
        ("ready:", "fill: {workload: get, keys: 3}\nready:", "line 4, key fill.workload", "no key"),
        ("ready:", "fill: {workload: get}\nready:", "line 4, key fill", "number of keys"),
        ("ready:", "fill: {workload: get, keys: many}\nready:", "line 4, key fill.keys", "expected `int`"),
        ("ready:", "fill: {wrokload: get}\nready:", "line 4, key fill.wrokload", "did you mean workload?"),
        ("ready:", "fill: {command: load.sh}\nready:", "line 4, key fill.command", "array"),
        ("ready:", "fill: {command: [x], keys: 3}\nready:", "line 4, key fill.keys", "leave it out"),
        ("ready:", "fill: {command: [x, '{port}']}\nready:", "line 4, key fill.command", "{port} is in it"),
        ("path: /x", "path: /x, body_bytes: []", "line 6, key workloads.get.body_bytes", "body: 120"),
        ("ready: {", "ready: [", "line 4", "no YAML"),
    ],
)  # fmt: skip
def test_an_error_names_line_key_and_remedy(tmp_path: Path, old: str, new: str, where: str, cause: str) -> None:
    assert old in LEAST
    with pytest.raises(PlanError) as raised:
        read(tmp_path, LEAST.replace(old, new, 1))
    text = str(raised.value)
    assert f"{tmp_path / 'a.yaml'}, {where}" in text
    assert cause in text
    assert raised.value.remedy


@pytest.mark.parametrize(
    "text", ["", "- a", "3", "\0", "!!python/object:os.system {}", "a: !b c", "? [a]\n: b", "[" * 5000]
)
def test_what_is_no_target_is_an_error_with_a_remedy(tmp_path: Path, text: str) -> None:
    with pytest.raises(PlanError):
        read(tmp_path, text)


def test_a_running_server_is_given_no_environment(tmp_path: Path) -> None:
    text = LEAST.replace('command: [python3, server.py, "18501"]', "environment: {A: b}")
    with pytest.raises(PlanError, match=r"line 2, key environment: .*runs already"):
        read(tmp_path, text)


def test_a_fill_sends_each_key_once_and_belongs_to_every_workload(tmp_path: Path) -> None:
    filled = WHOLE + "fill: {workload: get, keys: 70}\n"
    target_file = read(tmp_path, filled)
    for name in ("get", "put"):
        asked = target_file.workload(name)
        assert asked.filled_keys == 70 and asked.fill_with is not None
        assert asked.fill_with.arguments[:2] == ("GET", "/items/{counter}") and not asked.fill_with.filled_keys
    assert target_file.workload("get").arguments[1] == "/items/{key}"
    other = tmp_path / "b.yaml"
    other.write_text(filled.replace("name: whole", "name: b").replace("keys: 70", "keys: 71"), encoding="utf-8")
    with pytest.raises(PlanError, match="`fill` included"):
        shared_workload("get", [target_file, read_target(other)])


def test_the_port_of_a_start_reaches_the_command_of_its_fill(tmp_path: Path) -> None:
    text = LEAST.replace("18501", "{port}").replace("ready: {port: {port}}", "fill: {command: [x, '{port}']}")
    placed = read(tmp_path, text).placed(1234, tmp_path)
    assert placed.target.fill is not None and placed.target.fill.command == ("x", "1234")


def test_an_unknown_workload_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="one of get, put"):
        read(tmp_path, WHOLE).workload("post")


def test_the_schema_knows_every_key_and_is_printed() -> None:
    printed = CliRunner().invoke(lab, ["schema", "target"])
    assert printed.exit_code == 0
    schema = json.loads(printed.output)
    assert schema == json.loads(json.dumps(FORM.schema("target.yaml")))
    target = schema["$defs"]["Target"]
    assert target["additionalProperties"] is False
    assert {"name", "command", "ready", "workloads", "headers"} <= set(target["properties"])
    assert set(target["required"]) == {"name", "url", "workloads"}
    meanings = tomllib.loads((ROOT / "runners" / "design" / "target_keys.toml").read_text(encoding="utf-8"))
    assert all(json.dumps(text)[1:-1] in printed.output for record in meanings.values() for text in record.values())


BOTH = LEAST.replace("get: {method: GET, path: /x}", "list: {path: /x}\n  put: {method: PUT, path: /x}")


def in_place_of_stores(number: str, *paths: Path) -> dict[str, object]:
    plan = experiment(number)
    return dict(validate(plan.parameters, {"size": "smoke", "target": ", ".join(map(str, paths))}))


@pytest.mark.parametrize(
    ("number", "names"),
    [
        ("01", ["get-list", "put"]),
        ("04", ["cold-and-warm", "get-list-a", "get-list-b", "put-a", "put-b"]),
    ],
)
def test_targets_take_the_place_of_the_stores_of_an_experiment(number: str, names: list[str], tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(BOTH)
    second.write_text(BOTH.replace("name: a", "name: b"))
    asked = in_place_of_stores(number, first, second)
    blocks = plan_of(number).blocks_of(asked)  # type: ignore[arg-type]
    assert [block.name for block in blocks] == names
    for block in blocks:
        assert isinstance(block, FixedRate | Ladder)
        treatments = block.treatments if isinstance(block, FixedRate) else (block.server.treatment,)
        assert all(treatment.target in (first, second) for treatment in treatments)
        assert block.workload.script == TEMPLATE and not block.workload.filled_keys
    keys = {row.question.key for row in questions_of(number, asked)}
    assert ("servers" in keys) == (number != "04") and not keys & {"rate", "engines", "put", "warm"}
    assert questions_of(number, in_place_of_stores(number, first)) == (), "one server is compared with none"


def test_the_path_of_a_target_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, LEAST)
    monkeypatch.chdir(tmp_path)
    assert validate(experiment("01").parameters, {"target": "a.yaml"})["target"] == str(path)
    assert validate(experiment("09").parameters, {"a": "target=a.yaml"})["a"] == f"target={path}"


def test_targets_that_can_not_stand_side_by_side_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(LEAST)
    second.write_text(LEAST)
    with pytest.raises(PlanError, match="two have this name"):
        in_place_of_stores("01", first, second)
    second.write_text(LEAST.replace("name: a", "name: b").replace("path: /x", "path: /y"))
    with pytest.raises(PlanError, match="different requests"):
        experiment("01").blocks_of(in_place_of_stores("01", first, second))  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="can't be read"):
        in_place_of_stores("01", tmp_path / "absent.yaml")
