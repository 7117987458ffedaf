"""What the code promises of its own shape."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mvgrl"

# From the top: a part may import what stands above it, and nothing below.
ORDER = (
    "errors",
    "runtime",
    "tables",
    "matrices",
    "graphs",
    "datasets",
    "views",
    "sampling",
    "encoders",
    "readouts",
    "heads",
    "mutual_information",
    "contrast",
    "settings",
    "automatic",
    "model",
    "checkpoint",
    "training",
    "stacking",
    "progress",
    "pretrained",
    "embedders",
    "methods",
    "evaluation",
    "experiments",
    "reports",
    "cli",
    "__main__",
)

ONLY_THE_CORE = """
import importlib.machinery, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyarrow", "rich", "safetensors", "pandas", "pydantic", "matplotlib"}:
            return importlib.machinery.ModuleSpec(name, self)  # to be found, as some look, but not to be imported

    def create_module(self, spec):
        raise ImportError(f"{spec.name} is not part of the core")

    def exec_module(self, module):
        pass  # never reached, but a loader must have it

sys.meta_path.insert(0, Refuse())
import mvgrl
from mvgrl.evaluation import linear_probe, propagated, untrained
graph = mvgrl.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
nodes, _ = mvgrl.fit(graph, mvgrl.Settings(hidden=4, epochs=2), device="cpu").represent()
assert nodes.shape == (4, 4)
linear_probe(nodes, [0, 1, 0, 1], [0, 1], [2, 3])
"""


def imported_parts(path: Path) -> set[str]:
    """The parts of the library a file imports when it is itself imported."""
    parts = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mvgrl."):
            parts.add(node.module.split(".")[1])
    return parts


def test_imports_point_upwards_only() -> None:
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert found == set(ORDER)
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        below = set(ORDER[ORDER.index(part) + 1 :])
        assert not imported_parts(path) & below, path.name


def test_the_core_runs_on_its_few_packages() -> None:
    subprocess.run([sys.executable, "-c", ONLY_THE_CORE], check=True)


def test_importing_the_package_is_light() -> None:
    code = "import mvgrl, sys; print(mvgrl.__version__, 'torch' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split()[1] == "False"
