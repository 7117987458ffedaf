"""Imports point upwards without cycles, no module is too long, and optional packages are imported on demand."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mvgrl"

# From top to bottom: a module may import modules above it, and none below.
ORDER = (
    "errors",
    "parsing",
    "runtime",
    "optimizers",
    "components",
    "definitions",
    "tables",
    "matrices",
    "vector_space",
    "neighbors",
    "graphs",
    "datasets",
    "views",
    "agreement",
    "positions",
    "sampling",
    "encoders",
    "readouts",
    "heads",
    "mutual_information",
    "contrast",
    "settings",
    "similar",
    "automatic",
    "model",
    "history",
    "recording",
    "tensor_file",
    "checkpoint",
    "inputs",
    "beside",
    "vectors",
    "captured",
    "distributed",
    "stacking",
    "training",
    "folds",
    "methods",
    "progress",
    "pretrained",
    "outofcore",
    "method_vectors",
    "frames",
    "display",
    "embedders",
    "evaluation",
    "clusters",
    "experiments",
    "tuning",
    "reports",
    "cluster",
    "explorer",
    "cli",
    "__main__",
)

ONLY_THE_CORE = """
import importlib.machinery, sys

class Refuse:
    names = {"pyarrow", "rich", "safetensors", "pandas", "pydantic", "matplotlib", "filelock", "pooch", "platformdirs",
             "requests", "cyclopts", "ray", "optuna", "tensorboard"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self)  # found, as some packages check, but not importable

    def create_module(self, spec):
        raise ImportError(f"{spec.name} is not part of the core")

    def exec_module(self, module):
        pass  # never reached, but a loader must have it

sys.meta_path.insert(0, Refuse())
import mvgrl, mvgrl.datasets, mvgrl.methods
from mvgrl.evaluation import linear_probe
graph = mvgrl.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
vectors = mvgrl.fit(graph, mvgrl.Settings(hidden=4, epochs=2), device="cpu").vectors()
assert vectors.shape == (4, 3)
linear_probe(vectors, [0, 1, 0, 1], [0, 1], [2, 3])
assert "torch._dynamo" not in sys.modules  # the compiler, which takes seconds to import
"""


def module_name(path: Path) -> str:
    parts = ["mvgrl", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, also inside functions and as ``import mvgrl.x``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == "mvgrl")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mvgrl":
            assert node.level == 0
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in MODULES else node.module


def test_imports_point_upwards_only() -> None:
    def part(module: str) -> str:
        return module.split(".")[1] if "." in module else ""

    assert {part(module) for module in MODULES} - {""} == set(ORDER)
    for module, path in MODULES.items():
        if module == "mvgrl":  # the public names, imported on demand
            continue
        below = set(ORDER[ORDER.index(part(module)) + 1 :])
        wrong = {name for name in imports(path) if part(name) in below}
        assert not wrong, f"{module} imports {wrong}"


def test_there_are_no_import_cycles() -> None:
    graph = {
        module: {name for name in imports(path) if name != module and name != "mvgrl"}
        for module, path in MODULES.items()
        if module != "mvgrl"
    }
    # Importing a submodule also imports the packages around it, unless they are the importer's own.
    for module, found in graph.items():
        packages = {".".join(name.split(".")[:depth]) for name in found for depth in range(2, name.count(".") + 1)}
        found |= {name for name in packages if not module.startswith(f"{name}.") and name != module}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module not in done:
            for other in graph.get(module, ()):
                visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_no_module_is_longer_than_400_lines() -> None:
    long = {module: lines for module, path in MODULES.items() if (lines := len(path.read_text().splitlines())) > 400}
    assert not long


def test_core_runs_without_optional_packages() -> None:
    subprocess.run([sys.executable, "-c", ONLY_THE_CORE], check=True)


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import mvgrl, sys; print(mvgrl.__version__, 'torch' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split()[1] == "False"
