"""JointDecoder decoding: the scores of a search are those of the definition, and the best is found."""

from functools import partial
from itertools import product

import pytest
import torch
from test_ctc import counted, made

from regard.attend.attention import make
from regard.predict.generate.recurrent import Recurrent
from regard.predict.joint import JointDecoder
from regard.search._forced import forced
from regard.search.beam import Beam
from regard.text import Tokenizer
from regard.types import Memory
from tiers import sweep_but


@pytest.mark.parametrize("weight", sweep_but([0.0, 0.3, 0.9], 0.3))
def test_against_brute_force(weight: float) -> None:
    ctc, memory = made((3, 3))
    memory = Memory(memory.keys, memory.values, memory.mask, memory.keys.mean(1))
    torch.manual_seed(2)
    part = partial(make, bias=("location",))
    decoder = Recurrent(vocab=6, memory=3, summary=3, attention=part, embed=4, hidden=4).double().eval()
    found = Beam(beam_size=80, length_penalty=0.0)(
        JointDecoder(decoder, ctc, weight), memory, start=Tokenizer.start, end=Tokenizer.end,
        max_length=torch.tensor([4, 4]), banned=(Tokenizer.pad, Tokenizer.start), weights=True,
    )  # fmt: skip
    for row, [best] in enumerate(found):
        total, one, scores = counted(ctc, memory, row), memory.select(torch.tensor([row])), {}
        for size in range(4):
            for tokens in product((1, 4, 5), repeat=size):
                [hypothesis] = forced(decoder, one, [[*tokens, Tokenizer.end]], start=Tokenizer.start, weights=False)
                p = total.get(tokens, 0.0)
                if p > 0 or weight == 0:
                    ctc_log = 0.0 if weight == 0 else weight * float(torch.tensor(p).double().log())
                    scores[tokens] = (1 - weight) * hypothesis.log_prob + ctc_log
        wanted = max(scores, key=scores.__getitem__)
        assert best.tokens == (*wanted, Tokenizer.end)
        assert best.log_prob == pytest.approx(scores[wanted], abs=1e-5)
        assert best.array is not None
        assert best.array.shape == (len(best.tokens), 3)  # it looks where the attention decoder looks
