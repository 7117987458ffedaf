"""Search for the settings that suit a graph, by labels or, without any, by hidden edges."""

from __future__ import annotations

from mvgrl.tuning.problem import CRITERIA, Problem
from mvgrl.tuning.search import Search, search

__all__ = ["CRITERIA", "Problem", "Search", "search"]
