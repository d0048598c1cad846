"""Words as vectors: what is fixed stays, what is learned moves, padding says nothing, and the shapes follow."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.func import functional_call

from regard import find
from regard.errors import RegardError
from regard.fields._vectors import Vectors
from regard.fields.embed.words import Coverage, Words, coverage, known
from regard.text import special
from regard.text.word import Word
from regard.types import Sequences

#              4      5      6      7     8     9
VOCABULARY = [*special, "cat", "sat", ",▁", "dog", "▁,", "zzz"]
VECTORS = Vectors(("dog", ",", "cat", "< s >"), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
FOUND = {4: [5.0, 6.0], 6: [3.0, 4.0], 7: [1.0, 2.0], 8: [3.0, 4.0]}  # a special token takes none
WITHOUT = [1, 2, 3, 5, 9]
TOKENS = torch.tensor([[4, 5, 6, 7, 8], [9, 1, 2, 3, 0]])
modes = ["fixed", "missing", "tuned"]


def words(mode: str, **options: Any) -> Words:
    made = Words(10, 4, dim=2, vectors="some.txt", mode=mode, **options)  # type: ignore[arg-type]
    made.fill(VOCABULARY, VECTORS)
    return made


def plain(**options: Any) -> Words:
    return Words(10, 0, dim=2, **options)


every: list[Callable[..., Words]] = [plain, *(lambda mode=mode, **options: words(mode, **options) for mode in modes)]
each = pytest.mark.parametrize("make", every, ids=["plain", *modes])


def sequences(tokens: Tensor) -> Sequences:
    return Sequences(tokens, tokens != 0, torch.full((len(tokens),), tokens.shape[1]))


def vectors(part: Words, tokens: Tensor) -> Tensor:
    return part(sequences(tokens)).values  # type: ignore[no-any-return]


def vector(part: Words, token: int) -> list[float]:
    return vectors(part, torch.tensor([[token]]))[0, 0].tolist()  # type: ignore[no-any-return]


def trained(part: Words, steps: int = 3) -> Words:
    """Some steps with every token in them, with weight decay."""
    optimiser = torch.optim.AdamW(part.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(steps):
        optimiser.zero_grad()
        (vectors(part, TOKENS) - 1).square().sum().backward()
        optimiser.step()
    return part


@pytest.mark.parametrize("mode", modes)
def test_words_that_are_found_begin_as_their_vectors(mode: str) -> None:
    part = words(mode)
    assert {token: vector(part, token) for token in FOUND} == FOUND
    for token in WITHOUT:
        assert vector(part, token) not in FOUND.values()
        assert any(vector(part, token))
    assert part.size == 2


@pytest.mark.parametrize("mode", ["fixed", "missing"])
def test_vectors_that_are_fixed_stay(mode: str) -> None:
    part = words(mode)
    before = {token: vector(part, token) for token in WITHOUT}
    trained(part)
    assert {token: vector(part, token) for token in FOUND} == FOUND
    assert all(vector(part, token) != before[token] for token in WITHOUT)
    part.zero_grad()
    vectors(part, torch.tensor([[*FOUND]])).sum().backward()
    assert part.learned.grad is not None
    assert not part.learned.grad.any()
    assert [name for name, _ in part.named_parameters()] == ["learned"]


def test_tuned_vectors_move() -> None:
    part = trained(words("tuned"))
    assert all(vector(part, token) != FOUND[token] for token in FOUND)


def test_fixed_shares_one_vector_for_all_words_without() -> None:
    part = trained(words("fixed"))
    assert len({tuple(vector(part, token)) for token in WITHOUT}) == 1
    assert part.learned.shape == (2, 2)
    assert part.fixed.shape == (5, 2)


def test_missing_learns_one_vector_for_each_word_without() -> None:
    part = words("missing")
    assert part.learned.shape == (1 + len(WITHOUT), 2)
    assert sorted(part.learned_row.tolist()) == [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]
    vectors(part, torch.tensor([[5, 5, 4, 0]])).sum().backward()
    assert part.learned.grad is not None
    assert part.learned.grad[part.learned_row[5]].tolist() == [2.0, 2.0]
    assert part.learned.grad.sum() == 4.0  # no other row


@each
def test_padding_gives_zeros_and_learns_nothing(make: Callable[..., Words]) -> None:
    part = make()
    vectors(part, torch.zeros(2, 3, dtype=torch.long)).sum().backward()
    assert part.learned.grad is not None
    assert not part.learned.grad.any()
    trained(part)
    assert not vectors(part, torch.zeros(2, 3, dtype=torch.long)).any()
    assert not part.learned[0].any()


@each
def test_each_token_alone_is_as_in_a_batch(make: Callable[..., Words]) -> None:
    part = make()
    alone = [[vector(part, int(token)) for token in row] for row in TOKENS]
    torch.testing.assert_close(vectors(part, TOKENS), torch.tensor(alone), rtol=0, atol=0)
    assert vectors(part, TOKENS[:, :0]).shape == (2, 0, 2)


@each
def test_gradients(make: Callable[..., Words]) -> None:
    part = make().double()

    def answer(rest: Tensor) -> Tensor:  # row 0 is no parameter: it gets no gradient by design
        return functional_call(
            part, {"learned": torch.cat([torch.zeros(1, 2).double(), rest])}, sequences(TOKENS)
        ).values  # type: ignore[no-any-return]

    rest = part.learned[1:].detach().requires_grad_()
    assert torch.autograd.gradcheck(answer, rest)


@each
def test_saved_and_loaded_into_a_fresh_one(make: Callable[..., Words]) -> None:
    part = trained(make())
    options: dict[str, Any] = {"vectors": "gone.txt", "mode": part.mode} if part.found else {}
    fresh = Words(part.vocab, part.found, dim=2, **options)  # no file, no fill
    assert vectors(fresh, TOKENS).shape == (2, 5, 2)
    fresh.load_state_dict(load(save(part.state_dict())))
    torch.testing.assert_close(vectors(fresh, TOKENS), vectors(part, TOKENS), rtol=0, atol=0)
    torch.testing.assert_close(
        vectors(trained(fresh), TOKENS), vectors(trained(part), TOKENS), rtol=0, atol=0
    )  # and goes on the same


@pytest.mark.parametrize("mode", modes)
def test_no_word_has_a_vector_or_all_have(mode: str) -> None:
    none = Words(6, 0, dim=2, vectors="some.txt", mode=mode)  # type: ignore[arg-type]
    none.fill([*special, "x", "y"], VECTORS)
    assert any(vector(none, 4))
    every_one = Words(6, 2, dim=2, vectors="some.txt", mode=mode)  # type: ignore[arg-type]
    every_one.fill([*special, "dog", "cat"], VECTORS)
    assert [vector(every_one, 4), vector(every_one, 5)] == [[1.0, 2.0], [5.0, 6.0]]
    assert any(vector(every_one, 1))


def test_filled_twice_is_filled_anew() -> None:
    part = words("missing")
    part.fill([*special, "dog", "cat", "x", "y", ",", "▁,▁"], VECTORS)
    assert [vector(part, token) for token in (4, 5, 8, 9)] == [[1.0, 2.0], [5.0, 6.0], [3.0, 4.0], [3.0, 4.0]]
    assert part.learned_row.tolist() == [0, 1, 2, 3, 0, 0, 4, 5, 0, 0]


def test_without_a_file_vectors_have_length_about_one() -> None:
    part = Words(5_000, 0, dim=64)
    assert part.learned.std().item() == pytest.approx(64**-0.5, rel=0.02)
    assert list(part.state_dict()) == ["learned"]


@each
def test_dropout_only_in_training(make: Callable[..., Words]) -> None:
    part = make(dropout=0.5)
    whole = make().eval()
    whole.load_state_dict(part.state_dict())
    torch.testing.assert_close(vectors(part.eval(), TOKENS), vectors(whole, TOKENS), rtol=0, atol=0)
    seen = torch.stack([vectors(part.train(), TOKENS) for _ in range(2_000)])
    assert ((seen == 0) | torch.isclose(seen, 2 * vectors(whole, TOKENS))).all()
    torch.testing.assert_close(seen.mean(0), vectors(whole, TOKENS), atol=0.6, rtol=0)


def test_other_devices_and_types() -> None:
    part = Words(10, 4, dim=2, vectors="some.txt").double()
    part.fill(VOCABULARY, VECTORS)
    assert vectors(part, TOKENS).dtype == torch.float64
    assert vector(part, 4) == FOUND[4]
    tuned = Words(10, 4, dim=2, vectors="some.txt", mode="tuned").double()
    tuned.fill(VOCABULARY, VECTORS)
    assert vector(tuned, 4) == FOUND[4]


def test_options_from_a_configuration() -> None:
    made = find.call(Words, {"dim": 7, "dropout": 0.1}, vocab=9, found=0)
    assert (made.size, made.dropout, made.learned.shape) == (7, 0.1, (9, 7))
    with pytest.raises(RegardError, match="one of fixed, tuned, missing"):
        find.call(Words, {"mode": "frozen"}, vocab=9, found=0)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"dim": 0}, r"dim: got 0"),
        ({"max_vectors": -1}, r"max_vectors: got -1"),
        ({"dropout": 1.0}, r"dropout: got 1\.0"),
        ({"dropout": -0.1}, r"dropout: got -0\.1"),
        ({"found": 3}, "vectors for 3 of 10"),
        ({"found": -1, "vectors": "x"}, "vectors for -1"),
        ({"found": 7, "vectors": "x"}, "vectors for 7 of 10"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RegardError, match=complaint):
        Words(**{"vocab": 10, "found": 0, **options})


def test_vectors_that_do_not_fit() -> None:
    part = words("missing")
    with pytest.raises(RegardError, match="a vocabulary of 9; expected 10"):
        part.fill(VOCABULARY[:-1], VECTORS)
    with pytest.raises(RegardError, match="3 words that have vectors; expected 4"):
        part.fill([*VOCABULARY[:-2], "x", "y"], VECTORS)
    with pytest.raises(RegardError, match="vectors of width 3; expected 2"):
        part.fill(VOCABULARY, Vectors(VECTORS.words, torch.zeros(4, 3)))
    assert {token: vector(part, token) for token in FOUND} == FOUND  # as before


def test_known_by_hand() -> None:
    assert known(VOCABULARY, VECTORS) == {4: 2, 6: 1, 7: 0, 8: 1}
    assert known(VOCABULARY, Vectors((), torch.zeros(0, 2))) == {}


def test_coverage_by_hand() -> None:
    #        unk   cat   sat   ",▁"  zzz  ends, which are no words
    counts = {1: 2, 4: 5, 5: 1, 6: 1, 9: 1, 3: 100, 0: 100, 2: 100, 7: 0}
    found = coverage(VOCABULARY, counts, VECTORS)
    assert found == Coverage(found=4, words=2 / 4, tokens=6 / 10, missing=("sat", "zzz"))
    assert str(found) == (
        "50.0% of the different words and 60.0% of the running words have a vector; most frequent without: sat, zzz"
    )
    assert coverage(VOCABULARY, {5: 1, 9: 3}, VECTORS).missing == ("zzz", "sat")
    assert coverage(VOCABULARY, {5: 1, 9: 3}, VECTORS, some=1).missing == ("zzz",)


def test_coverage_of_signs_and_of_nothing() -> None:
    bare = Vectors((), torch.zeros(0, 2))
    assert coverage(VOCABULARY, {6: 1, 8: 1}, bare).missing == (",",)  # one sign, whatever spaces stood around it
    assert coverage(VOCABULARY, {}, VECTORS) == Coverage(4, 0.0, 0.0, ())
    assert str(coverage(VOCABULARY, {4: 1}, VECTORS)).endswith("100.0% of the running words have a vector")


def test_from_texts_to_vectors() -> None:
    """As a task has it: a vocabulary, its words in the file and the file's own words beside them."""
    text = Word(split="punctuation").train(["a cat, a dog."]).extend(VECTORS.words[:3])
    assert text.vocabulary[4:] == ["a", ",▁", ".", "cat", "dog", ","]
    counts = Counter(text.encode("a cat, a cow.")[:-1])
    report = coverage(text.vocabulary, counts, VECTORS)
    assert (report.found, report.tokens, report.missing) == (4, 2 / 6, ("a", "."))
    part = Words(len(text), report.found, dim=2, vectors="some.txt")
    part.fill(text.vocabulary, VECTORS)
    assert vectors(part, torch.tensor([text.encode("dog,cat")]))[0, :3].tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
