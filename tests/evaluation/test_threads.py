"""Threads for small problems: limited inside, restored outside, results in order."""

from __future__ import annotations

import pytest
import torch
from threadpoolctl import threadpool_info

from mvgrl.evaluation.threads import one_thread, parallel_map


def counts() -> list[int]:
    return [torch.get_num_threads(), *(library["num_threads"] for library in threadpool_info())]


def test_one_thread_limits_every_library_and_restores_it_after_an_error() -> None:
    before = counts()
    with one_thread():
        assert set(counts()) == {1}
    assert counts() == before
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert counts() == before


def test_parallel_map_keeps_the_order_and_restores_the_number_of_threads() -> None:
    before = torch.get_num_threads()
    with parallel_map(torch.device("cpu")) as each:
        assert each(lambda chunk: 10 * chunk, range(0, 20, 3)) == [10 * chunk for chunk in range(0, 20, 3)]
    assert torch.get_num_threads() == before
