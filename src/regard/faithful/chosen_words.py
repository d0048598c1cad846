"""Which words an encoder chooses over a data set: by kind of word, by place in the sentence, and word by word.

The kind of a word is looked up, not guessed from its context: `punctuation` has no letter or digit, `number` has a
digit, `function` words are those of a closed list of English (articles, pronouns, prepositions, conjunctions, auxiliary
verbs, negation and a few adverbs), and everything else is `content`. Of other languages, or of subwords, only
punctuation and numbers are told apart. The place is the fifth of the input that the token stands in.

    found = chosen_words(task, network, examples)
    found["heads"]["kinds"]["content"]           # {"share": 0.71, "tokens": 5210}
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from regard.data.batch import in_order
from regard.networks.reader import Reader
from regard.train.task import Task
from regard.types import Example

__all__ = ["FIFTHS", "KINDS", "chosen_words", "kind_of"]

KINDS = ("content", "function", "number", "punctuation")
FIFTHS = 5
SEEN = 5  # times a word must come to be listed
LISTED = 20  # words that are listed of each end
TOKENS = 8_192  # positions in a batch

WORDS = """
    a an the this that these those some any no every each either neither both all such
    i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours
    ourselves they them their theirs themselves who whom whose which what there one ones someone somebody something
    anyone anybody anything nobody nothing everyone everybody everything
    of in on at by for with about against between into through during before after above below to from up down out off
    over under near behind beside beneath along across around inside outside onto upon within without toward towards
    and or but nor so yet if because while although though unless until than as whether
    am is are was were be been being do does did done doing have has had having will would shall should can could may
    might must ought 's 're 've 'll 'd 'm not n't don't isn't aren't doesn't didn't
    then here when where why how very too also just only again now own other another more most
"""
FUNCTION = frozenset(WORDS.split())


def kind_of(word: str) -> str:
    """One of KINDS."""
    if not any(sign.isalnum() for sign in word):
        return "punctuation"
    if any(sign.isdigit() for sign in word):
        return "number"
    return "function" if word.lower() in FUNCTION else "content"


class _Counted:
    """Tokens there were and tokens that were chosen, by anything."""

    def __init__(self) -> None:
        self.all: Counter[Any] = Counter()
        self.chosen: Counter[Any] = Counter()

    def add(self, key: Any, chosen: bool) -> None:
        self.all[key] += 1
        self.chosen[key] += chosen

    def of(self, key: Any) -> dict[str, Any]:
        count = self.all[key]
        return {"share": self.chosen[key] / count if count else None, "tokens": count}


@torch.no_grad()
def chosen_words(task: Task, network: Reader, examples: Sequence[Example]) -> dict[str, Any]:
    """For each policy the share chosen of each kind of word and of each fifth of the inputs, and the words that are
    chosen most and least often; empty where nothing is chosen."""
    if not network.encoder.selects:
        return {}
    fields, items, device = list(task.inputs.values()), task.items(examples), next(network.parameters()).device
    count, counted = len(fields), dict[str, tuple[_Counted, _Counted, _Counted]]()
    for some in in_order([item.lengths[:count] for item in items], tokens=TOKENS, rows=256):
        read = network.read([one.to(device) for one in task.batched([items[row].inputs for row in some])])
        for choice in read.choices:
            kinds, places, words = counted.setdefault(choice.name, (_Counted(), _Counted(), _Counted()))
            for side, field in enumerate(fields):
                texts = [examples[row].inputs[side] for row in some]
                rows = choice.chosen[side * len(some) : (side + 1) * len(some)].tolist()
                for regions, marks in zip(field.regions(texts), rows, strict=True):
                    for place, (region, mark) in enumerate(zip(regions, marks, strict=False)):
                        kinds.add(kind_of(region.text), mark)
                        places.add(place * FIFTHS // len(regions), mark)
                        words.add(region.text.lower(), mark)
    return {name: _told(*parts) for name, parts in counted.items()}


def _told(kinds: _Counted, places: _Counted, words: _Counted) -> dict[str, Any]:
    frequent = [word for word, count in words.all.items() if count >= SEEN]
    order = sorted(frequent, key=lambda word: (-words.chosen[word] / words.all[word], -words.all[word], word))
    least = sorted(frequent, key=lambda word: (words.chosen[word] / words.all[word], -words.all[word], word))
    return {
        "kinds": {kind: kinds.of(kind) for kind in KINDS},
        "places": [places.of(fifth) for fifth in range(FIFTHS)],
        "most": [{"word": word, **words.of(word)} for word in order[:LISTED]],
        "least": [{"word": word, **words.of(word)} for word in least[:LISTED]],
    }
