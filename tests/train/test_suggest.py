"""Recipes: what is chosen follows from data, device and time, and only where the user chose nothing."""

import math
from dataclasses import replace
from typing import Any

import pytest

from regard import api
from regard.fields.tokens import Tokens
from regard.find import find, names
from regard.train.suggest import Facts, Parts, generation, language, nested, sentence, speech, summary, tagging
from regard.types import Example


def facts(examples: int = 4_500, **other: object) -> Facts:
    """5,000 pairs of Multi30k, 5 minutes on two cores, unless said otherwise."""
    usual = {"words": (11.0, 11.5), "distinct": (9_000, 6_000), "letters": 80, "longest": 40}
    return Facts(examples, **{**usual, "device": "cpu", "cores": 2, "seconds": 300.0, **other})  # type: ignore[arg-type]


def parts_of(task: str, **asked: Any) -> Parts:
    """The parts of a task with data of its own. A part that is not regard's own keeps its name and has no options."""
    foreign = {key: value for key, value in asked.items() if isinstance(value, str) and "." in value}
    known = {key: value for key, value in asked.items() if key not in foreign}
    return Parts(asked, {**api.configure(task, {**known, "data": {"train": "mine.tsv"}}), **foreign})


def chosen(recipe: object, some: Facts, task: str = "translate", **asked: object) -> dict[str, object]:
    parts = parts_of(task, **asked)
    return {choice.key: choice.value for choice in recipe(some, parts)}  # type: ignore[operator]


def test_facts_of_examples() -> None:
    some = [Example(("a b", "c"), "x y z"), Example(("a", "d e f"), "x")]
    found = Facts.of(some, [Tokens()] * 3, "cpu", 2, 60.0)
    assert (found.examples, found.words, found.distinct) == (2, (1.5, 2.0, 2.0), (2, 4, 3))
    assert (found.letters, found.longest, found.budget) == (4, 5, pytest.approx(51))  # letters of the side with most


def test_by_hand() -> None:
    """5,000 pairs in 5 minutes: a width of 128, since 192 would see too few tokens."""
    found = chosen(generation, facts())
    assert (found["source.embed.dim"], found["encoder.hidden"], found["decoder.hidden"]) == (128, 128, 256)
    assert found["target.tokenizer.vocab_size"] == 1900  # 2000 · (4500 · 11.5 / 60000) ** 0.4 = 1886
    assert (found["train.batch_tokens"], found["train.lr"], found["source.embed.dropout"]) == (1024, 8e-3, 0.3)
    assert found["train.epochs"] == 42  # of 4500 · 11.5 · 1.25 subwords


def test_recordings_by_hand() -> None:
    """3,000 recordings of 60 positions in 15 minutes: 180,000 positions, of which width 128 sees 0.85 · 900 s / (100 µs
    · 180,000) = 42 passes; 192 has too few positions. Many passes call for augmentation."""
    some = facts(3_000, words=(60.0, 4.0), distinct=(0, 10), seconds=900.0)
    found = chosen(speech, some, "transcribe")
    assert (found["audio.embed.dim"], found["encoder.hidden"], found["encoder.layers"]) == (128, 128, 2)
    assert (found["decoder.hidden"], found["attention.score.hidden"], found["train.batch_size"]) == (256, 128, 32)
    assert (found["audio.embed.speed"], found["audio.embed.masks"]) == (0.1, 2)
    short = chosen(speech, facts(30_000, words=(60.0, 4.0), seconds=60.0), "transcribe")
    assert "audio.embed.speed" not in short


