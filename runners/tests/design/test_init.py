"""`lab init` asks three questions, and what it writes can be read at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from runners.cli import lab, prepare
from runners.design.target import read_target
from runners.errors import PlanError


def test_three_answers_make_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "at_terminal", lambda: True)
    output = tmp_path / "My Service" / "target.yaml"
    output.parent.mkdir()
    done = CliRunner().invoke(lab, ["init", "--output", str(output)], input='node "my server.js" 1\n\n/a: b #\n')
    assert done.exit_code == 1 and not output.exists(), "a path with blanks is refused and leaves no file"
    done = CliRunner().invoke(lab, ["init", "--output", str(output)], input='node "my server.js" 1\n\n/a?b={key\n')
    assert done.exit_code == 1 and isinstance(done.exception, PlanError)
    done = CliRunner().invoke(lab, ["init", "--output", str(output)], input='node "my server.js" 1\n\n/a?b=%20#\n')
    assert done.exit_code == 0, done.output
    assert done.output.count("]: ") == 3 or done.output.count(": ") >= 3
    target = read_target(output).target
    assert (target.name, target.command) == ("my-service", ("node", "my server.js", "1"))
    assert target.workloads["get"].path == "/a?b=%20#"


def test_without_a_terminal_the_defaults_are_written_and_the_options_for_others_named(tmp_path: Path) -> None:
    output = tmp_path / "target.yaml"
    done = CliRunner().invoke(lab, ["init", "--output", str(output), "--path", "/items"])
    assert done.exit_code == 0, done.output
    target = read_target(output).target
    assert (target.command, target.url, target.workloads["get"].path) == (None, "http://127.0.0.1:8080", "/items")
    assert "--command, --url" in done.output and "--path" not in done.output and str(output) in done.output


def test_a_server_that_runs_already_by_options_alone(tmp_path: Path) -> None:
    output = tmp_path / "target.yaml"
    options = ["init", "--output", str(output), "--name", "here", "--command", "", "--url", "https://localhost:1"]
    done = CliRunner().invoke(lab, [*options, "--path", "/"])
    assert done.exit_code == 0, done.output
    assert read_target(output).target.command is None
    again = CliRunner().invoke(lab, [*options, "--path", "/"])
    assert again.exit_code == 2 and "there already" in again.output


@pytest.mark.parametrize("command", ["'open", '"'])
def test_an_open_quote_is_wrong_usage(tmp_path: Path, command: str) -> None:
    output = tmp_path / "target.yaml"
    done = CliRunner().invoke(lab, ["init", "--output", str(output), "--command", command], input="\n\n")
    assert done.exit_code == 2 and "close the quotes" in done.output and not output.exists()
