"""Run tests in several processes, which are forked when all tests are collected.

    pytest -p runners.tests.forked --processes 3

To import what is tested and to collect takes fifteen seconds of processor time, as much as hundreds of tests: it is
done once, not in each process. A process takes the next file when it is done with one, so that what the tests of a file
share is made once. When a process dies, what is left without a result has failed.
"""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from multiprocessing.connection import Connection, wait

import pytest
from _pytest.capture import CaptureManager
from _pytest.config import create_terminal_writer
from _pytest.terminal import TerminalReporter

#: Of the number of a file in the pipe from which all processes read: so few bytes are read whole.
NUMBER_BYTES = 2

File = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, help="so many processes, forked when tests are collected")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Share the files among processes; without several, or with errors of collection, pytest goes on by itself."""
    count, config = session.config.getoption("processes"), session.config
    if count < 2 or config.option.collectonly or session.testsfailed:
        return None
    files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
    numbers, putting = os.pipe()
    os.write(putting, b"".join(number.to_bytes(NUMBER_BYTES) for number in range(len(files))))
    os.close(putting)
    if isinstance(reporter := config.pluginmanager.get_plugin("terminalreporter"), TerminalReporter):
        reporter.showfspath = False  # tests of several files end in between
    fork = multiprocessing.get_context("fork")
    reading, processes = list[Connection](), []
    for _ in range(count):
        own_end, theirs = fork.Pipe(duplex=False)
        processes.append(fork.Process(target=_work, args=(config, files, numbers, theirs)))
        processes[-1].start()
        theirs.close()
        reading.append(own_end)
    left = _hand_on(session, reading)
    for process in processes:
        process.join()
    for item in left:
        text = f"a process died before it was done (exit codes: {[process.exitcode for process in processes]})"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        config.hook.pytest_runtest_logreport(report=report)
    return True


def _hand_on(session: pytest.Session, reading: list[Connection]) -> list[pytest.Item]:
    """Hand each report on to pytest until all processes have ended; gives the tests without a whole one."""
    hook, left = session.config.hook, {item.nodeid: item for item in session.items}
    while reading:
        for connection in wait(reading):
            assert isinstance(connection, Connection)
            try:
                data = connection.recv()
            except EOFError:
                reading.remove(connection)
                continue
            report = hook.pytest_report_from_serializable(config=session.config, data=data)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                del left[report.nodeid]
    return list(left.values())


class Sender:
    """In place of pytest's reporter: sends each report to the process that prints."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection
        #: pytest's name for what a plugin writes to by itself.
        self._tw = create_terminal_writer(config, io.StringIO())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(data)


def _work(config: pytest.Config, files: Sequence[File], numbers: int, connection: Connection) -> None:
    """Run the tests of one file after the other, as long as there are any."""
    gc.freeze()  # what all processes share is looked at no more
    plugins = config.pluginmanager
    capture = plugins.get_plugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()  # into files that the processes would share
    capture.start_global_capturing()
    plugins.unregister(name="terminalreporter")
    plugins.register(Sender(config, connection), "terminalreporter")
    items = _taken(files, numbers)
    item = next(items, None)
    while item is not None:
        following = next(items, None)  # by it pytest sees which fixtures are needed no more
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


def _taken(files: Sequence[File], numbers: int) -> Iterator[pytest.Item]:
    while number := os.read(numbers, NUMBER_BYTES):
        yield from files[int.from_bytes(number)]
