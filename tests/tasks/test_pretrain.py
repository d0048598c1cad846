"""Pre-training: windows, masks that are new in each epoch, learning something small, and filling in masks."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard.data.shards
from regard import api
from regard.data.corpus import read_corpus
from regard.errors import RegardError
from regard.networks.masked import Masked
from regard.tasks.pretrain import Pretrain, windows
from regard.text import MASK
from regard.train.task import Ask, Encoded
from regard.types import Example

pytestmark = pytest.mark.usefixtures("one_thread")

lines = ["the cat sat on the mat .", "a dog ran , and sat .", "", "the unlikely dog ran to the cat"]
examples = [Example((line,), "", f"a.txt:{row}") for row, line in enumerate(lines, 1)]
SMALL: dict[str, Any] = {"name": "transformer", "size": 16, "heads": 2, "layers": 1, "ffn": 16, "dropout": 0.0}


def task_of(some: list[Example] = examples, **options: Any) -> Pretrain:
    torch.manual_seed(4)
    made = Pretrain(**{"text": {"tokenizer": "word", "embed": {"dim": 16}}, "encoder": SMALL, **options})
    made.learn(some)
    return made


# --- windows -------------------------------------------------------------------------------------------------


def test_windows_by_hand() -> None:
    rows = [[5, 6, 7, 3], [3], [8, 3]]
    assert list(windows(rows, 3, running=True)) == [[5, 6, 7], [3, 3, 8], [3]]
    assert list(windows(rows, 2, running=False)) == [[5, 6], [7], [8]]
    assert list(windows([], 2, running=True)) == []


def test_lines_run_on_or_stand_alone() -> None:
    running, alone = task_of(window=5), task_of(running=False)
    ids = [row for line in running.text.encode_all(lines) for row in line]
    assert [number for item in running.items(examples) for number in item.inputs[0]] == ids
    assert {len(item.inputs[0]) for item in running.items(examples)[:-1]} == {5}
    assert [item.inputs[0] for item in alone.items(examples)] == [
        row[:-1] for row, line in zip(alone.text.encode_all(lines), lines, strict=True) if line
    ]


# --- masks ---------------------------------------------------------------------------------------------------


def test_masks_are_new_in_each_epoch() -> None:
    task = task_of()
    items = task.items(examples)

    def chosen(some: Any) -> Any:
        return task.collate([some[row] for row in range(len(items))]).target.mask

    first, second = (chosen(task.of_epoch(items, epoch, seed=1)) for epoch in (0, 1))
    assert not torch.equal(first, second)
    assert torch.equal(first, chosen(task.of_epoch(items, 0, seed=1)))
    assert not torch.equal(first, chosen(task.of_epoch(items, 0, seed=2)))
    assert torch.equal(chosen(items), chosen(task.items(examples)))


def test_what_is_read_and_what_is_predicted() -> None:
    task = task_of(share=0.5)
    items = task.items(examples)
    batch = task.collate(items)
    assert batch.source.values[0].tolist() != items[0].inputs[0]
    target: Any = batch.target
    assert target.values[0].tolist() == items[0].inputs[0]
    assert torch.equal(batch.source.values[~target.mask], target.values[~target.mask])
    assert torch.equal(target.lengths, target.mask.sum(1))


def test_whole_words() -> None:
    """Pieces of one word are masked together: with subwords of single letters every word is whole."""
    pieces = {"tokenizer": {"name": "bpe", "vocab_size": 12}, "embed": {"dim": 16}}
    text = [Example(("unlike unlike unlike unlike unlike",), "")] * 4
    task = task_of(text, text=pieces, whole_words=True, share=0.5, running=False)
    [item, *_] = task.items(text)
    pieces_each = len(item.inputs[0]) // 5
    assert pieces_each > 1
    words = [number * pieces_each for number in range(5)]
    mask: Any = task.collate([Encoded(item.inputs, (0, 0, row), item.lengths) for row in range(20)]).target.mask  # type: ignore[union-attr]
    for first, last in zip(words, [*words[1:], len(item.inputs[0])], strict=True):
        assert torch.equal(mask[:, first:last].all(1), mask[:, first:last].any(1))


# --- learning and answers --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned(one_thread: None) -> tuple[Pretrain, Masked]:
    """One that knows what follows what: after "one" comes "two", after "red" comes "blue"."""
    some = [Example((f"{a} {b} .",), "") for a, b in (("one", "two"), ("red", "blue"))] * 8
    task = task_of(some, running=False, share=0.3)
    model = task.network().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-2)
    items = task.items(some)
    for epoch in range(45):
        today = task.of_epoch(items, epoch, 1)
        found = model(task.collate([today[row] for row in range(len(items))]))
        (found.total / found.count).backward()
        optimiser.step()
        optimiser.zero_grad()
    return task, model.eval()


def test_it_fills_in_what_it_has_learned(learned: tuple[Pretrain, Masked]) -> None:
    task, model = learned
    first, second, plain = task.predict(model, [[f"one {MASK} ."], [f"{MASK} blue ."], ["one two ."]], Ask())
    assert (first.text, second.text, plain.text) == ("one two .", "red blue .", "one two .")
    [fill] = first.fills
    assert fill[0][0] == "two"
    assert first.log_prob == fill[0][1] > -1.0
    assert [chance for _, chance in fill] == sorted((chance for _, chance in fill), reverse=True)
    assert not {"<pad>", "<unk>", "<s>", MASK} & {word for word, _ in fill}
    assert (plain.log_prob, plain.fills) == (None, ())
    look = first.look
    assert look is not None
    assert [region.text for region in look.columns] == ["one", MASK, "."]


def test_several_masks_are_filled_each_by_itself(learned: tuple[Pretrain, Masked]) -> None:
    task, model = learned
    [found] = task.predict(model, [[f"{MASK} two {MASK}"]], Ask())
    (first, *_), (second, *_) = found.fills
    assert found.text == f"{first[0]} two {second[0]}"
    assert found.log_prob == pytest.approx(sum(row[0][1] for row in found.fills))


def test_more_words_than_there_are(learned: tuple[Pretrain, Masked]) -> None:
    task, model = learned
    task.alternatives, before = 1000, task.alternatives
    [[row]] = [one.fills for one in task.predict(model, [[f"one {MASK}"]], Ask())]
    task.alternatives = before
    assert len(row) == len(task.text) - 4  # without padding, the unknown, the start and the mask


@pytest.mark.parametrize("tokenizer", [{"name": "word"}, {"name": "word", "split": "punctuation"}, "bpe", "character"])
def test_a_mask_is_one_token_in_every_tokenizer(tokenizer: Any) -> None:
    task = task_of(examples * 9, text={"tokenizer": tokenizer, "embed": {"dim": 16}})
    text = f"the cat {MASK} on the {MASK} ."
    [asked] = task._asked([text], ["x"])
    assert [asked.ids[place] for place in asked.masks] == [task.text.mask] * 2
    assert asked.ids.count(task.text.mask or 0) == 2
    assert [text[asked.regions[place].start : asked.regions[place].end] for place in asked.masks] == [MASK] * 2
    whole = task.text.encode("the cat sat on the mat .")[:-1]
    if tokenizer != "character":
        assert [number for number in asked.ids if number != task.text.mask] == [
            number for number in whole if task.text.seen[number].strip(" ") not in ("sat", "mat")
        ]


def test_nobody_can_type_the_mask() -> None:
    task = task_of()
    assert task.text.mask not in task.text.encode("< mask > [MASK] <mask>")


@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "disan", "multi_head", "hierarchical", "intra", "lstmn"])
def test_with_other_encoders(encoder: str) -> None:
    task = task_of(encoder={"name": encoder, **({"size": 16} if encoder == "multi_head" else {"hidden": 8})})
    model = task.network()
    found = model(task.collate(task.items(examples)))
    found.total.backward()
    assert model.embed.learned.grad is not None
    [answer] = task.predict(model.eval(), [[f"the {MASK} sat"]], Ask())
    assert (answer.look is not None) is (encoder in ("disan", "multi_head", "lstmn"))


def test_an_encoder_that_selects_is_refused() -> None:
    with pytest.raises(RegardError, match="encoder=resan selects tokens, which this task cannot train; expected"):
        task_of(encoder={"name": "resan", "hidden": 4}).network()


def test_too_long_a_text_is_named(learned: tuple[Pretrain, Masked]) -> None:
    task, model = learned
    with pytest.raises(RegardError, match=r"^input 2: 2,001 tokens in the text; expected at most 1,024"):
        task.predict(model, [["one"], ["one " * 2000]], Ask())


def test_its_tried_input_has_a_mask() -> None:
    task = task_of()
    assert task.tried(examples[0]) == [f"the cat sat {MASK} the mat"]
    assert task.tried(Example(("...",), "")) == ["..."]


# --- a text on disk --------------------------------------------------------------------------------------------


def trained(folder: Path, data: str, steps: int, **options: Any) -> api.Trained:
    plan = {"steps": steps, "validate_every": 2, "batch_size": 4, "device": "cpu", "epochs": 100}
    small = {"text": {"tokenizer": "word", "embed": {"dim": 16}}, "encoder": SMALL}
    return api.train("pretrain", data=data, out=folder, quiet=True, train=plan, **{**small, **options})


@pytest.mark.sweep
def test_a_text_on_disk_trains_and_resumes_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several shards, with new masks in each epoch: stopped and resumed, it comes to the same."""
    monkeypatch.setattr(regard.data.shards, "SHARD", 40)
    for number in range(2):
        (tmp_path / f"{number}.txt").write_text("".join(f"{line} {n}\n" for n in range(9) for line in lines if line))
    spec = f"{tmp_path / '0.txt'},{tmp_path / '1.txt'}"
    whole = trained(tmp_path / "whole", spec, 12, running=False)
    assert len(list((tmp_path / "whole" / "tokens").glob("ids-*.npy"))) > 3
    first = trained(tmp_path / "parts", spec, 6, running=False)
    assert first.outcome.epochs > 0
    again = trained(tmp_path / "parts", spec, 12, running=False)
    assert again.outcome.step == whole.outcome.step == 12
    assert whole.test.keys() == again.test.keys() == {"perplexity", "token_accuracy"}
    (tmp_path / "1.txt").write_text("something else\n" * 9)
    with pytest.raises(RegardError, match="the training data is not what"):
        trained(tmp_path / "parts", spec, 14, running=False)


def test_stored_items_are_those_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.data.shards, "SHARD", 7)
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    corpus = read_corpus(str(path), valid=False, test=False).train  # type: ignore[union-attr]
    for running in (True, False):
        task = task_of(running=running, window=5)
        stored, items = (
            task.stored(corpus, tmp_path / str(running)),
            task.items([one for one in examples if one.source]),
        )
        assert list(stored) == items
        rows = [row for first, lengths in task.parts(stored) for row in range(first, first + len(lengths()))]
        assert rows == list(range(len(items)))
