"""Shares of a call and the threads that take them: every share once, one core each, the same answer however many."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import additive_cases
import feature_cases
import pytest
import rounding
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.kernels import additive_cpu, blocks_cpu, feature_cpu
from regard.kernels.additive import additive_attention, additive_weights
from regard.kernels.blocks_cpu import Share, Team, added, by_key, by_query, grid, shares, small
from regard.kernels.feature import feature_attention


@pytest.fixture
def two() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2  # whatever was done: the caller's setting is as it was
    torch.set_num_threads(before)


@pytest.fixture
def many_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small calls come in as many shares and blocks as large ones, and count as large."""
    monkeypatch.setattr(blocks_cpu, "LEAST", 64)
    monkeypatch.setattr(blocks_cpu, "TALL", 2)
    monkeypatch.setattr(additive_cpu, "BLOCK", 100)
    monkeypatch.setattr(feature_cpu, "BLOCK", 100)
    monkeypatch.setattr(additive_cpu, "SMALL", 0)
    monkeypatch.setattr(feature_cpu, "SMALL", 0)


def test_shares_by_hand() -> None:
    # 8·2²⁰ numbers: 8 shares of 2²⁰, so each of two sentences is cut in four.
    found = shares(2, 128, 2**15)
    assert len(found) == 8
    assert found[5] == Share(rows=slice(1, 2), queries=slice(32, 64), slot=1, index=5)
    # 3 sentences a share, or 4; no sentence is cut.
    assert [(s.rows.start, s.rows.stop) for s in shares(50, 8, 2**16)][:2] == [(0, 3), (3, 6)]
    assert all(s.queries == slice(0, 8) for s in shares(50, 8, 2**16))
    # One share: nothing to hand over.
    assert shares(3, 7, 10, first=5) == [Share(slice(0, 3), slice(5, 12), 0, 0)]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 2**20), st.integers(0, 3))
def test_every_query_is_in_one_share(batch: int, count: int, cost: int, first: int) -> None:
    seen = torch.zeros(batch, first + count, dtype=torch.int)
    found = shares(batch, count, cost, first)
    assert len(found) <= blocks_cpu.MOST
    for share in found:
        seen[share.rows, share.queries] += 1
    assert (seen[:, first:] == 1).all()
    assert (seen[:, :first] == 0).all()
    rows = [(share.slot, row) for share in found for row in range(share.rows.start, share.rows.stop)]
    assert len(set(rows)) == len(rows)  # two shares of one slot never write to the same sentence


@given(st.integers(1, 9), st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.integers(1, 5000))
def test_blocks_fit_their_buffer(batch: int, queries: int, keys: int, width: int, size: int) -> None:
    groups, tall, wide = grid(Share(slice(2, 2 + batch), slice(3, 3 + queries), 0, 0), keys, width, size)
    assert [row for group in groups for row in range(group.start, group.stop)] == list(range(2, 2 + batch))
    assert (groups[0].stop - groups[0].start) * tall * wide * width <= max(size, width)


def test_sums_are_added_in_order() -> None:
    parts = [torch.tensor([1.0]), torch.tensor([2.0**-24]), torch.tensor([2.0**-23])]
    assert added(parts).item() == 1 + 2**-23  # the other way round it would be 1 + 2⁻²²


@pytest.mark.usefixtures("two")
def test_two_threads_work_at_once_each_on_one_core() -> None:
    meet, found = threading.Barrier(2), []

    def work(share: Share, buffer: Tensor) -> None:
        meet.wait(timeout=300)
        found.append((share.index, threading.get_ident(), torch.get_num_threads(), buffer.data_ptr(), buffer.numel()))

    with Team() as team:
        team.each(shares(2, 1, 2**20), work, 5)
        assert torch.get_num_threads() == 1
    assert sorted(index for index, *_ in found) == [0, 1]
    assert len({thread for _, thread, *_ in found}) == 2
    assert threading.get_ident() in {thread for _, thread, *_ in found}
    assert [count for _, _, count, *_ in found] == [1, 1]
    assert len({place for *_, place, _ in found}) == 2
    assert {size for *_, size in found} == {5}


def test_one_thread_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_cpu, "_pool", lambda: pytest.fail("a helper was asked for"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    done: list[int] = []
    with Team() as team:
        team.each(shares(2, 64, 2**20), lambda share, buffer: done.append(share.index), 1)
    torch.set_num_threads(before)
    assert done == list(range(16))


@pytest.mark.usefixtures("two")
def test_where_a_thread_cannot_be_held_to_one_core_the_caller_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_cpu, "_openmp", lambda number: 0)
    monkeypatch.setattr(blocks_cpu, "_pool", lambda: pytest.fail("a helper was asked for"))
    done: list[int] = []
    with Team() as team:
        team.each(shares(2, 64, 2**20), lambda share, buffer: done.append(share.index), 1)
    assert done == list(range(16))


