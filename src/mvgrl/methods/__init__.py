"""Methods: a dataset and a seed in; vectors, a kernel matrix or predictions out. To add one, add a file."""

from importlib import import_module
from pkgutil import iter_modules

from mvgrl.methods.base import METHODS, Context, Method, Outcome, registered

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
METHODS |= registered()

__all__ = ["METHODS", "Context", "Method", "Outcome"]
