"""Drive Chromium by its DevTools protocol: a page as a person has it, what it asked for and what it complained of."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import websocket

from runners.tests.waiting import until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Frames that are sandboxed stay in the page's process, where their scripts can be asked.
ONE_PROCESS = "--disable-features=IsolateSandboxedIframes"
NO_NAMES = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
AXE = "axe-core@4.14.1"
#: What of axe's findings a page must not have.
GRAVE = ("serious", "critical")
_ANSWER_S = 120.0


class PageError(AssertionError):
    """A script that threw in the page, or a command that the browser refused."""


class Page:
    """One tab. Events are read whenever a command waits for its result."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=_ANSWER_S, suppress_origin=True)
        self._number = 0
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.contexts: dict[int, dict[str, Any]] = {}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        self._socket.close()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its result. Raises PageError when it is refused."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                if "error" in message:
                    raise PageError(f"{method}: {message['error']['message']}")
                result: dict[str, Any] = message["result"]
                return result
            self._note(message.get("method", ""), message.get("params", {}))

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(about["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"].get("exception", about["exceptionDetails"])))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.complaints.append(str(about["args"]))
        elif event == "Runtime.executionContextCreated":
            self.contexts[about["context"]["id"]] = about["context"]
        elif event == "Runtime.executionContextDestroyed":
            self.contexts.pop(about["executionContextId"], None)
        elif event == "Runtime.executionContextsCleared":
            self.contexts.clear()

    def run(self, script: str, context: int | None = None) -> Any:
        """The value of an expression in the page, or in one of its frames; a promise is awaited."""
        where = {} if context is None else {"contextId": context}
        reply = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, **where)
        if "exceptionDetails" in reply:
            raise PageError(f"{script[:200]}: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def context_of(self, iframe: str) -> int:
        """The context of the scripts in a frame, which an expression of the page gives."""
        element = self.send("Runtime.evaluate", expression=iframe)["result"]["objectId"]
        frame = self.send("DOM.describeNode", objectId=element)["node"]["frameId"]
        return next(number for number, context in self.contexts.items() if context["auxData"]["frameId"] == frame)

    def holds(self, script: str, within_s: float = 60.0) -> bool:
        """Wait until an expression is true in the page; false if it never was."""
        return until(lambda: self._true(script), within_s)

    def _true(self, script: str) -> bool:
        try:
            return bool(self.run(f"Boolean({script})"))
        except PageError:
            return False  # the page is being loaded

    def open(self, url: str) -> float:
        """Load a page; gives the seconds until its `load` event."""
        began = time.monotonic()
        self.send("Page.navigate", url=url)
        assert self.holds(f"location.href.startsWith({json.dumps(url)}) && document.readyState === 'complete'"), url
        return time.monotonic() - began

    def click(self, x: float, y: float) -> None:
        """Press and release the left button at a place of the window."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path) -> None:
        """Save what the window shows."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF")["data"])


def axe_source(folder: Path) -> str:
    """The script of axe-core, from npm into a folder of the test's own; skips the test where it is not to be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on this machine, and so axe-core is not to be had")
    done = subprocess.run([npm, "pack", "--silent", AXE], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"npm can't fetch {AXE}: {done.stderr.strip()[-200:]}")
    with tarfile.open(folder / done.stdout.split()[-1]) as packed:
        script = packed.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def grave_findings(page: Page, axe: str) -> list[str]:
    """What axe finds in a page that keeps somebody out: its rule, and the first element of each."""
    page.run(f"{axe};0")
    violations = page.run("axe.run(document, {resultTypes: ['violations']}).then((done) => done.violations)")
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:300]}"
        for violation in violations
        if violation["impact"] in GRAVE
    ]


@contextmanager
def browser(scratch: Path, *flags: str) -> Iterator[Page]:
    """Start Chromium with an empty profile; gives its one tab."""
    errors = scratch / "chromium.txt"
    command = [str(CHROMIUM), *FLAGS, ONE_PROCESS, NO_NAMES, *flags, f"--user-data-dir={scratch / 'profile'}",
               "--remote-debugging-port=0", "--window-size=1300,1000", "about:blank"]  # fmt: skip
    with errors.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stderr=out)
    try:
        assert until(lambda: re.search(r"listening on ws://", errors.read_text(encoding="utf-8"))), errors.read_text()
        match = re.search(r"listening on ws://([\d.:]+)/", errors.read_text(encoding="utf-8"))
        assert match is not None
        with urllib.request.urlopen(f"http://{match[1]}/json", timeout=30) as answer:
            tab = next(target for target in json.load(answer) if target["type"] == "page")
        page = Page(tab["webSocketDebuggerUrl"])
        try:
            yield page
        finally:
            page.close()
    finally:
        process.terminate()
        process.wait(timeout=30)
