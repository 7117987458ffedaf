"""Which columns of a node table become features."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mvgrl.errors import InputError, SettingsError, shown
from mvgrl.graphs.features import KINDS
from mvgrl.tables.encoders import Encoded, TableEncoder


def parse_features(features: str | Sequence[str] | None) -> tuple[str | None, tuple[str, ...] | None]:
    """Return the kind of features that a text names, or else its comma-separated columns.

    >>> parse_features("degree"), parse_features("age,city"), parse_features("degree,")
    (('degree', None), (None, ('age', 'city')), (None, ('degree',)))
    """
    if features is None or (isinstance(features, str) and features in KINDS):
        return features, None
    names = features.split(",") if isinstance(features, str) else features
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"features is {shown(features)}; give names of columns, or a kind: {', '.join(KINDS)}")
    names = [name.strip() for name in names] if isinstance(features, str) else names
    return None, tuple(dict.fromkeys(name for name in names if name))


@dataclass(frozen=True)
class NodeColumns:
    """A choice of columns; by default, every column that is neither the id, the label nor the graph is a feature."""

    features: str | Sequence[str] | None = None  # the columns, or a kind of features, as --features takes them
    ignore: Sequence[str] = ()
    text: Sequence[str] = ()  # columns that are text, whatever they look like
    encoder: TableEncoder | None = None  # of a trained model, which then decides

    def __post_init__(self) -> None:
        for name in ("ignore", "text"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value or ()))

    @property
    def given(self) -> dict[str, Any]:
        """The options that need a table of nodes, and their values."""
        columns = parse_features(self.features)[1]
        options = {"features": columns, "ignore": self.ignore, "text": self.text}
        return {name: ", ".join(value) for name, value in options.items() if value}

    @property
    def named(self) -> set[str]:
        """The columns that were named: to be features, to be text or to be ignored."""
        return {*(parse_features(self.features)[1] or ()), *self.ignore, *self.text}

    @property
    def read_as_text(self) -> list[str]:
        """The columns that are text or categories whatever a file looks like: those declared, or those in training."""
        return list(self.text) if self.encoder is None else self.encoder.text_columns

    def encode(
        self, nodes: Any, place: Any, *, ids: Collection[str], label: str | None
    ) -> tuple[TableEncoder | None, Encoded]:
        """Return the encoder of a table of nodes, its features, and notes; ``ids`` are never features."""
        from mvgrl.tables.columns import check_not_unnamed  # here: only tables need pyarrow

        taken = {*ids, *(() if label is None else (label,))}
        if self.encoder is not None:
            return self.encoder, self.encoder.transform(nodes, place, others=taken)
        names = self.feature_columns(nodes.column_names, place, taken, label)
        if names is None:
            return None, Encoded(None, ())
        check_not_unnamed(names, place)
        chosen = parse_features(self.features)[1] is not None
        return TableEncoder.fit(nodes, names, place, text=self.text, chosen=chosen)

    def feature_columns(self, every: Sequence[str], place: Any, taken: set[str], label: str | None) -> list[str] | None:
        """Return the columns that become features, in the order of the table; None if training does not use them."""
        kind, columns = parse_features(self.features)
        wanted = (*(columns or ()), *self.ignore, *self.text)
        absent = [name for name in dict.fromkeys(wanted) if name not in every]
        if absent:
            kinds = f"; features are columns or a kind: {', '.join(KINDS)}" if set(absent) & set(columns or ()) else ""
            raise InputError(
                f"{place.name} has no column {', '.join(map(shown, absent))}; it has "
                f"{', '.join(map(shown, every[:20]))}{' …' if len(every) > 20 else ''}{kinds}"
            )
        for name in (*(columns or ()), *self.text):
            if name in self.ignore:
                raise SettingsError(f"column {shown(name)} is both to be used and to be ignored; choose one")
            if name in taken:
                holds = "labels" if name == label else "ids"
                raise SettingsError(f"column {shown(name)} of {place.name} holds the {holds}, so it is not a feature")
        usable = [name for name in every if name not in taken and name not in self.ignore]
        if kind in usable:
            raise SettingsError(
                f"{kind!r} is both a kind of features and a column of {place.name}; for the column, use --features "
                f"{kind}, (with a comma); for the kind, add --ignore {kind}"
            )
        if kind not in (None, "auto", "given"):
            return None
        return [name for name in usable if columns is None or name in columns or name in self.text]