def test_what_is_missing_is_not_called() -> None:
    assert blocks_cpu._setter("no_such_function")(1) == 0


def test_room_is_used_again() -> None:
    blocks_cpu._spare.clear()
    with Team() as team:
        some, others = team.room(torch.empty(3, 5)), team.room(torch.empty(15))
        places = {some.data_ptr(), others.data_ptr()}
        assert some.shape == (3, 5)
        assert len(places) == 2
    with Team() as team:
        assert team.room(torch.empty(2, 7)).data_ptr() in places
        assert team.room(torch.empty(100, 100)).data_ptr() not in places


@pytest.mark.parametrize("kind", ["additive", "feature"])
def test_room_made_in_inference_mode_serves_outside_of_it(kind: str) -> None:
    blocks_cpu._spare.clear()
    q, k, v, w = torch.randn(2, 8, 32), torch.randn(2, 8, 32), torch.randn(2, 8, 32), torch.randn(32)
    given = (q, k, v, w) if kind == "additive" else (q, k, v)
    attend = additive_attention if kind == "additive" else feature_attention
    with torch.inference_mode():
        inside = attend(*given, backend="cpu")
    assert torch.equal(attend(*given, backend="cpu"), inside)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("by_helper", [True, False])
def test_an_error_comes_out(by_helper: bool) -> None:
    caller, meet, done = threading.get_ident(), threading.Barrier(2), list[int]()

    def work(share: Share, buffer: Tensor) -> None:
        if share.index < 2:
            meet.wait(timeout=300)
        if (threading.get_ident() != caller) == by_helper:
            raise ValueError("in a share")

    with pytest.raises(ValueError, match="in a share"), Team() as team:
        team.each(shares(2, 64, 2**20), work, 1)
    with Team() as team:  # and the threads are there for the next call
        team.each(shares(2, 64, 2**20), lambda share, buffer: done.append(share.index), 1)
    assert sorted(done) == list(range(16))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"pattern": "causal", "lengths": torch.tensor([19, 7, 0])},
    {"dropout": 0.4, "band": 4},
    {"bias": torch.randn(3, 1, 19)},
]


def case(kind: str, options: dict[str, Any]) -> Any:
    torch.manual_seed(2)
    q, k, v = torch.randn(3, 23, 12), torch.randn(3, 19, 12), torch.randn(3, 19, 12)
    if kind == "additive":
        return additive_cases.Case(q, k, v, torch.randn(12), options)
    return feature_cases.Case(q, k, v, options)


def run(kind: str, options: dict[str, Any], threads: int) -> list[Tensor]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.manual_seed(8)
    found: list[Tensor] = case(kind, options).run("cpu", torch.float32)
    torch.set_num_threads(before)
    return found


@pytest.mark.thin
@pytest.mark.usefixtures("many_shares")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", ["additive", "feature"])
def test_the_same_answer_for_every_number_of_threads(kind: str, options: dict[str, Any]) -> None:
    alone = run(kind, options, 1)
    for threads in (2, 3, 2):
        for a, b in zip(run(kind, options, threads), alone, strict=True):
            assert torch.equal(a, b)


@pytest.mark.thin
@pytest.mark.parametrize("sizes", [(2, 97, 62, 64), (1, 1, 520, 96), (3, 2, 400, 96), (5, 41, 3, 128), (7, 33, 20, 32)])
@pytest.mark.parametrize("options", [{}, {"pattern": "causal"}, {"dropout": 0.3}, {"bias": True}])
@pytest.mark.parametrize("kind", ["additive", "feature"])
def test_a_small_call_has_the_same_answer_for_every_number_of_threads(
    kind: str, options: dict[str, Any], sizes: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, queries, keys, width = sizes  # large enough for PyTorch to divide, and odd
    monkeypatch.setattr(blocks_cpu, "_pool", lambda: pytest.fail("a helper was asked for"))
    torch.manual_seed(4)
    q, k, v, w = torch.randn(batch, queries, width), *torch.randn(2, batch, keys, width), torch.randn(width)
    if "bias" in options:
        options = {"bias": torch.randn(batch, queries, keys)}
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2, 3, 4, 7):
        torch.set_num_threads(threads)
        torch.manual_seed(8)
        if kind == "additive":
            found.append([additive_attention(q, k, v, w, backend="cpu", **options)])
        else:
            found.append(feature_cases.Case(q, k, v, dict(options)).run("cpu", torch.float32))
        assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    for some in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(some, found[0], strict=True))
    monkeypatch.setattr(additive_cpu, "SMALL", 0)
    monkeypatch.setattr(feature_cpu, "SMALL", 0)
    if kind == "additive" and "dropout" not in options:
        assert torch.allclose(additive_attention(q, k, v, w, backend="cpu", **options), found[0][0], atol=2e-5)
    elif kind == "feature":
        assert feature_cases.close(found[0], feature_cases.Case(q, k, v, dict(options)).run("reference", torch.float64))
    torch.set_num_threads(before)


