"""A trained model as a folder: config.json, model.safetensors, README.md. Nothing in it can run code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import mvgrl
from mvgrl.checkpoint import History, write_tensors
from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.model import MVGRL
from mvgrl.runtime import resolve_device
from mvgrl.settings import Settings
from mvgrl.tables.atomic import atomic_folder, cannot_write, check_writable
from mvgrl.training import Trained

_FORMAT = "mvgrl-model-1"
_WAY_OUT = "give a folder that mvgrl train, or save() in Python, has written"


def save_model(trained: Trained, folder: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
    """Write a model and its card; ``about`` says what it was trained on and how it scores, as plain values.

    A folder that already holds a model is replaced; any other folder with something in it is left alone.
    """
    folder = check_model_folder(folder)
    settings = trained.model.settings
    for name in ("sampler", "mode", "bound"):
        if not isinstance(getattr(settings, name), str):
            raise SettingsError(
                f"{name} is a function of your own, which a file cannot hold; only named ones are saved"
            )
    config = {
        "format": _FORMAT,
        "version": mvgrl.__version__,
        "settings": settings.to_dict(),
        "features": trained.feature_encoder.settings(),
        "width": trained.feature_encoder.width,
        "largest": trained.model.largest,
        "losses": trained.history.losses,
        "about": dict(about or {}),
    }
    with atomic_folder(folder) as temporary:
        _write(temporary, trained, config)


def check_model_folder(folder: str | Path) -> Path:
    """Refuse a folder that no model can be written to: one that holds something else, or that cannot be made."""
    folder = Path(folder)
    try:
        taken = folder.exists() and not (folder.is_dir() and (_is_model(folder) or not any(folder.iterdir())))
    except OSError as error:
        raise cannot_write(folder, error) from None
    if taken:
        raise InputError(f"{folder} exists and is not a model of mvgrl; nothing was written: choose another name")
    check_writable(folder)
    return folder


def load_model(folder: str | Path, *, device: str | torch.device = "auto") -> tuple[Trained, dict[str, Any]]:
    """The model of a folder, and what is known about it; a damaged or foreign folder is refused."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; {_WAY_OUT}")
    config = _config(folder)
    where = resolve_device(device)
    try:
        tensors = load_file(folder / "model.safetensors")
        settings = Settings.from_dict(config["settings"])
        arrays = {name[9:]: tensor.numpy() for name, tensor in tensors.items() if name.startswith("features/")}
        encoder = FeatureEncoder.from_arrays(arrays, **config["features"])
        model = MVGRL(settings, config["width"], largest=config["largest"])
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model/")})
        history = History()
        for loss in config["losses"]:
            history.add(float(loss))
        about = dict(config["about"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder} does not hold a whole model of mvgrl ({error}); save it again") from None
    return Trained(model.to(where), encoder, history), about


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
            f"{folder} is not a model of mvgrl: its config.json cannot be read ({reason}); {_WAY_OUT}"
        ) from None
    if not known:
        raise InputError(f"{folder} is not a model of mvgrl: its config.json is of something else; {_WAY_OUT}")
    if config["format"] != _FORMAT:
        raise InputError(f"{path} has format {config['format']}, and this version reads {_FORMAT}; update mvgrl")
    return config


def _card(config: dict[str, Any]) -> str:
    """The model card: what it was trained on, how, and how it scores."""
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
