"""A computation in a process of its own returns, raises, or is ended."""

from __future__ import annotations

import os
import time

import pytest

from mvgrl.errors import InputError, MVGRLError, check_name
from mvgrl.experiments.runner import reason
from mvgrl.methods.time_limit import within


def test_a_slow_computation_is_ended_and_says_so() -> None:
    started = time.perf_counter()
    with pytest.raises(MVGRLError, match=r"^not finished in 0.01 minutes$") as caught:
        within(0.01, time.sleep, 60)
    assert time.perf_counter() - started < 30
    assert reason(caught.value) == "not finished in 0.01 minutes"


def test_results_and_errors_come_back() -> None:
    assert within(1, divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        within(1, divmod, 7, 0)
    with pytest.raises(InputError, match="unknown bound 'x'"):
        within(1, check_name, "bound", "x", ("jsd",), InputError)


def test_a_process_that_dies_is_reported() -> None:
    with pytest.raises(MVGRLError, match="ended with code 7"):
        within(1, os._exit, 7)
