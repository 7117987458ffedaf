"""A trained model as a folder: config.json, model.safetensors and README.md. Nothing in it can run code."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import torch

import mvgrl
from mvgrl.errors import InputError, cannot_write, check_name, shown
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.history import History, checked_losses
from mvgrl.model import MVGRL
from mvgrl.parsing import parse_json
from mvgrl.positions import KINDS as POSITIONS
from mvgrl.positions import PositionEncoder
from mvgrl.runtime import resolve_device
from mvgrl.settings import Output, Settings
from mvgrl.tables.atomic import atomic_folder, check_writable
from mvgrl.tensor_file import Layout, TensorFile, check_layouts, check_values, open_tensors, write_tensors
from mvgrl.training import Trained
from mvgrl.vectors import Composition, code_names, plain_length

_FORMAT = "mvgrl-model-7"
_PAPER = ("mvgrl-model-1", "mvgrl-model-2")  # the first, from 0.1, has the output options among its settings
# The third has no part for features that are not propagated; the numbers of the fourth are principal components; the
# fifth has roots of sums and no histogram for graphs, and no raw positions; the sixth may have similar nodes among the
# options of the output.
_OLDER = (*_PAPER, "mvgrl-model-3", "mvgrl-model-4", "mvgrl-model-5", "mvgrl-model-6")
METHOD_FORMAT = "mvgrl-model-method-1"  # vectors of another method, in a folder with the same files
_LONGEST_CONFIG = 2**26  # bytes; the losses of a million epochs take half of it
_FILES = {"config.json", "model.safetensors", "README.md"}
_REMEDY = "give a folder written by mvgrl train, or by save() in Python"


def save_model(
    trained: Trained, folder: str | Path, *, output: Output | None = None, about: Mapping[str, Any] | None = None
) -> None:
    """Write a model and its card; ``about`` says what it was trained on and how it scores, as plain values.

    ``output`` sets how its vectors are made by default. A folder that contains a model is replaced; any other folder
    that is not empty is an error.
    """
    settings, output = trained.model.settings, trained.output_of(output)
    settings.check_saveable()
    folder = check_model_folder(folder)
    composition = trained.compose(output) if output.composed else None
    columns = trained.feature_encoder.columns_
    config = {
        "format": _FORMAT,
        "version": mvgrl.__version__,
        "settings": settings.to_dict(),
        "output": output.to_dict(),
        "vector": vector_summary(settings, output, composition),
        "features": trained.feature_encoder.settings(),
        "width": trained.feature_encoder.width,
        "columns": None if columns is None else columns.summary,
        "largest": trained.model.largest,
        "losses": trained.history.losses,
        "about": dict(about or {}),
    }
    with atomic_folder(folder) as temporary:
        _write(temporary, trained, composition, config)


def vector_summary(settings: Settings, output: Output, composition: Composition | None) -> dict[str, Any]:
    """Return the length of the vectors, and the share of variance that they keep of each part."""
    if composition is None:
        return {"dim": plain_length(settings, output), "parts": dict.fromkeys(code_names(settings, output), 1.0)}
    parts = composition.parts(settings, output.dim)
    return {
        "dim": composition.space.length(output.dim),
        "parts": {name: round(share, 4) for name, share in parts.items()},
    }


def check_model_folder(folder: str | Path) -> Path:
    """Reject a folder that a model cannot be written to: one with other content, or one that cannot be created."""
    folder = Path(folder)
    try:
        taken = folder.exists() and not (folder.is_dir() and (_is_model(folder) or not any(folder.iterdir())))
    except OSError as error:
        raise cannot_write(folder, error) from None
    if taken:
        raise InputError(f"{folder} exists and is not an mvgrl model; nothing was written: choose another name")
    others = sorted({path.name for path in folder.iterdir()} - _FILES) if folder.exists() else []
    if others:  # the folder is replaced as a whole
        raise InputError(
            f"{folder} contains {shown(others[0])}, which is not part of the model; nothing was written: move it, or "
            "choose another name"
        )
    check_writable(folder)
    return folder


class Loaded(NamedTuple):
    """A model from a folder, how its vectors are made, and what is known about it."""

    trained: Trained
    output: Output
    about: dict[str, Any]


def load_model(folder: str | Path, *, device: str | torch.device = "auto") -> Loaded:
    """Read the model of a folder; a damaged or foreign folder is rejected. Models saved by 0.1 can be read."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; {_REMEDY}")
    config = config_of(folder)
    where = resolve_device(device)
    try:
        settings, output = _settings(config)
        width, largest = (_count(config, name) for name in ("width", "largest"))
        losses, about = checked_losses(config["losses"]), _mapping(config, "about")
        with open_tensors(folder / "model.safetensors") as file:
            _check_model(file, settings, width, largest)
            weights, arrays, vector = (file.read(f"{part}/") for part in ("model", "features", "vector"))
        check_values(weights)
        encoder = _encoder(arrays, _mapping(config, "features"), width)
        composition = None
        if output.composed:
            composition = Composition.from_tensors(vector, settings, width, output).to(where)
        elif vector:
            raise ValueError(f"vector/{min(vector)} is unknown")
        model = MVGRL(settings, width, largest=largest)
        model.load_state_dict(weights)
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, ArithmeticError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(
            f"{folder} does not contain a complete model ({reason}), as saved by mvgrl {version_of(config)}; "
            "save it again"
        ) from None
    trained = Trained(model.to(where), encoder, History.replay(losses), composition=composition)
    return Loaded(trained, output, about)


