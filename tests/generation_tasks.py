"""What the tests of tasks that write share: the options of both sides, and a batch of every kind of task."""

from typing import Any

from regard.find import find, settable
from regard.types import Example
from sentence_tasks import examples as sentences
from small_pictures import captions, picture, small_image
from small_sounds import recordings, small_audio

pairs = [Example((a,), b) for a, b in (("a b c", "x y"), ("b c c a", "y"), ("c a", "x x y"), ("a c b", "y x"))]
data = {
    **sentences,
    "describe": [Example((f"name[{a}], area[b]",), f"{a} is b") for a in "xyz"],
    "caption": captions,
    "transcribe": recordings,
    "glimpse": [Example((picture(seed),), label) for seed, label in enumerate("abba")],
    "answer": [
        Example((f"{a} is in the {b}", f"where is {a}"), b, f"a.tsv:{n}")
        for n, (a, b) in enumerate((("ada", "hall"), ("bo", "shed"), ("cy", "park"), ("ada", "park")), 1)
    ],
    "language": [Example((f"{one.source} .",), "") for one in pairs],
    "recommend": [Example((a,), b) for a, b in (("a b c", "d"), ("b c", "e"), ("c a e", "b"), ("d", "a"))],
}


def sides(
    tokenizer: Any = "character",
    target: Any = None,
    dim: int = 6,
    dropout: float = 0.0,
    max_length: int = 1024,
    **source: Any,
) -> dict[str, Any]:
    """Options of source and target, both of one tokenizer unless another is given for the target. A record is the only
    source that its task has, and so has no name in a configuration."""
    embed = {"dim": dim, "dropout": dropout}
    named = {} if source.pop("name", "") == "record" else {"name": "text"}
    return {
        "source": {**named, "tokenizer": tokenizer, "embed": embed, "max_length": max_length, **source},
        "target": {"tokenizer": tokenizer if target is None else target, "max_length": max_length},
    }


def options_of(task: str) -> dict[str, Any]:
    """Options of any task that make it small, and in words."""
    usual: dict[str, Any] = {
        "input": {"name": "text", "tokenizer": "word", "embed": {"dim": 4}},
        "text": {"tokenizer": "word"},
        "image": small_image,
        "audio": small_audio,
        **sides("word", dim=4, **({"name": "record"} if task == "describe" else {})),
        "encoder": {"name": "bigru", "hidden": 2},
        "decoder": {"name": "recurrent", "hidden": 4, "embed": 4, "dropout": 0.0},
        "network": {"name": "recurrent", "hidden": 4},
        "again": {"name": "bigru", "hidden": 2},
        "point": {"name": "dynamic", "hidden": 3, "pool": 2},
        "head": {} if task == "tag" else {"hidden": 4},
    }
    if task == "caption":  # which writes up to this many words, however large the picture
        usual["target"] = {**usual["target"], "max_length": 12}
    if task == "transcribe":
        usual["target"] = {**usual["target"], "tokenizer": "character"}
    if task == "recommend":
        usual |= {"history": {"embed": {"dim": 4}}, "network": {"name": "sasrec"}}
    if task == "glimpse":
        usual["input"] = {"size": 8, "colour": False}
        usual["network"] = {"glimpses": 2, "size": 4, "hidden": 4, "seen": 4}
    known = settable(find("tasks", task))
    return {key: value for key, value in usual.items() if key in known}


def made(task: str, examples: Any = None, **options: Any) -> Any:
    """Any task, small and in words, with the words of its examples (or those given); options that it does not have are
    left out."""
    kind = find("tasks", task)
    known = {key: value for key, value in options.items() if key in settable(kind)}
    one = kind(**{**options_of(task), **known})
    one.learn(data.get(task, pairs) if examples is None else examples)
    return one


def batch_of_all(task: Any) -> Any:
    """All examples of a task from `made` in one batch."""
    return task.collate(task.items(data.get(task.name, pairs)))
