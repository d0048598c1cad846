"""Stories: what follows does follow, every choice is told, and the least perplexity is that of the choices."""

import hashlib
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from regard.data.builtin import stories as module
from regard.data.builtin.stories import BOYS, GIRLS, NUMBERS, Stories, floor, tell
from regard.data.splits import Splits
from regard.errors import RegardError

told = re.compile(
    r"(?P<who>\w+) had (?P<before>\w+) (?P<colour>\w+) (?P<thing>\w+)\. .* (?P<she>he|she) took (?P<it>it|them) to the "
    r"(?P<where>\w+)\. There (?P=she) met (?P<hers>his|her) (?P<kin>\w+) (?P<other>\w+), who was (?P<feeling>\w+)\. "
    r"(?P<events>.*)Now (?P=who) had (?P<after>\w+) (?P=colour) (?P<left>\w+), and (?P=other) was no longer "
    r"(?P=feeling)\. (?P=who) and (?P=other) left the (?P=where), and (?P<he>he|she) thanked (?P<her>him|her) for the "
    r"(?P<things>\w+)\."
)


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Stories(600, 100, 200).splits()


def test_all_that_follows_follows(splits: Splits) -> None:
    for example in splits.train:
        found = told.fullmatch(example.source)
        assert found, example.source
        she, her, hers = ("she", "her", "her") if found["who"] in GIRLS else ("he", "him", "his")
        assert (found["she"], found["her"], found["hers"]) == (she, her, hers)
        assert found["he"] == ("she" if found["other"] in GIRLS else "he")
        assert found["who"] != found["other"]
        assert found["kin"] not in ("brother", "uncle") or found["other"] in BOYS
        assert found["kin"] not in ("sister", "aunt") or found["other"] in GIRLS
        number = NUMBERS.index(found["before"])
        assert found["it"] == ("it" if number == 1 else "them")
        for way, some in re.findall(r"(gave|lost|found|bought)(?: him| her)? (\w+)", found["events"]):
            number += NUMBERS.index(some) * (-1 if way in ("gave", "lost") else 1)
        assert number == NUMBERS.index(found["after"])
        assert 1 <= number <= 9
        singular = found["things"].removesuffix("s")
        assert found["thing"] == (singular if found["before"] == "one" else found["things"])
        assert found["left"] == (singular if number == 1 else found["things"])


def test_a_story_by_hand() -> None:
    """Each choice the first of those there are: Anna, one, red, apple, …; one of them cannot be given away."""
    assert tell(lambda options: options[0]) == (
        "Anna had one red apple. One cold morning she took it to the market. There she met her sister Clara, who was "
        "sad. Behind the market she found one more. Now Anna had two red apples, and Clara was no longer sad. Anna and "
        "Clara left the market, and she thanked her for the apples."
    )


class Script:
    """Makes the choices it is told, and then the first ones, noting how many there were of each."""

    def __init__(self, choices: Sequence[int]) -> None:
        self.choices, self.sizes = choices, list[int]()

    def __call__(self, options: Sequence[Any]) -> Any:
        self.sizes.append(len(options))
        at = len(self.sizes) - 1
        return options[self.choices[at] if at < len(self.choices) else 0]


def every() -> dict[str, float]:
    """All stories there are, with their chances, by going through all choices."""
    found: dict[str, float] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = Script(begun := waiting.pop())
        text = tell(script)
        for at in range(len(begun), len(script.sizes)):
            first = (*begun, *[0] * (at - len(begun)))
            waiting += [(*first, choice) for choice in range(1, script.sizes[at])]
        assert text not in found, "two ways to one story"
        found[text] = 1 / math.prod(script.sizes)
    return found


def test_a_story_tells_its_choices_and_the_floor_is_their_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few words all stories can be made: each in one way only, and their chances sum to 1."""
    few: dict[str, Any] = {"GIRLS": ("Anna", "Ida"), "BOYS": ("Tom",), "THINGS": ("pear",), "COLOURS": ("red",)}
    few |= {"PLACES": ("park",), "MOMENTS": ("One day", "On her birthday"), "FEELINGS": ("sad",), "MOST": 3}
    few |= {"KIN": {"she": ("aunt", "friend"), "he": ("uncle", "friend")}}
    for name, words in few.items():
        monkeypatch.setattr(module, name, words)
    chances = every()
    assert len(chances) > 1_000
    assert sum(chances.values()) == pytest.approx(1.0)
    nats = -sum(p * math.log(p) for p in chances.values())
    words = sum(p * (len(text.split()) + 1) for text, p in chances.items())
    assert floor(3_000) == pytest.approx(math.exp(nats / words), rel=0.01)


def test_the_floor() -> None:
    assert floor() == pytest.approx(1.52, abs=0.005)


def test_parts(splits: Splits) -> None:
    texts = [[example.source for example in part] for part in (splits.train, splits.valid, splits.test)]
    assert [len(part) for part in texts] == [600, 100, 200]
    assert len({text for part in texts for text in part}) == 900
    assert {example.target for example in splits.train} == {""}
    assert Stories(60, 10, 20).splits().train == splits.train[:60]
    assert Stories(60, 10, 20, seed=2).splits().train != splits.train[:60]


@pytest.mark.sweep
def test_the_same_in_every_process(splits: Splits) -> None:
    code = "from regard.data.builtin.stories import Stories; import hashlib; print(hashlib.sha256(repr("
    code += "[e.source for e in Stories(50, 5, 5).splits().train]).encode()).hexdigest())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "7"}
    )
    assert done.stdout.strip() == hashlib.sha256(repr([e.source for e in splits.train[:50]]).encode()).hexdigest()


def test_no_stories_and_too_few() -> None:
    assert Stories(0, 0, 0).splits() == Splits([])
    with pytest.raises(RegardError, match="valid: got -1"):
        Stories(1, -1, 1)


def test_choices_are_choices() -> None:
    """`pick` is never asked to choose among fewer than two."""
    rng = Random(3)

    def pick(options: Sequence[Any]) -> Any:
        assert len(options) > 1
        return rng.choice(options)

    for _ in range(300):
        tell(pick)
