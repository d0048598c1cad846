"""Every field of every configuration that can hold a name, and what each verb does with a run that names code there.

Run as a program, in a process of its own: an audit hook cannot be taken away again. It prints a line of JSON for each
field: what was tried, how it ended, and what the hook saw of the canary, a package that writes a file when imported.

    python trust_walk.py FOLDER          # every verb over the fields of two tasks, a few verbs over all others
    python trust_walk.py FOLDER every    # every verb over every field
"""

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from regard import find
from regard.fields import Input
from regard.format import FORMAT

Field, Config = tuple[str, ...], dict[str, Any]
tables = {"data": "data.load.load", "train": "train.loop.fit"}


def fields(thing: Callable[..., Any], above: dict[str, Any], path: Field = ()) -> Iterator[tuple[Field, Config]]:
    """Where a part may be named, below `thing`, with the configuration that leads there; every part is walked into."""
    for key, parameter in find.settable(thing).items():
        mark = find.mark(parameter)
        if mark is None:
            continue
        here = (*path, key)
        if isinstance(mark, find.Of):
            yield from fields(find._target(mark, {}, key), placed(above, here, {}), here)
            continue
        yield here, placed(above, here, "canary.part.Thing")
        several = isinstance(parameter.default, list | tuple)
        for name in find.names(mark.folder):
            if mark.folder == "fields" and not issubclass(find.find("fields", name), Input):
                continue  # a target: it is refused before anything is imported
            inner = fields(find.find(mark.folder, name), {}, ())
            for below, table in inner:
                one = {"name": name, **table}
                yield (*here, name, *below), placed(above, here, [one] if several else one)


def placed(config: Config, path: Field, value: Any) -> Config:
    key, *rest = path
    return {**config, key: placed(dict(config.get(key, {})), tuple(rest), value) if rest else value}


def every_field() -> Iterator[tuple[Field, Config]]:
    for task in find.names("tasks"):
        plain: Config = {"task": task, "data": {}, "train": {}}
        yield (task, "task"), {**plain, "task": "canary.part.Thing"}
        yield (task, "data", "train"), {**plain, "data": {"train": "builtin:canary.part.Thing"}}
        for path, config in fields(find.find("tasks", task), plain):
            yield (task, *path), config
        for table, place in tables.items():
            module, _, name = place.rpartition(".")
            function = getattr(__import__(f"regard.{module}", fromlist=[name]), name)
            for path, config in fields(function, {}, ()):
                yield (task, table, *path), {**plain, table: config}


def words(verb: str, run: str, task: str) -> list[str]:
    """The shortest command of a verb that reads the run."""
    return {
        "train": ["train", task, "--out", run, "--quiet", "train.steps=1"],
        "evaluate": ["evaluate", run],
        "predict": ["predict", run, "--json"],
        "look": ["look", run, "a"],
        "beside": ["look", run, "a", "--beside", run, "-o", f"{run}.html"],
        "align": ["align", run, "--data", "no.tsv"],
        "faithful": ["faithful", run],
        "serve": ["serve", run, "--port", "0"],
        "info": ["info", run],
        "config": ["train", task, "--config", f"{run}/config.toml", "--out", f"{run}-new", "--dry-run"],
        "compare": ["compare", task, "train.lr=0.1,0.2", "--config", f"{run}/config.toml", "--out", f"{run}-several"],
    }[verb]


verbs = ("train", "evaluate", "predict", "look", "beside", "align", "faithful", "serve", "info", "config", "compare")

few = ("train", "info", "config")


def main(folder: Path, every: bool) -> None:
    import tomli_w

    from regard import api
    from regard.cli.main import answer
    from regard.compare.costs import cost
    from regard.train.run import Run

    (folder / "site" / "canary").mkdir(parents=True)
    (folder / "site" / "canary" / "__init__.py").write_text("")
    code = f"open({str(folder / 'sang')!r}, 'w').close()\nclass Thing: ...\n"
    (folder / "site" / "canary" / "part.py").write_text(code)
    sys.path.insert(0, str(folder / "site"))
    sys.dont_write_bytecode = True
    seen: list[str] = []

    def hook(event: str, args: tuple[Any, ...]) -> None:
        for one in args:
            text = one.co_filename if isinstance(one, CodeType) else one
            if isinstance(text, str) and "canary" in text and "\n" not in text:
                seen.append(f"{event} {text}")

    def heard() -> list[str]:
        """What the canary did since it was last asked, and quiet again."""
        found = [*seen, *(["file written"] if (folder / "sang").exists() else [])]
        seen.clear()
        (folder / "sang").unlink(missing_ok=True)
        for name in [name for name in sys.modules if name.startswith("canary")]:
            del sys.modules[name]
        return found

    sys.addaudithook(hook)
    run = folder / "run"
    run.mkdir()
    (run / "tokenizer.json").write_text("{}")
    (run / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    ways: dict[str, Callable[[], object]] = {
        "api.load": lambda: api.load(run),
        "api.train": lambda: api.train(task if task != "canary" else "classify", out=run, quiet=True),
        "Run.open": lambda: Run.open(run),
        "cost": lambda: cost(str(run)),
    }
    for path, config in every_field():
        task = path[0]
        (run / "config.toml").write_text(tomli_w.dumps({"format": FORMAT, **config}))
        heard()
        ended = {}
        for way, call in ways.items():
            try:
                call()
                ended[way] = "it went through"
            except ValueError as error:
                ended[way] = str(error)
        for verb in verbs if every or (task in ("classify", "translate") and len(path) == 2) else few:
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                code_ = answer(words(verb, str(run), task))
            ended[verb] = said.getvalue() if code_ == 2 else f"exit code {code_}: {said.getvalue()}"
        sang = heard()
        with contextlib.suppress(Exception):  # the same, trusted: the canary sings, or the field is none
            api.configure(config["task"], config)
        if config["data"]:
            with contextlib.suppress(Exception):
                api.read(find.find("tasks", config["task"]), config)
        print(json.dumps({"field": ".".join(path), "ended": ended, "sang": sang, "live": bool(heard())}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), "every" in sys.argv[2:])
