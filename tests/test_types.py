"""What travels: selecting sentences, following hypotheses, padding, and looks that cost nothing until asked."""

from dataclasses import FrozenInstanceError, dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from regard.regions import Token
from regard.types import Batch, Beams, Example, Look, Memory, Prediction, Rows, Sequences


def a_memory(batch: int = 3, key: int = 4) -> Memory:
    keys = torch.arange(batch * key * 2.0).reshape(batch, key, 2)
    mask = torch.arange(key)[None, :] < torch.arange(1, batch + 1)[:, None]
    return Memory(keys=keys, values=keys + 100, mask=mask, summary=torch.arange(batch * 5.0).reshape(batch, 5))


@dataclass(frozen=True)
class State(Beams):
    hidden: Float[Tensor, "batch beam hidden"]
    memory: Memory
    layers: tuple[Tensor, ...] = ()
    step: int = 0
    nothing: Tensor | None = None


def a_state(batch: int = 2, beam: int = 3) -> State:
    hidden = torch.arange(batch * beam * 2.0).reshape(batch, beam, 2)
    flags = torch.arange(batch * beam).reshape(batch, beam) % 2 == 0
    return State(hidden, a_memory(batch), (hidden * 10, flags), step=7)


# Sequences


def test_pad_by_hand() -> None:
    padded = Sequences.pad([[5, 6], [7], [8, 9, 1]], fill=4)
    assert padded.values.tolist() == [[5, 6, 4], [7, 4, 4], [8, 9, 1]]
    assert padded.mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]
    assert padded.lengths.tolist() == [2, 1, 3]
    assert padded.values.dtype == torch.long


def test_pad_fills_with_zero_and_takes_the_empty() -> None:
    assert not Sequences.pad([[5], []]).full
    assert Sequences.pad([[5, 6], [7, 8]]).full
    assert Sequences.pad([[5], []]).values.tolist() == [[5], [0]]
    assert Sequences.pad([[], []]).values.shape == (2, 0)
    assert Sequences.pad([]).mask.shape == (0, 0)


@settings(deadline=None)  # a busy machine is not a wrong answer
@given(st.lists(st.lists(st.integers(0, 99), max_size=6), min_size=1, max_size=5))
def test_what_was_padded_is_found_again(rows: list[list[int]]) -> None:
    padded = Sequences.pad(rows, fill=-1)
    assert [values[mask].tolist() for values, mask in zip(padded.values, padded.mask, strict=True)] == rows
    assert (padded.values[~padded.mask] == -1).all()
    assert padded.lengths.tolist() == padded.mask.sum(1).tolist()


def test_lengths_stay_on_the_cpu() -> None:
    moved = Sequences.pad([[1, 2], [3]]).to("meta")
    assert (moved.values.device.type, moved.mask.device.type, moved.lengths.device.type) == ("meta", "meta", "cpu")


def test_lengths_stay_on_the_cpu_inside_a_batch_too() -> None:
    sequences = Sequences.pad([[1, 2], [3]])
    moved = Batch((sequences,), target=sequences).to("meta")
    assert isinstance(moved.target, Sequences)
    for one in (moved.source, moved.target):
        assert (one.values.device.type, one.lengths.device.type) == ("meta", "cpu")


# Rows


def test_select_reorders_repeats_and_drops() -> None:
    rows = torch.tensor([2, 0, 2])
    memory, chosen = a_memory(), a_memory().select(rows)
    assert isinstance(chosen, Memory)
    assert torch.equal(chosen.keys, memory.keys[rows])
    assert torch.equal(chosen.values, memory.values[rows])
    assert memory.mask is not None
    assert chosen.mask is not None
    assert chosen.mask.tolist() == [[True, True, True, False], [True, False, False, False], [True, True, True, False]]
    assert chosen.summary is not None
    assert chosen.summary[:, 0].tolist() == [10.0, 0.0, 10.0]
    assert memory.keys.shape[0] == 3  # the first is left as it was


def test_select_goes_through_everything_inside() -> None:
    first, second = Sequences.pad([[1], [2, 3], [4]]), Sequences.pad([[5, 6], [7], [8]])
    chosen = Batch((first, second), target=torch.tensor([10, 11, 12])).select(torch.tensor([1]))
    assert [s.values.tolist() for s in chosen.inputs] == [[[2, 3]], [[7, 0]]]
    assert [s.lengths.tolist() for s in chosen.inputs] == [[2], [1]]
    assert isinstance(chosen.target, Tensor)
    assert chosen.target.tolist() == [11]
    assert chosen.source is chosen.inputs[0]


def test_select_leaves_what_is_not_there() -> None:
    memory = Memory(keys=torch.zeros(2, 3, 1), values=torch.zeros(2, 3, 1))
    chosen = memory.select(torch.tensor([1]))
    assert chosen.mask is None
    assert chosen.summary is None


def test_select_passes_gradients() -> None:
    keys = torch.ones(3, 2, 1, requires_grad=True)
    Memory(keys, keys).select(torch.tensor([1, 1])).keys.sum().backward()
    assert keys.grad is not None
    assert keys.grad.sum((1, 2)).tolist() == [0.0, 4.0, 0.0]


def test_select_from_beams_takes_the_memory_along() -> None:
    state = a_state().select(torch.tensor([1]))
    assert state.hidden.tolist() == a_state().hidden[1:].tolist()
    assert torch.equal(state.memory.keys, a_memory(2).keys[1:])
    assert state.layers[0].shape[0] == 1
    assert state.step == 7
    assert isinstance(state, State)


