"""A computation in its own process, which is stopped when its time is up."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from mvgrl.errors import MVGRLError

# Ends when the input is closed, so that no child outlives its parent.
_CHILD = """
import os, pickle, sys, threading
read, write = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what is printed must not mix with the result
sys.path[:] = pickle.load(read)
function, arguments = pickle.load(read)
threading.Thread(target=lambda: (read.read(), os._exit(1)), daemon=True).start()
try:
    found = True, function(*arguments)
except Exception as error:
    found = False, error
pickle.dump(found, write)
write.flush()
os._exit(0)
"""


def within(minutes: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(*arguments)``, computed by another process; raise if it takes longer than ``minutes``.

    The function must be importable, and the arguments and the result must be picklable. An exception of the function
    is raised here.

    >>> within(1, max, 2, 3)
    3
    """
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        child.kill()

    timer = threading.Timer(60 * minutes, end)
    timer.start()
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            pickle.dump(sys.path, child.stdin)
            pickle.dump((function, arguments), child.stdin)
            child.stdin.flush()
            done, found = pickle.load(child.stdout)
        except (BrokenPipeError, EOFError):
            if late.is_set():
                unit = "minute" if minutes == 1 else "minutes"
                raise MVGRLError(f"not finished in {minutes:g} {unit}") from None
            raise MVGRLError(f"the process that computed it ended with code {child.wait()}") from None
    finally:
        timer.cancel()
        child.kill()
        child.communicate()
    if done:
        return found
    raise found
