"""Import this before anything else in a process that forks: threads do not survive a fork, so there is only one."""

from __future__ import annotations

import multiprocessing
import os

multiprocessing.set_start_method("spawn", force=True)  # else numba shares a lock with forked processes, killed ones too
os.environ["NUMBA_THREADING_LAYER"] = "workqueue"  # numba ends a forked process that uses OpenMP
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["NUMBA_NUM_THREADS"] = "1"

import pyarrow as pa  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)
pa.set_cpu_count(1)
