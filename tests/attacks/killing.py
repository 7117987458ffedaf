"""Run a command in a forked process that dies at a chosen file operation or moment, and compare what it leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OPERATIONS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
EXCHANGES = ("renameat2", "renamex_np")  # called through ctypes, which reports only that they are looked up
Contents = dict[str, bytes | None]


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code (negative for a signal), its file operations and its duration."""

    code: int
    operations: list[str]
    seconds: float

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


@dataclass(frozen=True)
class Place:
    """The folders of one case: where the command runs, its temporary folder, and what it printed."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def printed(self) -> str:
        path = self.root / "printed"
        return path.read_text(errors="replace").strip()[-300:] if path.exists() else ""

    def fill(self, template: Path) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(template, self.work, symlinks=True)
        self.temporary.mkdir()

    def contents(self) -> Contents:
        """Every file of the case, also hidden ones: its content, where a link points to, or None for a folder."""
        found: Contents = {}
        for top in (self.work, self.temporary):
            for folder, folders, files in os.walk(top, followlinks=True):
                for path in (Path(folder, name) for name in (*folders, *files)):
                    link = str(path.readlink()).encode() if path.is_symlink() else None
                    found[str(path.relative_to(self.root))] = path.read_bytes() if path.is_file() else link
        return found


def run(place: Place, command: Callable[[], int], *, operation: int | None = None, after: float | None = None) -> Ended:
    """Run a command in a forked process; kill it before its n-th file operation (from 1), or after some seconds."""
    started = time.monotonic()
    log = place.root / "operations"
    log.unlink(missing_ok=True)
    process = os.fork()
    if not process:
        _child(place, command, log, operation)
    if after is not None:
        _wait_until(process, started + after)
    _, status = os.waitpid(process, 0)
    operations = log.read_text().splitlines() if log.exists() else []
    return Ended(os.waitstatus_to_exitcode(status), operations, time.monotonic() - started)


def _wait_until(process: int, moment: float) -> None:
    """Kill a process at a moment, unless it ends before."""
    while time.monotonic() < moment:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)


def _child(place: Place, command: Callable[[], int], log: Path, operation: int | None) -> None:
    """Run the command with an audit hook, which is called before each operation; never returns."""
    code = 99
    try:
        os.chdir(place.work)
        os.environ["TMPDIR"] = tempfile.tempdir = str(place.temporary)
        printed = os.open(place.root / "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        seen = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            name = _operation(event, arguments, str(place.root))
            if name is not None:
                seen += 1
                os.write(written, f"{name}\n".encode())
                if seen == operation:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        code = command()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _operation(event: str, arguments: tuple[Any, ...], root: str) -> str | None:
    """What an event does to the files of the case; None if nothing."""
    if event == "ctypes.dlsym" and arguments[1] in EXCHANGES:
        return "exchange folders"
    if event == "open":
        path, _, flags = arguments
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if not writes or isinstance(path, int):
            return None
        event = "open for writing"
    elif event not in OPERATIONS and not event.startswith("shutil."):
        return None
    try:
        place = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 (no file system access in a hook)
    except TypeError:
        return None
    return f"{event} {Path(place).name}" if place.startswith(root) else None


def runs_in(content: bytes) -> list[dict[str, Any]]:
    """The runs of a ledger's lines that are complete."""
    found = []
    for line in content.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _key(one: dict[str, Any]) -> str:
    return json.dumps({name: one[name] for name in ("experiment", "dataset", "setting", "variant", "seed", "recipe")})


def differences(expected: Contents, found: Contents, killed: Contents, ledger: str | None = None) -> list[str]:
    """What is wrong after the next run: other files, other bytes, or runs that were lost, repeated or changed."""
    wrong = [f"left over: {name}" for name in sorted(found.keys() - expected.keys())]
    wrong += [f"missing: {name}" for name in sorted(expected.keys() - found.keys())]
    same = [name for name in expected if name in found and name != ledger]
    wrong += [f"other bytes: {name}" for name in same if found[name] != expected[name]]
    if ledger is not None and ledger in found:
        should, are = (runs_in(some[ledger] or b"") for some in (expected, found))
        keys = [_key(one) for one in are]
        wrong += ["a run is in the ledger twice"] if len(set(keys)) < len(keys) else []
        scores = ({_key(one): one["scores"] for one in some} for some in (should, are))
        wrong += ["the ledger has other runs or scores"] if next(scores) != next(scores) else []
        lost = [one for one in runs_in(killed.get(ledger) or b"") if one not in are]
        wrong += ["a run that was in the ledger is lost or was repeated"] if lost else []
    return wrong


@dataclass(frozen=True)
class Scenario:
    """A command, the folder it starts from, and what must exist at every moment."""

    name: str
    words: tuple[str, ...]
    ledger: str | None = None
    always: tuple[str, ...] = ()  # files or folders that are complete at every moment: the old or the new ones
    older: tuple[str, ...] = ()  # a command that makes what is replaced
    link: tuple[str, str] | None = None  # a symbolic link, and what it points to
    files: dict[str, bytes] = field(default_factory=dict)
    slow: bool = False  # it starts processes of its own, which import everything again

    def command(self, words: Sequence[str]) -> Callable[[], int]:
        from mvgrl.cli import main

        return lambda: main([*words, "--quiet"])

    def again(self, place: Place) -> Callable[[], int]:
        """The next run: it resumes where there is a checkpoint, also beside what a link points to."""
        unfinished = any(not path.name.startswith(".") for path in place.work.rglob("*.checkpoint"))
        return self.command([*self.words, "--resume"] if unfinished else self.words)

    def incomplete(self, old: Contents, new: Contents, now: Contents) -> list[str]:
        """What should always be complete but is neither the old nor the new one."""

        def part(contents: Contents, name: str) -> Contents:
            return {path: one for path, one in contents.items() if path == name or path.startswith(f"{name}/")}

        return [
            f"{name} is neither the old nor the new one"
            for name in (f"work/{one}" for one in self.always)
            if part(now, name) not in (part(old, name), part(new, name))
        ]
