"""The masked language model: its loss by hand, at the masked positions alone, and what its encoders may see."""

import math

import pytest
import torch
from torch.nn.functional import gelu

from regard.encode import Encoder
from regard.errors import RegardError
from regard.fields.embed.words import Words
from regard.find import build
from regard.networks.masked import Masked, places
from regard.types import Batch, Memory, Sequences

pytestmark = pytest.mark.usefixtures("one_thread")


def network(encoder: str = "bilstm", tied: bool = True, **options: object) -> Masked:
    torch.manual_seed(2)
    words = Words(vocab=9, found=0, dim=4)
    made = Masked(words, build("encode", {"name": encoder, **options}, inputs=4), tied)
    return made.double().eval()


def batch(rows: list[list[int]], chosen: list[list[bool]], said: list[list[int]] | None = None) -> Batch:
    read, mask = Sequences.pad(rows), Sequences.pad([[*map(int, one)] for one in chosen]).values.bool()
    return Batch((read,), Sequences(Sequences.pad(said or rows).values, mask, mask.sum(1)))


def test_places_row_by_row() -> None:
    assert places(batch([[5, 6, 7], [5]], [[False, True, True], [True]]).target).tolist() == [1, 2, 3]  # type: ignore[arg-type]


@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_by_hand(tied: bool) -> None:
    """Cross entropy of the two masked tokens: −log softmax(E norm(gelu(W h + b)) + b_o), written out."""
    made = network(tied=tied)
    one = batch([[8, 5, 6], [7, 8]], [[True, False, False], [False, True]], [[4, 5, 6], [7, 5]])
    h = made.encode(one.source).values
    total = 0.0
    for row, place, said in ((0, 0, 4), (1, 1, 5)):
        t = gelu(made.transform.weight @ h[row, place] + made.transform.bias)
        t = (t - t.mean()) / (t.var(unbiased=False) + 1e-5).sqrt()
        E = made.embed.learned if made.output is None else made.output.weight
        logits = [float(E[token] @ t) for token in range(9)]
        total -= logits[said] - math.log(sum(map(math.exp, logits)))
    found = made(one)
    assert found.count == 2
    assert found.total.item() == pytest.approx(total, rel=1e-9)


def test_tied_weights_learn_from_both_sides() -> None:
    for tied in (True, False):
        made = network(tied=tied)
        made(batch([[8, 5]], [[True, False]], [[4, 5]])).total.backward()
        assert made.embed.learned.grad is not None
        # Token 4 is only predicted: a tied table learns it, an untied one does not.
        assert bool(made.embed.learned.grad[4].any()) is tied


def test_tied_to_vectors_from_a_file() -> None:
    """Of fixed vectors and learned ones together, `fixed[f] + learned[l]`."""
    torch.manual_seed(1)
    words = Words(vocab=9, found=3, dim=4, vectors="some.txt")
    words.fixed[1:] = torch.randn(3, 4)
    vectors = words.eval()(Sequences.pad([list(range(9))])).values[0]
    torch.testing.assert_close(words.table(), vectors)


SMALL = {"bilstm": {"hidden": 3}, "disan": {"hidden": 3}, "transformer": {"size": 4, "heads": 1, "layers": 1, "ffn": 8}}


@pytest.mark.parametrize(("encoder", "options"), SMALL.items())
def test_the_true_token_is_not_seen(encoder: str, options: dict[str, object]) -> None:
    """What stood at a masked position changes the loss only as the target, never as an input."""
    made = network(encoder, **options)
    logits = [made.predicted(batch([[4, 8, 6]], [[False, True, False]], [[4, said, 6]]))[0] for said in (5, 7)]
    assert torch.equal(*logits)


class Short(Encoder):
    """Gives one state for each text."""

    size = summary = 4

    def forward(self, inputs: Sequences) -> Memory:
        return Memory(inputs.values[:, :1], inputs.values[:, :1], inputs.mask[:, :1])


def test_a_state_for_each_token() -> None:
    with pytest.raises(RegardError, match="an encoder that shortens its input; expected a state for each token"):
        Masked(Words(vocab=9, found=0, dim=4), Short())(batch([[8, 5]], [[True, False]]))
