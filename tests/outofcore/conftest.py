"""A program that prepares its process for forking is not imported into that of the tests."""

from __future__ import annotations

collect_ignore = ["kills.py"]
