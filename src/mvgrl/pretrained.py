"""A trained model as a folder: config.json, model.safetensors and README.md. Nothing in it can run code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

import mvgrl
from mvgrl.checkpoint import write_tensors
from mvgrl.errors import InputError, cannot_write
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.history import History
from mvgrl.model import MVGRL
from mvgrl.runtime import resolve_device
from mvgrl.settings import Output, Settings
from mvgrl.tables.atomic import atomic_folder, check_writable
from mvgrl.training import Trained

_FORMAT = "mvgrl-model-2"
_OLDER = "mvgrl-model-1"  # of 0.1: its settings contain the options of the output
_REMEDY = "give a folder written by mvgrl train, or by save() in Python"


def save_model(
    trained: Trained, folder: str | Path, *, output: Output | None = None, about: Mapping[str, Any] | None = None
) -> None:
    """Write a model and its card; ``about`` says what it was trained on and how it scores, as plain values.

    ``output`` is how its vectors are made by default. A folder that contains a model is replaced; any
    other folder that is not empty is left alone.
    """
    trained.model.settings.check_saveable()
    folder = check_model_folder(folder)
    config = {
        "format": _FORMAT,
        "version": mvgrl.__version__,
        "settings": trained.model.settings.to_dict(),
        "output": (output or Output()).to_dict(),
        "features": trained.feature_encoder.settings(),
        "width": trained.feature_encoder.width,
        "largest": trained.model.largest,
        "losses": trained.history.losses,
        "about": dict(about or {}),
    }
    with atomic_folder(folder) as temporary:
        _write(temporary, trained, config)


def check_model_folder(folder: str | Path) -> Path:
    """Reject a folder that a model cannot be written to: one with other content, or one that cannot be created."""
    folder = Path(folder)
    try:
        taken = folder.exists() and not (folder.is_dir() and (_is_model(folder) or not any(folder.iterdir())))
    except OSError as error:
        raise cannot_write(folder, error) from None
    if taken:
        raise InputError(f"{folder} exists and is not an mvgrl model; nothing was written: choose another name")
    check_writable(folder)
    return folder


class Loaded(NamedTuple):
    """A model from a folder, how its vectors are made, and what is known about it."""

    trained: Trained
    output: Output
    about: dict[str, Any]


def load_model(folder: str | Path, *, device: str | torch.device = "auto") -> Loaded:
    """Read the model of a folder; a damaged or foreign folder is rejected. Models saved by 0.1 can be read."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; {_REMEDY}")
    config = _config(folder)
    where = resolve_device(device)
    try:
        tensors = load_file(folder / "model.safetensors")
        settings, output = _settings(config)
        arrays = {name[9:]: tensor.numpy() for name, tensor in tensors.items() if name.startswith("features/")}
        encoder = FeatureEncoder.from_arrays(arrays, **config["features"])
        model = MVGRL(settings, config["width"], largest=config["largest"])
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model/")})
        history = History.replay(float(loss) for loss in config["losses"])
        about = dict(config["about"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        version = config.get("version", "an unknown version")
        raise InputError(
            f"{folder} does not contain a complete model ({error}), as saved by mvgrl {version}; save it again"
        ) from None
    return Loaded(Trained(model.to(where), encoder, history), output, about)


def _settings(config: Mapping[str, Any]) -> tuple[Settings, Output]:
    values = dict(config["settings"])
    if config["format"] != _OLDER:
        return Settings.from_dict(values), Output.from_dict(config["output"])
    output = {name: values.pop(name) for name in Output.__dataclass_fields__ if name in values}
    return Settings.from_dict(values), Output.from_dict(output)


def _write(folder: Path, trained: Trained, config: dict[str, Any]) -> None:
    tensors = {f"model/{name}": tensor for name, tensor in trained.model.state_dict().items()}
    for name, array in trained.feature_encoder.to_arrays().items():
        tensors[f"features/{name}"] = torch.from_numpy(array.copy())
    write_tensors(folder / "model.safetensors", tensors)
    (folder / "README.md").write_text(_card(config))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def _is_model(folder: Path) -> bool:
    try:
        return _config(folder)["format"].startswith("mvgrl-model-")
    except InputError:
        return False


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text())
        known = isinstance(config, dict) and str(config.get("format", "")).startswith("mvgrl-model-")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{folder} is not an mvgrl model: its config.json cannot be read ({reason}); {_REMEDY}"
        ) from None
    if not known:
        raise InputError(f"{folder} is not an mvgrl model: its config.json belongs to something else; {_REMEDY}")
    if config["format"] not in (_FORMAT, _OLDER):
        saved = config.get("version", "an unknown version")
        raise InputError(
            f"{path} was saved by mvgrl {saved} in format {config['format']}, but this version, {mvgrl.__version__}, "
            f"reads {_FORMAT}; update mvgrl"
        )
    return config


def _card(config: dict[str, Any]) -> str:
    """The model card: what the model was trained on, how, and how it scores."""
    settings, losses = config["settings"], config["losses"]
    views = ", ".join(view["name"] for view in settings["views"])
    lines = [
        f"# A {settings['task']} embedder",
        "",
        "Trained without labels by contrasting views of a graph "
        "(Hassani & Khasahmadi, *Contrastive Multi-View Representation Learning on Graphs*, ICML 2020), "
        f"with mvgrl {config['version']}.",
        "",
        "| | |",
        "|---|---|",
        f"| views | {views} |",
        f"| dimensions | {settings['hidden']} |",
        f"| layers | {settings['layers']} |",
        f"| features | {config['width']} |",
        f"| epochs | {len(losses)} |",
        *([f"| lowest loss | {min(losses):.4f} |"] if losses else []),
        *(f"| {key} | {value} |" for key, value in config["about"].items()),
        "",
        "Every setting is in `config.json`. To use it:",
        "",
        "```python",
        "import mvgrl",
        "",
        "embeddings = mvgrl.load(FOLDER).transform(graph)",
        "```",
    ]
    return "\n".join(lines) + "\n"
