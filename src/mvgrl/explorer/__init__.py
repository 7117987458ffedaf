"""The explorer: vectors as a map in one web page that needs no network, or from a local server."""

from __future__ import annotations