def test_to_moves_everything() -> None:
    moved = a_state().to("meta")
    tensors = [moved.hidden, *moved.layers, moved.memory.keys, moved.memory.values, moved.memory.mask]
    assert {tensor.device.type for tensor in tensors if tensor is not None} == {"meta"}


# Beams


def test_follow_by_hand() -> None:
    state = a_state()
    parents = torch.tensor([[2, 2, 0], [1, 0, 1]])
    followed = state.reorder(parents)
    assert followed.hidden.tolist() == [[[4, 5], [4, 5], [0, 1]], [[8, 9], [6, 7], [8, 9]]]
    assert torch.equal(followed.layers[0], followed.hidden * 10)
    assert followed.layers[1].dtype == torch.bool
    assert followed.step == 7
    assert followed.nothing is None
    assert isinstance(followed, State)


def test_follow_leaves_the_memory_alone() -> None:
    state = a_state()
    assert state.reorder(torch.tensor([[0, 1, 2], [2, 1, 0]])).memory is state.memory


def test_the_number_of_hypotheses_may_change() -> None:
    state = a_state(batch=2, beam=1)
    grown = state.reorder(torch.zeros(2, 4, dtype=torch.long))
    assert grown.hidden.shape == (2, 4, 2)
    assert torch.equal(grown.hidden, state.hidden.expand(2, 4, 2))
    assert grown.reorder(torch.tensor([[3], [0]])).hidden.shape == (2, 1, 2)


@settings(deadline=None)  # a busy machine is not a wrong answer
@given(st.integers(1, 3), st.integers(1, 4), st.data())
def test_follow_is_indexing_in_each_sentence(batch: int, beam: int, data: st.DataObject) -> None:
    parents = torch.tensor(
        data.draw(
            st.lists(st.lists(st.integers(0, beam - 1), min_size=beam, max_size=beam), min_size=batch, max_size=batch)
        )
    )
    state = a_state(batch, beam)
    followed = state.reorder(parents)
    for b in range(batch):
        assert torch.equal(followed.hidden[b], state.hidden[b][parents[b]])
        assert torch.equal(followed.layers[1][b], state.layers[1][b][parents[b]])


# Look


class Counted:
    """Weights that count how often they were worked out."""

    def __init__(self, weights: Tensor) -> None:
        self.weights, self.times = weights, 0

    def __call__(self) -> Tensor:
        self.times += 1
        return self.weights


def test_weights_are_worked_out_when_asked_for_and_once() -> None:
    normalizer = Counted(torch.ones(2, 1, 3))
    look = Look(context=torch.zeros(2, 1, 4), compute_weights=normalizer)
    repr(look)
    assert normalizer.times == 0
    assert look.weights is look.weights
    assert normalizer.times == 1


def a_look(step: int, sampled: bool = True) -> tuple[Look, Counted]:
    normalizer = Counted(torch.full((2, 1, 3), float(step)))
    number = torch.full((2, 1), float(step)) if sampled else None
    return Look(
        torch.full((2, 1, 4), step * 10.0), normalizer, log_prob=number, entropy=number, state=f"state {step}"
    ), normalizer


def test_join_puts_the_steps_side_by_side() -> None:
    joined = Look.join([a_look(step)[0] for step in range(3)])
    assert joined.context.shape == (2, 3, 4)
    assert joined.context[0, :, 0].tolist() == [0.0, 10.0, 20.0]
    assert joined.weights.shape == (2, 3, 3)
    assert joined.weights[1, :, 0].tolist() == [0.0, 1.0, 2.0]
    assert joined.log_prob is not None
    assert joined.log_prob.tolist() == [[0.0, 1.0, 2.0]] * 2
    assert joined.entropy is not None
    assert joined.state == "state 2"


def test_join_works_out_no_weights_until_asked() -> None:
    looks, counts = zip(*(a_look(step) for step in range(3)), strict=True)
    joined = Look.join(looks)
    assert [count.times for count in counts] == [0, 0, 0]
    _ = joined.weights, joined.weights
    assert [count.times for count in counts] == [1, 1, 1]


def test_join_under_heads() -> None:
    looks = [Look(torch.zeros(2, 1, 4), Counted(torch.full((2, 5, 1, 3), float(step)))) for step in range(2)]
    weights = Look.join(looks).weights
    assert weights.shape == (2, 5, 2, 3)
    assert weights[0, 0, :, 0].tolist() == [0.0, 1.0]


def test_join_has_log_probabilities_only_where_every_step_has() -> None:
    joined = Look.join([a_look(0)[0], a_look(1, sampled=False)[0]])
    assert joined.log_prob is None
    assert joined.entropy is None


# The small ones


def test_a_shape_that_does_not_fit_is_refused() -> None:
    """The hook in conftest.py is at work: without it no shape in any test would be checked."""
    with pytest.raises(TypeCheckError):
        Memory(keys=torch.zeros(2, 3, 4), values=torch.zeros(2, 3, 4), mask=torch.ones(2, 5, dtype=torch.bool))


def test_nothing_that_travels_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        a_memory().keys = torch.zeros(1, 1, 1)  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Token("a").text = "b"  # type: ignore[misc]


def test_rows_of_nothing_are_rows() -> None:
    assert Rows().select(torch.tensor([0])) == Rows()


def test_example_and_prediction() -> None:
    assert Example(("a", "b"), "c").source == "a"
    prediction = Prediction("yes", -0.5)
    assert str(prediction) == "yes"
    assert prediction._repr_html_() is None

    class Shown:
        def _repr_html_(self) -> str:
            return "<b>look</b>"

    assert Prediction("yes", -0.5, look=Shown())._repr_html_() == "<b>look</b>"