def test_small_by_hand() -> None:
    def little(batch: int, queries: int, keys: int, width: int) -> bool:
        return small(torch.empty(batch, queries, width), torch.empty(batch, keys, width), 2**21, 2**19)

    assert little(2, 128, 128, 64)
    assert not little(2, 129, 128, 64)  # one query too many
    assert not little(2, 99, 127, 64)  # 254 times 32 numbers for each query: four threads cannot divide them evenly
    assert not little(2, 99, 128, 48)  # a row of one vector and a half
    assert not little(1, 1, 2048, 64)  # eight queries are more than a block


@given(st.integers(1, 3), st.integers(1, 11), st.integers(1, 5))
def test_sums_in_groups(batch: int, queries: int, groups: int) -> None:
    x, sums = torch.randint(9, (batch, queries, 3, 2)), torch.ones(batch, groups, 3, 2, dtype=torch.long)
    by_key(x, sums)
    assert torch.equal(sums.sum(1), x.sum(1) + groups)
    assert torch.equal(by_query(x, groups), x.sum(2))


@pytest.mark.usefixtures("many_shares")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", ["additive", "feature"])
def test_many_shares_and_blocks_are_the_readable_path(kind: str, options: dict[str, Any]) -> None:
    if kind == "feature" or "dropout" not in options:  # additive attention draws anew for each path
        true = case(kind, options).run("reference", torch.float64)
        assert feature_cases.close(run(kind, options, 2), true)


def test_weights_that_were_kept_are_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v, w = torch.randn(1, 3, 4, requires_grad=True), torch.randn(1, 5, 4), torch.randn(1, 5, 4), torch.randn(4)
    answer = additive_attention(q, k, v, w, backend="cpu")
    monkeypatch.setattr(additive_cpu._Piece, "fill_weights", lambda *_: pytest.fail("worked out again"))
    answer.sum().backward()


@pytest.mark.usefixtures("many_shares")
def test_pieces_of_queries_in_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive_cpu, "CHUNK", 3 * 19 * 5)
    for options in OPTIONS[1], OPTIONS[3]:
        true = case("additive", options).run("reference", torch.float64)
        for threads in (1, 2):
            assert additive_cases.close(run("additive", options, threads), true)


@pytest.mark.usefixtures("two", "many_shares")
@pytest.mark.parametrize("kind", ["additive", "feature"])
def test_many_callers_at_once(kind: str) -> None:
    given, found = case(kind, {}), {}
    expected = given.run("cpu", torch.float32)
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: given.run("cpu", torch.float32)})) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(threads)
    assert all(torch.equal(a, b) for one in found.values() for a, b in zip(one, expected, strict=True))


@pytest.mark.usefixtures("two", "many_shares")
def test_inference_mode_and_autocast() -> None:
    q, k, v, w = torch.randn(3, 9, 8), torch.randn(3, 11, 8), torch.randn(3, 11, 8), torch.randn(8)
    expected = additive_attention(q, k, v, w, backend="cpu"), feature_attention(q, k, v, backend="cpu")
    weights = additive_weights(q, k, w, backend="cpu")
    assert isinstance(weights, Tensor)
    with torch.inference_mode():
        given = [tensor.clone() for tensor in (q, k, v, w)]
        assert torch.equal(additive_attention(*given, backend="cpu"), expected[0])
        assert torch.equal(feature_attention(*given[:3], backend="cpu"), expected[1])
        again = additive_weights(given[0], given[1], given[3], backend="cpu")
        assert isinstance(again, Tensor)
        assert torch.equal(again, weights)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # it would round the products of the weights and the values
        assert torch.equal(additive_attention(q, k, v, w, backend="cpu"), expected[0])
        assert torch.equal(feature_attention(q, k, v, backend="cpu"), expected[1])