def _check_model(file: TensorFile, settings: Settings, width: int, largest: int) -> None:
    """Compare the tensors of a file with those of a model with these settings, without building it.

    The first comparison is with a lower bound: even the shapes of an absurdly large model take long to work out.
    """
    encoders, hidden, layers = settings.encoder.count(len(settings.views)), settings.hidden, settings.layers
    entries = encoders * hidden * (width + (layers - 1) * hidden)
    if encoders * layers > len(file.layouts) or entries > file.entries:
        raise ValueError(
            f"{len(file.layouts)} tensors of {file.entries:,} entries in all are too few for hidden={hidden}, "
            f"layers={layers} and width={width}"
        )
    with torch.device("meta"):  # shapes only: nothing is allocated
        model = MVGRL(settings, width, largest=largest)
    others = {name: layout for name, layout in file.layouts.items() if name.startswith(("features/", "vector/"))}
    if any(layout.dtype is None for layout in others.values()):
        raise ValueError("the features or the vector have tensors of an unknown type")
    expected = {f"model/{name}": Layout.of(tensor) for name, tensor in model.state_dict().items()}
    check_layouts(file.layouts, expected | others)


def _encoder(arrays: Mapping[str, torch.Tensor], settings: dict[str, Any], width: int) -> FeatureEncoder:
    for name in settings:
        check_name("setting of the features", name, ("kind", "normalise", "degree_cap"))
    kind = PositionEncoder if settings.get("kind") in POSITIONS else FeatureEncoder
    encoder = kind.from_arrays({name: array.numpy() for name, array in arrays.items()}, **settings)
    if encoder.width != width:
        raise ValueError(f"its features have {encoder.width} columns, but its width is {width}")
    return encoder


def _count(config: Mapping[str, Any], name: str) -> int:
    value = config[name]
    if type(value) is not int or not 1 <= value < 2**31:
        raise ValueError(f"{name} is {shown(value)}; it must be an integer, at least 1")
    return value


def _mapping(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(config[name], dict):
        raise ValueError(f"{name} is {shown(config[name])}; it must be a mapping")
    return dict(config[name])


def version_of(config: Mapping[str, Any]) -> str:
    """Return the version of mvgrl that saved a model."""
    version = config.get("version")
    return version[:40] if isinstance(version, str) else "an unknown version"


def _settings(config: Mapping[str, Any]) -> tuple[Settings, Output]:
    values = _mapping(config, "settings")
    output: dict[str, Any]
    if config["format"] == _OLDER[0]:
        output = {name: values.pop(name) for name in ("codes", "join", "unit_length") if name in values}
    else:
        output = _mapping(config, "output")
    if config["format"] == "mvgrl-model-6" and output.pop("similar", 0):
        raise ValueError("similar nodes were joined for its vectors only, which was never released: train it again")
    if config["format"] in _PAPER:
        output = {**output, "preset": "paper"}
    settings = Settings.from_dict(values)
    return settings, Output.from_dict(output).for_task(settings.task)


def _write(folder: Path, trained: Trained, composition: Composition | None, config: dict[str, Any]) -> None:
    tensors = {f"model/{name}": tensor for name, tensor in trained.model.state_dict().items()}
    for name, array in trained.feature_encoder.to_arrays().items():
        tensors[f"features/{name}"] = torch.from_numpy(array.copy())
    for name, tensor in (composition.tensors() if composition else {}).items():
        tensors[f"vector/{name}"] = tensor
    write_tensors(folder / "model.safetensors", tensors)
    (folder / "README.md").write_text(_card(config))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def _is_model(folder: Path) -> bool:
    try:
        return bool(config_of(folder, (_FORMAT, *_OLDER, METHOD_FORMAT)))
    except InputError:
        return False


def config_of(folder: Path, formats: Sequence[str] = (_FORMAT, *_OLDER), *, check: bool = True) -> dict[str, Any]:
    """Read the configuration of a folder; its format must be one of ``formats`` unless ``check`` is false."""
    path = folder / "config.json"
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block
            raise ValueError("it is not a regular file")
        if path.stat().st_size > _LONGEST_CONFIG:
            raise ValueError(f"it is longer than {_LONGEST_CONFIG:,} bytes")
        config = parse_json(path.read_text())
        known = isinstance(config, dict) and str(config.get("format", "")).startswith("mvgrl-model-")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{folder} is not an mvgrl model: its config.json cannot be read ({reason}); {_REMEDY}"
        ) from None
    if not known:
        raise InputError(f"{folder} is not an mvgrl model: its config.json belongs to something else; {_REMEDY}")
    if check and config["format"] not in formats:
        raise InputError(
            f"{path} was saved by mvgrl {version_of(config)} in format {shown(config['format'])}, but this version, "
            f"{mvgrl.__version__}, reads {formats[0]}; update mvgrl"
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
        f"| length of a vector | {config['vector']['dim']} |",
        *(f"| {part} | {share:.1%} of its variance |" for part, share in config["vector"]["parts"].items()),
        *([f"| similar nodes joined | up to {similar} per node |"] if (similar := settings["similar"]) else []),
        f"| dimensions of a code | {settings['hidden']} |",
        f"| layers | {settings['layers']} |",
        f"| features | {config['width']} |",
        *([f"| columns | {card_cell(config['columns'])} |"] if config["columns"] else []),
        f"| epochs | {len(losses)} |",
        *([f"| lowest loss | {min(losses):.4f} |"] if losses else []),
        *(f"| {card_cell(key)} | {card_cell(value)} |" for key, value in config["about"].items()),
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


def card_cell(value: object) -> str:
    """Return text for a cell of a Markdown table, on one line and without markup: it may contain names from files."""
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return escape(" ".join(text.split())).replace("|", "&#124;")
