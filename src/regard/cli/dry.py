"""`regard train TASK --dry-run`: shows the model, the options, the data and one batch, and writes nothing.

show("translate", {"encoder": {"hidden": 64}})
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.show import plain, setting, table
from regard.errors import counted

if TYPE_CHECKING:
    from rich.tree import Tree
    from torch import nn

    from regard.api import Prepared
    from regard.fields import Input

__all__ = ["show"]

FEW = 1_000  # lines
deepest = 4  # levels of the model that are worth a line each


def show(task: str, options: dict[str, Any], out: str = "", fresh: bool = False, trust: bool = False) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    from regard.api import configure, flat, resume

    run, ready = resume(task, options, Path(out or f"runs/{task}"), fresh, trust)
    if run is not None:
        print(f"resumes {plain(str(run.folder))}")
    size = _size(ready.network)
    memory = sum(p.numel() * p.element_size() for p in ready.network.parameters()) / 2**20
    tree = Tree(Text(f"{task}: {size:,} parameters, {memory:.1f} MiB"))
    _grow(tree, ready.network)
    Console(markup=False, highlight=False, emoji=False).print(tree)

    if ready.begun:
        print(f"\n{plain(ready.begun)}")
    if ready.choices:
        rows = [(choice.key, setting(choice.value), f"({choice.why})") for choice in ready.choices]
        print(f"\nchosen for this data, device and time limit (override with key=value)\n{table(rows)}")
    # What would be without any wish; the data stays, for presets depend on it.
    usual = dict(flat(configure(task, {"data": options.get("data", {})})))
    chosen = {choice.key for choice in ready.choices}
    changed = [(key, value) for key, value in flat(ready.config) if usual.get(key, ...) != value and key not in chosen]
    print("\noptions that differ from the defaults" + ("" if changed else ": none"))
    if changed:
        before = ((key, usual.get(key, "no such option")) for key, _ in changed)
        print(
            table([(k, setting(v), f"(default {setting(u)})") for (k, v), (_, u) in zip(changed, before, strict=True)])
        )

    parts = [(name, counted(len(getattr(ready.splits, name)), "example")) for name in ("train", "valid", "test")]
    print(f"\ndata: {plain(ready.config['data']['train'] or ready.task.default_data)}\n{table(parts)}")
    _batch(ready)
    print("\nnothing was written")


def _size(network: "nn.Module") -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def _grow(tree: "Tree", network: "nn.Module", level: int = 1) -> None:
    from rich.text import Text

    for name, part in network.named_children():
        if _size(part):
            branch = tree.add(Text(f"{name}: {type(part).__name__} {_size(part):,}"))
            if level < deepest:
                _grow(branch, part, level + 1)


def _batch(ready: "Prepared") -> None:
    """The first batch of the first epoch, as training would see it."""
    from regard.data.batch import batches
    from regard.types import Sequences

    plan = ready.config["train"]
    train = ready.splits.train
    train = train if isinstance(train, list) else train[:FEW]  # of a text that may be large
    items = ready.task.items(train)
    cut = batches(
        [i.lengths for i in items], tokens=plan["batch_tokens"], rows=plan["batch_size"], seed=plan["seed"], epoch=0
    )
    batch = ready.task.collate([items[row] for row in cut[0]])
    shapes = [(f"input {n}", str(list(one.values.shape))) for n, one in enumerate(batch.inputs, 1)]
    if batch.target is not None:
        target = batch.target.values if isinstance(batch.target, Sequences) else batch.target
        shapes.append(("target", str(list(target.shape))))
    often = f" ({len(cut):,} per epoch)" if train is ready.splits.train else ""
    print(f"\nfirst batch{often}\n{table(shapes)}")
    first = train[cut[0][0]] if len(items) == len(train) else train[0]
    print(f"first example, {plain(first.where)}" if first.where else "first example")
    sides = zip(ready.task.inputs.items(), first.inputs, strict=True)
    shown = [(role, _seen(field, value)) for (role, field), value in sides]
    print(table([*shown, *([] if ready.task.target is None else [("target", plain(first.target))])]))


def _seen(field: "Input", value: str) -> str:
    from regard.look.attention_map import visible

    return " ".join(visible(region.text) for region in field.regions([value])[0])
