"""A job out of core on a cluster: Ray tasks fill its shards, and Ray Train trains.

Every machine needs the graph and the folder of the job under the same paths, so both are on shared storage. Tasks
receive these paths; no graph passes through Ray. A task whose machine is lost runs again, and finds what was finished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cluster.connection import RETRIES, cpus_of_a_machine, prepare_process, result_of

if TYPE_CHECKING:
    from mvgrl.automatic import Resolved
    from mvgrl.outofcore import Job
    from mvgrl.outofcore.plan import Plan
    from mvgrl.settings import Output
    from mvgrl.training import Trained


@dataclass(frozen=True)
class Order:
    """Everything that makes a job in another process; the graph and the shards are paths."""

    graph: Path
    resolved: Resolved
    output: Output
    folder: Path
    plan: Plan
    seed: int
    device: str
    model: str
    trained: Trained | None  # a model that was trained before
    checkpoint_every: float
    trainers: int

    @classmethod
    def of(cls, job: Job, trained: Trained | None = None) -> Order:
        """Return the order of a job that has been started."""
        same = (job.resolved, job.output, job.folder.absolute(), job.plan, job.seed, job.device, job.model, trained)
        return cls(job.graph.folder.absolute(), *same, job.checkpoint_every, job.trainers)

    def job(self, worker: int = 0, workers: int = 1) -> Job:
        """Open the graph and continue the job, as one of several processes."""
        from mvgrl.graphs.stored import StoredGraph
        from mvgrl.outofcore import Job

        about = (self.resolved, self.output, self.folder, self.plan, self.seed, self.device, self.model)
        job = Job(StoredGraph.open(self.graph), *about, worker=worker, workers=workers)
        job.checkpoint_every, job.trainers = self.checkpoint_every, self.trainers
        job.start(self.trained)
        return job


@dataclass
class ClusterJob:
    """Runs the stages of a job on a cluster. Afterwards, the job itself finds everything computed."""

    ray: Any
    tell: Callable[[str], None] = field(default=lambda text: None)

    def diffuse(self, job: Job) -> None:
        """Compute the views."""
        self._everywhere("diffusion", _diffuse, Order.of(job))

    def train(self, job: Job) -> None:
        """Train; the result is in the checkpoint of the job."""
        order = Order.of(job)
        if job.trainers == 1:
            self.tell("training on one machine")
            self._run([self._remote(_train, gpu=job.device != "cpu").remote(order)])
        else:
            self.tell(f"training by {job.trainers} processes")
            self._train_together(order)

    def vectors(self, job: Job, trained: Trained) -> None:
        """Compute the vectors."""
        self._everywhere("vectors", _vectors, Order.of(job, trained))

    def _everywhere(self, stage: str, work: Callable[..., None], order: Order) -> None:
        """Run a task per machine; they fill the same shards, each from another end."""
        count = max(1, sum(node["Alive"] and node["Resources"].get("CPU", 0) >= 1 for node in self.ray.nodes()))
        self.tell(f"{stage} on {count} {'machine' if count == 1 else 'machines'}")
        given = self.ray.put(order)
        self._run([self._remote(work).remote(given, worker, count) for worker in range(count)])

    def _run(self, waiting: list[Any]) -> None:
        try:
            for one in waiting:
                result_of(self.ray, one)
        except BaseException:
            for one in waiting:
                self.ray.cancel(one, force=True)
            raise

    def _remote(self, work: Callable[..., None], *, gpu: bool = False) -> Any:
        cpus = cpus_of_a_machine(self.ray)
        return self.ray.remote(num_cpus=cpus, num_gpus=int(gpu), max_retries=RETRIES)(work)

    def _train_together(self, order: Order) -> None:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        gpu = order.device != "cpu"
        trainer = TorchTrainer(
            train_process,
            train_loop_config={"order": order},
            scaling_config=ScalingConfig(
                num_workers=order.trainers,
                use_gpu=gpu,
                resources_per_worker={"CPU": 1 if gpu else cpus_of_a_machine(self.ray)},
            ),
            torch_config=TorchConfig(backend="nccl" if gpu else "gloo"),
            run_config=RunConfig(
                name="training",
                storage_path=str(order.folder / "ray"),
                failure_config=FailureConfig(max_failures=RETRIES),  # every restart continues from the checkpoint
            ),
        )
        trainer.fit()


def _threads() -> int:
    import ray

    return int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1))


def _diffuse(order: Order, worker: int, workers: int) -> None:
    prepare_process(_threads())
    order.job(worker, workers).diffuse()


def _train(order: Order) -> None:
    prepare_process(_threads())
    job = order.job()
    job.diffuse()  # opens the shards
    job.train()


def _vectors(order: Order, worker: int, workers: int) -> None:
    prepare_process(_threads())
    assert order.trained is not None
    job = order.job(worker, workers)
    job.diffuse()
    job.vectors(order.trained)


def train_process(config: dict[str, Any]) -> None:
    """Train as one of the processes of a group that torch.distributed has formed, by Ray or by ``torchrun``."""
    job = config["order"].job()
    job.diffuse()
    job.train()
