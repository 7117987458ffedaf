"""A headless Chromium, driven over a pipe by the DevTools protocol: no driver and no package is needed."""

from __future__ import annotations

import base64
import io
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--remote-debugging-pipe", "--hide-scrollbars", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--force-device-scale-factor=1", "--mute-audio"),
)


class BrowserError(Exception):
    """The page raised an exception, or the browser did not answer."""


class Browser:
    """One browser with one page; what the page logs and requests is kept in ``logged`` and ``requested``."""

    def __init__(self, timeout: float = 30.0) -> None:
        assert PROGRAM is not None, "there is no Chromium"
        self.timeout, self.number, self.buffer = timeout, 0, b""
        self.logged: list[str] = []
        self.requested: list[str] = []
        self.folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        place = f"--user-data-dir={self.folder.name}/profile"
        # The browser reads from descriptor 3 and writes to 4.
        line = f"exec {shlex.join([PROGRAM, *FLAGS, place, 'about:blank'])} 3<&{to_browser} 4>&{from_browser}"
        self.process = subprocess.Popen(
            ["bash", "-c", line],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.session: str | None = None
        self.version = str(self.send("Browser.getVersion")["product"])
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        self.process.terminate()
        self.process.wait(10)
        os.close(self.write)
        os.close(self.read)
        self.folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that arrive meanwhile are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read, 2**20) if ready else b""
            if not data:
                raise BrowserError("the browser does not answer")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, event: dict[str, Any]) -> None:
        method, values = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.logged.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.logged.append(values["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.logged.append(" ".join(str(one.get("value", one)) for one in values["args"]))
        elif method == "Network.requestWillBeSent":
            self.requested.append(values["request"]["url"])

    def run(self, expression: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        found = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def wait(self, expression: str, timeout: float | None = None) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + (timeout or self.timeout)
        while not self.run(f"!!({expression})"):
            if time.monotonic() > deadline:
                raise BrowserError(f"{expression} stays false; logged: {self.logged[-3:]}")
            time.sleep(0.02)

    def until(self, is_done: Callable[[], bool]) -> None:
        """Wait until a function returns true, such as that a download has arrived."""
        deadline = time.monotonic() + self.timeout
        while not is_done():
            if time.monotonic() > deadline:
                raise BrowserError("it does not happen")
            self.frame()

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Set the size of the window in pixels; a mobile one is touched."""
        window = dict(width=width, height=height, screenWidth=width, screenHeight=height)
        self.send("Emulation.setDeviceMetricsOverride", **window, deviceScaleFactor=1, mobile=mobile)
        self.send("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def dark(self, on: bool) -> None:
        """Set the colour scheme that the reader prefers."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, page: Path | str, ready: str = "document.readyState === 'complete'") -> None:
        """Open a file or address, and wait until an expression is true."""
        self.logged, self.requested = [], []
        self.send("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        self.wait(f"location.href !== 'about:blank' && document.body !== null && ({ready})")

    def mouse(self, kind: str, x: float, y: float, *, button: str = "none", shift: bool = False) -> None:
        """Move or press the mouse."""
        more = {"button": button, "buttons": 0 if button == "none" else 1, "clickCount": 0 if button == "none" else 1}
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, modifiers=8 if shift else 0, **more)

    def click(self, x: float, y: float) -> None:
        """Move to a place and click there."""
        self.mouse("mouseMoved", x, y)
        self.frame()
        self.mouse("mousePressed", x, y, button="left")
        self.mouse("mouseReleased", x, y, button="left")

    def drag(self, places: list[tuple[float, float]], *, shift: bool = False) -> None:
        """Drag the mouse along places."""
        self.mouse("mouseMoved", *places[0], shift=shift)
        self.frame()
        self.mouse("mousePressed", *places[0], button="left", shift=shift)
        for place in places[1:]:
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1], button="left", buttons=1,
                      modifiers=8 if shift else 0)  # fmt: skip
            self.frame()
        self.mouse("mouseReleased", *places[-1], button="left", shift=shift)
        self.frame()

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        """Insert text where the cursor is."""
        self.send("Input.insertText", text=text)

    def frame(self) -> None:
        """Wait until the page has drawn twice."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def picture(self, path: Path | None = None) -> np.ndarray:
        """Return what is seen, height×width×3; write it as a PNG file if a path is given."""
        from PIL import Image

        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