@pytest.mark.sweep
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_process_has_threads_of_its_own() -> None:
    program = """
import os, threading, torch
from regard.kernels import additive_cpu
from regard.kernels.additive import additive_attention
additive_cpu.SMALL = 0
torch.set_num_threads(2)
q, k, v = (torch.randn(4, 128, 32) for _ in range(3))
w = torch.randn(32)
before = additive_attention(q, k, v, w, backend="cpu")
child = os.fork()
if child == 0:
    same = threading.active_count() == 1 and torch.equal(additive_attention(q, k, v, w, backend="cpu"), before)
    os._exit(0 if same and threading.active_count() == 2 else 3)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.mark.sweep
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_small_call_of_a_child_process_waits_for_no_thread_of_its_parents() -> None:
    program = """
import os, torch
from regard.kernels.feature import feature_attention
torch.set_num_threads(2)
q, k, v = (torch.randn(2, 128, 32) for _ in range(3))
before = feature_attention(q, k, v, backend="cpu")
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(feature_attention(q, k, v, backend="cpu"), before) else 3)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.mark.sweep
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_a_helper_starts_no_threads_of_its_own() -> None:
    """Neither OpenMP nor the library of matrix products: the caller, and one helper."""
    program = """
import os, torch
from regard.kernels.additive import additive_attention
from regard.kernels.feature import feature_attention
torch.set_num_threads(2)
before = len(os.listdir("/proc/self/task"))
q, k, v = (torch.randn(2, 256, 256) for _ in range(3))
for _ in range(3):
    additive_attention(q, k, v, torch.randn(256), backend="cpu")
    feature_attention(q, k, v, backend="cpu")
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, timeout=300, capture_output=True, text=True)
    assert int(done.stdout) <= 2, "more threads than the caller and its helpers"


@pytest.mark.parametrize("shift", ["above", "below", "by feature", "by element"])
def test_saturated_features_keep_their_digits(shift: str) -> None:
    plain = additive_cases.hostile("plain")
    signs = torch.randn_like(plain.q).sign()
    sign = {"above": 1, "below": -1, "by feature": signs[0, 0], "by element": signs}[shift]
    case = additive_cases.Case(plain.q + 8 * sign, plain.k, plain.v, plain.w)
    # The gradient of w is a sum of terms that all but cancel here: test_additive_cpu.py looks at it.
    rounding.at_most_twice(lambda backend, dtype: case.run(backend, dtype)[:4], "cpu", torch.float32)


@pytest.mark.parametrize("lengths", [[5, 7], [5, 3]])
def test_hidden_keys_and_queries_of_additive_attention_may_hold_anything(lengths: list[int]) -> None:
    q, k, v, w = torch.randn(2, 6, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 8), torch.randn(8)
    query_lengths = torch.tensor([4, 6])
    options = {"lengths": torch.tensor(lengths), "query_lengths": query_lengths, "pattern": "not_self"}
    before = additive_cases.Case(q, k, v, w, options).run("cpu", torch.float32)
    for row, (n_k, n_q) in enumerate(zip(lengths, query_lengths, strict=True)):
        k[row, n_k:], q[row, n_q:] = float("nan"), float("inf")
    after = additive_cases.Case(q, k, v, w, options).run("cpu", torch.float32)
    for a, b in zip(before, after, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_a_steep_scale_keeps_its_gradients() -> None:
    # All scores at −c: the sums of the weights are tiny, but not their gradients.
    q, k, v = torch.full((1, 2, 3), -900.0), torch.randn(1, 4, 3), torch.randn(1, 4, 3, requires_grad=True)
    answer = feature_attention(q, k, v, scale=40.0, backend="cpu")
    (dv,) = torch.autograd.grad(answer, v, torch.full_like(answer, 1e6))
    assert torch.allclose(dv, torch.full_like(dv, 5e5), rtol=1e-4)


def test_buffers_are_used_again_and_never_by_two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_cpu, "_spare", [])
    given: list[tuple[int, int]] = []

    def note(share: Share, buffer: torch.Tensor) -> None:
        given.append((buffer.data_ptr(), len(buffer)))

    def inside(share: Share, buffer: torch.Tensor) -> None:
        note(share, buffer)
        with Team() as team:
            team.each(shares(1, 1, 1), note, 100)

    with Team() as team:
        for size, work in ((100, note), (60, note), (200, note), (100, inside)):
            team.each(shares(1, 1, 1), work, size)
    (first, a), (second, b), (third, c), (outer, d), (inner, e) = given
    assert (a, b, c, d, e) == (100, 60, 200, 100, 100)  # as many numbers as were asked for
    assert first == second  # large enough
    assert outer == third != inner
    blocks_cpu._returned(torch.empty(blocks_cpu.KEPT + 1))
    assert max(len(one) for one in blocks_cpu._spare) <= blocks_cpu.KEPT  # a huge one is not kept
    for _ in range(3 * blocks_cpu.MOST):
        blocks_cpu._returned(torch.empty(1))
    assert len(blocks_cpu._spare) == blocks_cpu.MOST
