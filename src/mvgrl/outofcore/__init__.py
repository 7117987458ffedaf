"""The same work for graphs larger than memory: shards on disk, a plan that keeps within a given memory, restarts."""

from mvgrl.outofcore.embedding import embed
from mvgrl.outofcore.job import Job
from mvgrl.outofcore.plan import Plan

__all__ = ["Job", "Plan", "embed"]
