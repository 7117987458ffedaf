"""Components: small frozen values, chosen by name, by name and parameters, or given as objects.

A view, sampler, encoder, readout, discriminator, contrast mode or bound is a :class:`Component`. Each kind has a
registry, a plain dict from names to classes, next to its classes. What a component needs or allows is an attribute of
its class, never a comparison of its name elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeVar

from mvgrl.errors import SettingsError, check_name, shown

C = TypeVar("C", bound="Component")


@dataclass(frozen=True)
class Component:
    """A named value with parameters; compared and hashed by them."""

    name: ClassVar[str]  # by default, where the class is defined
    stackable: ClassVar[bool] = True  # many seeds can be trained as one stack with it

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:  # never the name of its base: hashes and cached views are kept by it
            cls.name = f"{cls.__module__}.{cls.__qualname__}"

    def to_dict(self) -> dict[str, Any]:
        """The name and the parameters as plain values; :func:`resolve` reads them back."""
        return {"name": self.name, **asdict(self)}

    def __str__(self) -> str:
        """The name, and the parameters that differ from their defaults, as :func:`resolve` reads them."""
        changed = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return ":".join([self.name, *(f"{f.name}={getattr(self, f.name)}" for f in changed)])


@dataclass(frozen=True)
class Custom(Component):
    """A user-defined function as a component. It works like any other component, but cannot be saved."""

    name: ClassVar[str] = "custom"

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __str__(self) -> str:
        """Where the function was defined."""
        return f"{self.function.__module__}:{getattr(self.function, '__qualname__', repr(self.function))}"


def resolve(
    kind: str, base: type[C], registry: Mapping[str, type[C]], choice: Any, custom: type[Any] | None = None
) -> C:
    """The component meant by a choice: a name, "name:parameter=value", a mapping with a name, or an object.

    ``custom`` is the class that wraps a plain function, for kinds that accept one.
    """
    if isinstance(choice, base):
        return choice
    if isinstance(choice, str):
        choice = _parsed(kind, choice)
    if custom is not None and callable(choice) and not isinstance(choice, type):
        return custom(choice)
    if not isinstance(choice, Mapping):
        raise SettingsError(
            f"{kind} is {shown(choice)} ({type(choice).__name__}); give a name such as {next(iter(registry))!r}, "
            f"a mapping with a 'name', or a {base.__name__} object"
        )
    parameters = dict(choice)
    if "name" not in parameters:
        raise SettingsError(f"the {kind} {shown(parameters)} has no 'name'; give one of {', '.join(registry)}")
    name = parameters.pop("name")
    check_name(kind, name, registry)
    known = [field.name for field in fields(registry[name])]
    for key in parameters:
        check_name(f"parameter of {kind} {name!r}:", key, known)
    return registry[name](**parameters)


def is_registered(component: Component, registry: Mapping[str, type[Component]]) -> bool:
    """Whether the registry would build the same kind of component from its name.

    >>> is_registered(Custom(print), {"custom": Component})
    False
    """
    return registry.get(component.name) is type(component)


def check_positive(component: Component, parameter: str) -> None:
    """Reject a parameter that is not a number above 0."""
    value = getattr(component, parameter)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= sys.float_info.max:
        raise SettingsError(f"{component.name}: {parameter} is {shown(value)}; it must be a number above 0")


def _parsed(kind: str, text: str) -> dict[str, Any]:
    """``name:parameter=value:…`` as a mapping; values that read as numbers become numbers."""
    name, *parameters = text.split(":")
    found: dict[str, Any] = {"name": name}
    for parameter in parameters:
        key, equals, value = parameter.partition("=")
        if not equals:
            raise SettingsError(
                f"the {kind} {shown(text)} has {shown(parameter)} where parameter=value is expected, "
                f"as in {name[:20]}:top_k=32"
            )
        found[key] = _number(value)
    return found


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
