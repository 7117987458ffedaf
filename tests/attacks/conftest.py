"""Programs that prepare their process for forking are not imported into that of the tests."""

from __future__ import annotations

collect_ignore = ["forking.py", "fuzz.py", "kills.py"]
