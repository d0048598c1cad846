"""Training: one loop, its schedule, its checkpoints, its log. It knows a task only through `Task`.

The room is also the function of that name: `regard.train("translate")` is `regard.api.train(…)`,
whether or not something has imported this package before.
"""

import importlib
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return importlib.import_module("regard.api").train(*args, **options)


sys.modules[__name__].__class__ = _Callable
