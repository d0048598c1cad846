"""Training: one loop, its schedule, its checkpoints, its log. It knows a task only through `Task`.

The package is also the function of that name: `regard.train("translate")` is `regard.api.train(…)`, whether or not
something has imported this package before, and `help(regard.train)` describes the function.
"""

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

_about = __doc__


def _train() -> Any:
    return importlib.import_module("regard.api").train


class _Callable(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return _train()(*args, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(_train())

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        signature = str(self.__signature__).replace(", ", ",\n          ")
        return f"train{signature}\n\n{inspect.getdoc(_train())}\n\nAs a package: {_about}"


sys.modules[__name__].__class__ = _Callable
