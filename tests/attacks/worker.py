"""The process that runs fuzz cases: with limits, an audit hook, and a check of everything a case leaves behind."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import re
import resource
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.attacks.arrays import MARKER
from tests.attacks.targets import TARGETS

import mvgrl
from mvgrl.errors import MVGRLError

LIMIT_SECONDS = 20
SLOW = {"report": 60}  # it summarises every experiment
LIMIT_MEMORY = 2**30  # more than this for a file of some kilobytes is a finding
ADDRESS_SPACE = 3 * 2**30  # beyond what the process has at its start
LONGEST_MESSAGE = 1000
SOURCE = str(Path(mvgrl.__file__).parent)

_RUNS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "socket.bind")
_RUNS += ("pickle.find_class", "ctypes.dlopen", "os.kill", "pty.spawn", "webbrowser.open", "urllib.Request")
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")


class Audit:
    """Records what no reader may do: run code or programs, connect, or write outside the scratch folder."""

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.armed = str(scratch), False
        self.seen: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event in _RUNS and arguments != (None,):  # the process itself is no foreign library
            self.seen.append(f"{event} {arguments!r:.200}")
        elif event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            if writes and not isinstance(path, int):
                self._check(event, path)
        elif event in _CHANGES:
            for path in arguments[:2] if event in ("os.rename", "os.link") else arguments[:1]:
                self._check(event, path)
        elif event == "exec" and "<string>" in str(getattr(arguments[0], "co_filename", "")):
            # The standard library makes named tuples and data classes this way while a module is imported.
            caller = sys._getframe(1).f_code.co_filename
            if not re.search(r"/(collections/__init__|dataclasses|numba/|timeit)", caller):
                self.seen.append(f"exec in {caller}")

    def _check(self, event: str, path: Any) -> None:
        with suppress(TypeError, ValueError):
            place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 (no file system access in a hook)
            if not place.startswith((self.scratch, "/dev/null")) and "__pycache__" not in place:
                self.seen.append(f"{event} {place}")


def last_frame(trace: str) -> str:
    """The innermost place in the package that a traceback names, of Python or of faulthandler."""
    lines = re.findall(r'File "([^"]+)", line \d+,? in (\S+)', trace)
    ours = [(path, name) for path, name in lines if path.startswith(SOURCE)]
    if not ours:
        return "outside of the package"
    innermost = ours[0] if "most recent call first" in trace else ours[-1]
    return f"{Path(innermost[0]).relative_to(SOURCE)}:{innermost[1]}"


def wrong_message(message: str) -> str | None:
    """What is wrong with an error's message: it must be a short line that can be printed."""
    if not message.strip():
        return "empty message"
    if "\n" in message or "\r" in message:
        return "message of several lines"
    if not message.isprintable():
        return "message that cannot be printed"
    return "long message" if len(message) > LONGEST_MESSAGE else None


def _finding(kind: str, message: object, trace: str) -> dict[str, str]:
    text = str(message).encode("utf-8", "backslashreplace").decode()
    return {"outcome": "finding", "kind": kind, "place": last_frame(trace), "message": text[:300]}


def attempt(call: Callable[[], None], audit: Audit, scratch: Path) -> dict[str, str]:
    """Run one case, and say how it ended."""
    noted: list[dict[str, str]] = []

    def warned(message: Any, category: type[Warning], *_: Any) -> None:
        trace = "".join(traceback.format_stack())
        noted.append(_finding(f"warning {category.__name__}", message, trace))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for hidden in (ResourceWarning, DeprecationWarning, PendingDeprecationWarning):  # as users do not see them
            warnings.simplefilter("ignore", hidden)
        warnings.showwarning = warned  # type: ignore[assignment]
        audit.seen.clear()
        audit.armed = True
        try:
            call()
            result = {"outcome": "accepted"}
        except MVGRLError as error:
            wrong = wrong_message(str(error))
            result = {"outcome": type(error).__name__}
            if wrong is not None:
                result = _finding(wrong, error, traceback.format_exc())
            elif error.__cause__ is not None or not (error.__suppress_context__ or error.__context__ is None):
                result = _finding("chained exception", error, traceback.format_exc())
        except BaseException as error:
            with suppress(Exception):
                noted.clear()
            result = _finding(type(error).__name__, error, traceback.format_exc())
        finally:
            audit.armed = False
    if audit.seen:
        result = _finding(f"forbidden {audit.seen[0].split()[0]}", audit.seen[0], "")
    elif noted and result["outcome"] != "finding":
        result = noted[0]
    if (scratch / MARKER).exists():
        result = _finding("code was run", MARKER, "")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > LIMIT_MEMORY:
        result = _finding("memory", f"{grown / 2**20:.0f} MB", "")
    return result


def work(cases: Callable[[int], Any], numbers: Iterable[int], scratch: Path, pipe: int) -> None:
    """Run cases in this process and report each to the pipe; never returns."""
    try:
        os.chdir(scratch)
        with Path("/proc/self/statm").open() as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
        logging.getLogger("mvgrl").addHandler(logging.NullHandler())
        logging.getLogger("mvgrl").propagate = False
        audit = Audit(scratch)
        with (scratch / "trace").open("w") as trace:
            faulthandler.enable(trace, all_threads=False)
            for number in numbers:
                os.write(pipe, f"start {number}\n".encode())
                case = cases(number)
                folder = scratch / "case"
                shutil.rmtree(folder, ignore_errors=True)
                for name, content in case.seed.files.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(content)
                faulthandler.dump_traceback_later(SLOW.get(case.target, LIMIT_SECONDS), exit=True, file=trace)
                result = attempt(lambda: TARGETS[case.target](folder, case.seed), audit, scratch)  # noqa: B023
                faulthandler.cancel_dump_traceback_later()
                made = {"target": case.target, "mutations": case.mutations}
                os.write(pipe, f"{number} {json.dumps({**made, **result})}\n".encode())
                if result.get("kind") in ("memory", "code was run"):
                    break
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(3)