def test_more_time_or_data_gives_larger_models() -> None:
    widths = [chosen(generation, facts(seconds=seconds))["source.embed.dim"] for seconds in (5.0, 60.0, 300.0, 3600.0)]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]
    sizes = [
        chosen(generation, facts(examples, seconds=3600.0))["source.embed.dim"]
        for examples in (100, 1_000, 5_000, 200_000)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    passes = [
        chosen(sentence, facts(100_000, seconds=seconds), "classify")["input.embed.dim"] for seconds in (10.0, 3600.0)
    ]
    assert passes[0] < passes[1]


def test_more_cores_are_more_time() -> None:
    assert facts(cores=8).microseconds("decoder", 1.0) < facts(cores=2).microseconds("decoder", 1.0)
    assert facts(cores=2).microseconds("decoder", 1.0) < facts(cores=1).microseconds("decoder", 1.0)


def test_much_text_on_a_gpu_keeps_the_tasks_defaults() -> None:
    assert not chosen(generation, facts(29_000, device="cuda", seconds=math.inf))
    assert chosen(generation, facts(2_000, device="cuda", seconds=math.inf))["source.embed.dim"] == 128


def test_only_options_of_the_part_that_is_used() -> None:
    found = chosen(
        generation, facts(), encoder="transformer", decoder={"name": "transformer"}, attention={"score": "dot"}
    )
    assert "encoder.hidden" not in found
    assert "attention.score.hidden" not in found
    assert (found["encoder.size"], found["train.lr"]) == (128, 2e-3)
    assert not [key for key in chosen(generation, facts(), encoder="my.Encoder") if key.startswith("encoder")]
    assert "source.tokenizer.vocab_size" not in chosen(generation, facts(), source={"tokenizer": "character"})


def test_vectors_keep_their_width_and_all_their_words() -> None:
    found = chosen(sentence, facts(), "classify", input={"embed": {"vectors": "glove.txt"}})
    assert not {"input.embed.dim", "input.tokenizer.min_frequency"} & set(found)


def test_two_sentences_are_compared_without_dropout() -> None:
    pairs = facts(words=(9.0, 9.0, 1.0), distinct=(5_000, 5_000, 3))
    found = chosen(sentence, pairs, "entail")
    assert (found["pool.name"], found["match.name"], found["dropout"]) == ("max", "distance", 0.0)
    assert "pool.name" not in chosen(sentence, pairs, "entail", encoder="resan")  # which has its own
    assert "match.name" not in chosen(sentence, pairs, "relate")  # compares by similarity
    alone = chosen(sentence, facts(words=(9.0, 1.0), distinct=(5_000, 3)), "classify")
    assert (alone["dropout"], alone["input.embed.dropout"]) == (0.5, 0.3)
    assert "pool.name" not in alone


def test_few_words_are_read_whole() -> None:
    records = facts(examples=40_000, words=(20.0, 20.0), distinct=(150, 5_000))
    found = chosen(generation, records, "describe")
    assert found["source.tokenizer.vocab_size"] == 1_000
    assert found["target.tokenizer.vocab_size"] == 1_700  # a third of the different words
    assert (
        chosen(generation, facts(examples=100, words=(8.0, 8.0), distinct=(400, 400)))["source.tokenizer.vocab_size"]
        < 500
    )


def test_long_documents_are_truncated() -> None:
    mails = facts(words=(120.0, 5.0), distinct=(9_000, 3_000), longest=20_000, longest_target=90)
    found = chosen(summary, mails, "summarise")
    assert found["source.truncate"] == 200
    assert chosen(summary, replace(mails, device="cuda"), "summarise")["source.truncate"] == 400
    assert "source.max_length" not in found
    assert "source.truncate" not in chosen(summary, facts(longest=1_000), "summarise")
    assert "source.truncate" not in chosen(generation, mails, "translate")


def test_a_long_text_has_room() -> None:
    assert chosen(generation, facts(longest=2_000, longest_target=1_900))["source.max_length"] == 2_001
    assert "source.max_length" not in chosen(generation, facts())


CASES = [(task, encoder) for task in ("classify", "tag") for encoder in names("encode")]


@pytest.mark.parametrize(("task", "encoder"), CASES)
def test_every_encoder_takes_what_is_chosen_for_it(task: str, encoder: str) -> None:
    parts = parts_of(task, encoder=encoder)
    options = nested({"classify": sentence, "tag": tagging}[task](facts(), parts), parts)
    config = api.configure(task, api.merge(options, {"encoder": encoder, "data": {"train": "mine.tsv"}}))
    assert config["encoder"]["name"] == encoder


@pytest.mark.parametrize("decoder", names("predict.generate"))
def test_every_decoder_takes_what_is_chosen_for_it(decoder: str) -> None:
    parts = parts_of("translate", decoder=decoder)
    api.configure("translate", {**nested(generation(facts(), parts), parts), "data": {"train": "mine.tsv"}})


@pytest.mark.parametrize("network", names("predict.language"))
def test_every_language_model_takes_what_is_chosen_for_it(network: str) -> None:
    parts = parts_of("language", network=network)
    some = facts(words=(20.0, 0.0), distinct=(9_000, 0))
    api.configure("language", {**nested(language(some, parts), parts), "data": {"train": "mine.txt"}})


@pytest.mark.parametrize("task", names("tasks"))
def test_every_task_has_a_recipe(task: str) -> None:
    kind = find("tasks", task)
    words = (8.0,) * max(2, len(kind().fields))
    some = facts(words=words, distinct=(5_000,) * len(words))
    assert kind.recipe(some, parts_of(task))


@pytest.mark.thin
@pytest.mark.parametrize("examples", [1, 2, 30, 10**7])
@pytest.mark.parametrize("seconds", [0.1, 60.0, math.inf])
def test_extreme_data(examples: int, seconds: float) -> None:
    for task in names("tasks"):
        kind = find("tasks", task)
        some = facts(
            examples,
            words=(0.0,) * max(2, len(kind().fields)),
            distinct=(0,) * max(2, len(kind().fields)),
            seconds=seconds,
        )
        parts = parts_of(task)
        options = nested(kind.recipe(some, parts), parts)
        api.configure(task, {**options, "data": {"train": "mine.tsv"}})  # every value lies in its range


def test_what_the_user_sets_stays(tmp_path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(
        "".join(f"{a} {b}\t{b} {a}\n" for a in ["one", "two", "three", "four"] for b in ["six", "seven", "ten"])
    )
    asked = {"data": {"train": str(pairs)}, "encoder": {"hidden": 48}, "train": {"lr": 0.5, "time": "5m"}}
    ready = api.prepare("translate", asked)
    assert (ready.config["encoder"]["hidden"], ready.config["train"]["lr"]) == (48, 0.5)
    assert not {"encoder.hidden", "train.lr"} & {choice.key for choice in ready.choices}
    assert ready.config["decoder"]["hidden"] == 128
    assert "decoder.hidden" in {choice.key for choice in ready.choices}
    assert any("--dry-run" in note for note in ready.notes)


@pytest.mark.sweep
def test_built_in_data_keeps_its_preset() -> None:
    assert not api.prepare("tag", {}).choices
