"""How a setting is defined: a dataclass field that carries its type, range and help text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, Self

from mvgrl.components import Component
from mvgrl.errors import SettingsError, check_name, shown

_ABOVE_ZERO = 5e-324  # the smallest such number
_LARGEST_INTEGER = 2**63 - 1  # of torch and NumPy


@dataclass(frozen=True)
class Spec:
    """The definition of a setting, apart from its name and default."""

    help: str
    kind: type = str  # of the value of a flag: int, float, bool or str
    allowed: str = ""  # the range in words
    low: float = 0
    high: float = float("inf")  # exclusive
    later: bool = False  # added after runs were recorded: not part of the hash at its default

    def fits(self, value: Any) -> bool:
        """Whether a value that is not a name has the right type and range.

        >>> Spec("Layers.", int, low=1).fits(2), Spec("Layers.", int, low=1).fits(True)
        (True, False)
        """
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        types = int if self.kind is int else (int, float)
        most = _LARGEST_INTEGER if isinstance(value, int) else self.high  # it may not even fit into a float
        return isinstance(value, types) and self.low <= value <= most and value < self.high


def choice(default: str | tuple[str, ...] | None, help: str, *, later: bool = False) -> Any:
    """Define a setting that is one of several names, or a component."""
    return _field(default, Spec(help, str, later=later))


def switch(help: str, *, later: bool = False) -> Any:
    """Define a setting that is true or false, and false by default."""
    return _field(False, Spec(help, bool, "true or false", later=later))


def integer(default: int | None, help: str, *, least: int = 1, later: bool = False) -> Any:
    """Define a setting that is an integer."""
    return _field(default, Spec(help, int, f"an integer, at least {least}", low=least, later=later))


def number(default: float, help: str, *, below: float = float("inf"), later: bool = False) -> Any:
    """Define a setting that is a number, at least 0."""
    allowed = "a number, at least 0" + ("" if below == float("inf") else f" and below {below:g}")
    return _field(default, Spec(help, float, allowed, high=below, later=later))


def positive(default: float, help: str, *, later: bool = False) -> Any:
    """Define a setting that is a number above 0."""
    return _field(default, Spec(help, float, "a number above 0", low=_ABOVE_ZERO, later=later))


def _field(default: Any, spec: Spec) -> Any:
    return field(default=default, metadata={"spec": spec})


def spec_of(setting: Field[Any]) -> Spec:
    """The definition that a dataclass field carries."""
    spec: Spec = setting.metadata["spec"]
    return spec


class Sealed:
    """A dataclass of settings that cannot be changed once it is complete.

    ``@dataclass(frozen=True)`` is not possible here: the embedders inherit the same fields, and scikit-learn sets them.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if "_sealed" in self.__dict__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}; use dataclasses.replace")
        super().__setattr__(name, value)

    def seal(self) -> None:
        """Forbid further changes."""
        self._sealed = True

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from plain values, as read from a file; an unknown key is an error."""
        known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        for key in values:
            check_name("setting", key, known)
        return cls(**dict(values))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    @property
    def content(self) -> dict[str, Any]:
        """The plain values that are hashed: settings added later take part only where they differ from the default."""
        values = self.to_dict()
        every: tuple[Field[Any], ...] = fields(self)  # type: ignore[arg-type]
        return {f.name: values[f.name] for f in every if not (spec_of(f).later and values[f.name] == f.default)}

    def check_fields(self, names: Mapping[str, Collection[str]]) -> None:
        """Check every value against its definition; ``names`` has the choices of those that are names."""
        every: tuple[Field[Any], ...] = fields(self)  # type: ignore[arg-type]
        for f in every:
            value, spec = getattr(self, f.name), spec_of(f)
            if isinstance(value, (Component, tuple)) or (value is None and f.default is None):
                continue
            if spec.kind is str:
                check_name(f.name, value, names[f.name])
            elif not spec.fits(value):
                limit = ", and below 2^63" if isinstance(value, int) and value > _LARGEST_INTEGER else ""
                raise SettingsError(f"{f.name} is {shown(value)}; it must be {spec.allowed}{limit}")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [view.to_dict() for view in value]
    return str(value) if isinstance(value, Component) else value
