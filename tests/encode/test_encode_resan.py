"""ReSAN: DiSAN where all is chosen, the published equations where some is; its phases, and who learns from what."""

import pytest
import torch
from disan_cases import by_hand, elu, lengths, linear, sequences
from torch import Tensor

from regard.encode import resan
from regard.encode.disan import Disan
from regard.encode.resan import Resan, at_once, others, weights_of_others
from regard.errors import RegardError
from regard.kernels import choose
from regard.types import Memory, Selection, Sequences


def made(**options: object) -> Resan:
    part = Resan(5, hidden=3, **options).double()  # type: ignore[arg-type]
    for name, parameter in part.named_parameters():
        if not name.startswith("policies"):
            torch.nn.init.normal_(parameter)
    return part


def choosing(part: Resan, monkeypatch: pytest.MonkeyPatch, **chosen: Tensor) -> None:
    """Let the policies choose what is given, by name."""

    def choices(x: Tensor, mask: Tensor, sample: bool) -> tuple[Selection, ...]:
        nothing = torch.zeros(len(x)).double()
        return tuple(Selection(name, chosen[name] & mask, nothing, nothing) for name in part.policies.names)

    monkeypatch.setattr(part.policies, "forward", choices)


def by_masks(part: Resan, words: Tensor, heads: list[bool], dependents: list[bool]) -> Tensor:
    """The published form: a mask M of 0 and −∞ added to the scores, M_ij = 0 where dependent i and head j are both
    chosen, i ≠ j, and i stands in j's direction; an unchosen head takes the mean of all others there."""
    time, hidden, states = len(words), part.size // 2, []
    for way in (0, 1):
        h = torch.stack([elu(linear(part.W, way, x)) for x in words])
        q, k = linear(part.W_attend, way, h).split(hidden, -1)
        u = []
        for j in range(time):
            there = [i for i in range(time) if (i < j if way == 0 else i > j)]
            M = [0.0 if heads[j] and dependents[i] and i != j and i in there else -torch.inf for i in range(time)]
            s = torch.zeros(hidden).double()
            if 0.0 in M:
                e = part.c * torch.tanh((q[j] + k) / part.c) + torch.tensor(M).double()[:, None]
                s = (torch.softmax(e, 0) * h).sum(0)
            elif not heads[j] and there and part.unchosen == "mean":
                s = sum(h[i] for i in there) / len(there)
            F = torch.sigmoid(linear(part.W_gate, way, torch.cat([s, h[j]])))
            u.append(F * h[j] + (1 - F) * s)
        states.append(torch.stack(u))
    return torch.cat(states, -1)


def drawn(chance: float) -> dict[str, Tensor]:
    return {name: torch.rand(3, 7) < chance for name in ("heads", "dependents")}


def test_with_everything_chosen_it_is_disan() -> None:
    part = made(start=50.0).eval()
    twin = Disan(5, hidden=3).double()
    twin.load_state_dict({name: value for name, value in part.state_dict().items() if name.startswith("W")})
    values = torch.randn(3, 7, 5).double().requires_grad_()
    given = sequences(values, lengths)
    memory, other = part(given), twin(given)
    assert all(torch.equal(choice.chosen, given.mask) for choice in memory.choices)
    assert [choice.name for choice in memory.choices] == ["heads", "dependents"]
    torch.testing.assert_close(memory.keys[given.mask], other.keys[given.mask])
    torch.testing.assert_close(memory.summary, other.summary)
    weights, wanted = memory.looks[0][1].weights, other.looks[0][1].weights
    for row, length in enumerate(lengths):
        torch.testing.assert_close(weights[row, :, :length], wanted[row, :, :length])
    pull = torch.randn(3, 7, 6).double() * given.mask.unsqueeze(-1)
    shared = [name for name, _ in twin.named_parameters()]
    of_part, of_twin = dict(part.named_parameters()), dict(twin.named_parameters())
    found = torch.autograd.grad((memory.keys * pull).sum(), [values, *(of_part[name] for name in shared)])
    true = torch.autograd.grad((other.keys * pull).sum(), [values, *(of_twin[name] for name in shared)])
    for a, b in zip(found, true, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("unchosen", ["mean", "none"])
@pytest.mark.parametrize("chance", [0.0, 0.3, 0.6, 1.0])
def test_with_some_chosen_it_is_the_published_equations(
    monkeypatch: pytest.MonkeyPatch, chance: float, unchosen: str, hidden: bool
) -> None:
    monkeypatch.setattr(resan, "at_once", lambda *_: hidden)
    part, chosen = made(unchosen=unchosen).eval(), drawn(chance)
    choosing(part, monkeypatch, **chosen)
    values = torch.randn(3, 7, 5).double().requires_grad_()
    given = sequences(values, lengths)
    memory = part(given)
    kept = given.mask if unchosen == "mean" else given.mask & chosen["heads"]
    assert memory.mask is not None
    assert torch.equal(memory.mask, kept)
    pull = torch.randn(3, 7, 6).double()
    total = torch.zeros(()).double()
    for row, n in enumerate(lengths):
        states = by_masks(part, values[row, :n], *(chosen[name][row, :n].tolist() for name in chosen))
        torch.testing.assert_close(memory.keys[row, :n], states)
        seen = states[kept[row, :n]]
        torch.testing.assert_close(memory.summary[row], seen.mean(0) if len(seen) else torch.zeros(6).double())
        total = total + (states * pull[row, :n]).sum()
    wanted = [values, *(p for name, p in part.named_parameters() if name.startswith("W"))]
    found = torch.autograd.grad((memory.keys * pull * given.mask.unsqueeze(-1)).sum(), wanted, allow_unused=True)
    for a, b in zip(found, torch.autograd.grad(total, wanted, allow_unused=True), strict=True):
        zero = torch.zeros(())
        torch.testing.assert_close(zero if a is None or not a.any() else a, zero if b is None or not b.any() else b)


@pytest.mark.parametrize("unchosen", ["mean", "none"])
@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_gates_of_0_and_1_are_choices(monkeypatch: pytest.MonkeyPatch, unchosen: str, chance: float) -> None:
    """Gates that pass a gradient give what hard choices give."""
    part, given, chosen = (
        made(unchosen=unchosen).eval(),
        sequences(torch.randn(3, 7, 5).double(), lengths),
        drawn(chance),
    )
    choosing(part, monkeypatch, **chosen)
    wanted = part(given)
    gates = {name: (one & given.mask).double().requires_grad_() for name, one in chosen.items()}

    def gated(x: Tensor, mask: Tensor, sample: bool) -> tuple[Selection, ...]:
        nothing = torch.zeros(len(x)).double()
        return tuple(
            Selection(name, chosen[name] & mask, nothing, nothing, nothing, nothing, gates[name])
            for name in part.policies.names
        )

    monkeypatch.setattr(part.policies, "forward", gated)
    memory = part(given)
    torch.testing.assert_close(memory.keys[wanted.mask], wanted.keys[wanted.mask])
    assert memory.mask is not None
    assert torch.equal(memory.mask, wanted.mask)
    slopes = torch.autograd.grad(memory.keys[memory.mask].square().sum(), list(gates.values()), allow_unused=True)
    assert all(slope is None or slope.isfinite().all() for slope in slopes)


def test_the_gradient_of_a_gate_is_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    part, given = made().eval(), sequences(torch.randn(3, 7, 5).double(), lengths)

    def states(heads: Tensor, dependents: Tensor) -> Tensor:
        def gated(x: Tensor, mask: Tensor, sample: bool) -> tuple[Selection, ...]:
            nothing = torch.zeros(len(x)).double()
            both = (heads.masked_fill(~mask, 0.0), dependents.masked_fill(~mask, 0.0))
            named = zip(part.policies.names, both, strict=True)
            return tuple(Selection(name, one > 0, nothing, nothing, nothing, nothing, one) for name, one in named)

        monkeypatch.setattr(part.policies, "forward", gated)
        return part(given).keys[given.mask]

    gates = [(0.2 + 0.6 * torch.rand(3, 7).double()).requires_grad_() for _ in range(2)]
    assert torch.autograd.gradcheck(states, gates)


@pytest.mark.parametrize("unchosen", ["mean", "none"])
def test_gates_by_the_kernel_of_real_sizes(monkeypatch: pytest.MonkeyPatch, unchosen: str) -> None:
    gates = {name: torch.rand(3, 7) for name in ("heads", "dependents")}
    part, values = made(unchosen=unchosen).float().eval(), torch.randn(3, 7, 5)
    states = []
    for fused in (False, True):
        monkeypatch.setitem(choose.SMALL["cpu"], "feature", 0 if fused else 2**62)
        given = sequences(values, lengths)
        nothing = torch.zeros(3)
        choices = tuple(
            Selection(name, given.mask, nothing, nothing, gates=one * given.mask) for name, one in gates.items()
        )
        monkeypatch.setattr(part.policies, "forward", lambda *_, choices=choices: choices)
        states.append(part(given).keys[given.mask])
    torch.testing.assert_close(*states)


@pytest.mark.parametrize("unchosen", ["mean", "none"])
def test_hiding_and_gathering_give_the_same(monkeypatch: pytest.MonkeyPatch, unchosen: str) -> None:
    """Fused, and in float32, where the kernel is the one of real sizes; gradients too."""
    monkeypatch.setitem(choose.SMALL["cpu"], "feature", 0)
    part = made(unchosen=unchosen).float().eval()
    choosing(part, monkeypatch, **drawn(0.6))
    given, pull, found = sequences(torch.randn(3, 7, 5), lengths), torch.randn(3, 7, 6), []
    for hidden in (True, False):
        monkeypatch.setattr(resan, "at_once", lambda *_, hidden=hidden: hidden)
        values = given.values.clone().requires_grad_()
        memory = part(Sequences(values, given.mask, given.lengths))
        pulled = (memory.keys * pull * given.mask.unsqueeze(-1)).sum()
        wanted = [values, *(p for name, p in part.named_parameters() if name.startswith("W"))]
        found.append((memory.keys[given.mask], memory.summary, *torch.autograd.grad(pulled, wanted)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.8])
def test_what_was_not_chosen_can_be_skipped(monkeypatch: pytest.MonkeyPatch, chance: float) -> None:
    """Chosen tokens side by side have the states that they have among all."""
    part, given = made(unchosen="none").eval(), sequences(torch.randn(3, 7, 5).double(), lengths)
    choosing(part, monkeypatch, **drawn(chance))
    whole, few = part(given), part(given, narrow=True)
    assert whole.mask is not None
    assert few.mask is not None
    assert few.keys.shape[1] <= whole.keys.shape[1]
    assert few.mask.sum() == whole.mask.sum()
    for row in range(3):
        torch.testing.assert_close(few.keys[row, few.mask[row]], whole.keys[row, whole.mask[row]])
    torch.testing.assert_close(few.summary, whole.summary)
    assert torch.equal(chosen_of(few), chosen_of(whole))
    assert chance or few.keys.shape[1] == 1


def test_skipping_needs_heads_without_a_substitute() -> None:
    """The mean of the others is of all tokens, chosen or not."""
    part, given = made(start=0.0).eval(), sequences(torch.randn(3, 7, 5).double(), lengths)
    assert torch.equal(part(given, narrow=True).keys, part(given).keys)


def test_a_cpu_gathers_where_something_is_left_out() -> None:
    mask = sequences(torch.zeros(3, 7, 1), lengths).mask
    fewer = mask.clone()
    fewer[0, 2] = False
    assert at_once((mask, mask), mask)
    assert not at_once((mask, fewer), mask)
    assert not at_once((fewer, mask), mask)


def test_the_naive_forms_agree() -> None:
    part, words = made(), torch.randn(5, 5).double()
    torch.testing.assert_close(by_masks(part, words, [True] * 5, [True] * 5), by_hand(part, words)[0])


def test_worked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One feature, words 1, 2, 4, 8 which are their own h, a gate of ½: u = (h + s)/2. Heads: the 2nd and 4th;
    dependents: the 1st and 4th. Forwards the 4th sees the 1st alone (not the 2nd and 3rd, though they are there) and
    the 2nd the 1st; the 3rd, unchosen, takes the mean of 1 and 2; the 1st has nobody before it.
    """
    part = Resan(1, hidden=1).double().eval()
    with torch.no_grad():
        for layer, number in [(part.W, 1.0), (part.W_attend, 1.0), (part.W_gate, 0.0)]:
            layer.weight.fill_(number)
            layer.bias.zero_()
    heads, dependents = torch.tensor([[False, True, False, True]]), torch.tensor([[True, False, False, True]])
    choosing(part, monkeypatch, heads=heads, dependents=dependents)
    memory = part(sequences(torch.tensor([[[1.0], [2.0], [4.0], [8.0]]]).double(), [4]))
    forward, backward = memory.values[0].T.tolist()
    assert forward == pytest.approx([0.5, (2 + 1) / 2, (4 + 1.5) / 2, (8 + 1) / 2])
    # Backwards: 1st unchosen, mean of 2, 4, 8; 2nd sees the 4th; 3rd unchosen, mean of 8; 4th nobody.
    assert backward == pytest.approx([(1 + 14 / 3) / 2, (2 + 8) / 2, (4 + 8) / 2, 4])
    weights = memory.looks[0][1].weights[0, ..., 0]
    assert weights.sum(-1).tolist() == [[0, 1, 0, 1], [0, 1, 0, 0]]
    assert weights[0, 3].tolist() == [1, 0, 0, 0]


def test_the_mean_of_the_others() -> None:
    h = torch.randn(2, 3, 7, 4).double().masked_fill(~sequences(torch.zeros(3, 7, 1), lengths).mask[..., None], 0.0)
    found = others(h, sequences(torch.zeros(3, 7, 1), lengths).mask)
    for row, n in enumerate(lengths):
        for j in range(n):
            for way, there in ((0, h[0, row, :j]), (1, h[1, row, j + 1 : n])):
                mean = there.mean(0) if len(there) else torch.zeros(4).double()
                torch.testing.assert_close(found[way, row, j], mean)
    assert not found[0, :, 0].any()
    assert all(not found[1, row, n - 1].any() for row, n in enumerate(lengths))  # exactly: nothing is left over
    half = others(torch.ones(2, 1, 3000, 1, dtype=torch.bfloat16), torch.ones(1, 3000, dtype=torch.bool))
    assert half[0, 0, 1:].eq(1).all()
    assert half[1, 0, :-1].eq(1).all()


def test_their_weights_give_the_same_mean() -> None:
    mask = sequences(torch.zeros(3, 7, 1), lengths).mask
    h = torch.randn(2, 3, 7, 4).double().masked_fill(~mask[..., None], 0.0)
    earlier = torch.ones(7, 7).tril(-1).bool()
    chosen = (torch.rand(3, 7) < 0.5) & mask
    A = weights_of_others(torch.stack([earlier, earlier.T])[:, None] & mask[:, None, :], chosen, h.dtype)
    expected = others(h, mask).masked_fill(chosen[..., None], 0.0)
    torch.testing.assert_close((A @ h)[:, mask], expected[:, mask])


def test_phases() -> None:
    part = Resan(5, hidden=3, soft=0.5, policy=0.2, settle=0.15)
    found = [part.phase(tenth / 10) for tenth in range(11)]
    assert found == ["supervised"] * 5 + ["policy"] * 2 + ["both"] * 2 + ["settled"] * 2
    for soft, policy, expected in ((0.0, 0.0, "both"), (1.0, 0.0, "supervised"), (0.0, 1.0, "policy")):
        part = Resan(5, hidden=3, soft=soft, policy=policy)
        for progress in (0.0, 0.5, 0.999):
            assert part.phase(progress) == expected


def chosen_of(memory: Memory) -> Tensor:
    return torch.stack([choice.chosen for choice in memory.choices])


def test_at_first_nothing_is_chosen_from() -> None:
    """The first phase is DiSAN, whatever the policies would do; outside training they choose."""
    part, given = made(start=-3.0), sequences(torch.randn(3, 7, 5).double(), lengths)
    memory = part(given, "supervised")
    assert memory.choices == ()
    torch.testing.assert_close(memory.keys, Disan.forward(part, given).keys)
    assert not chosen_of(part.eval()(given)).any()


def test_choices_are_drawn_in_training_and_on_demand() -> None:
    given = sequences(torch.randn(3, 7, 5).double(), lengths)
    part = made(start=0.3).eval()
    once = chosen_of(part(given))
    assert all(torch.equal(chosen_of(part(given)), once) for _ in range(3))
    assert torch.equal(once, given.mask.expand(2, 3, 7))  # σ(0.3) > ½
    for drawing in (part.train(), made(start=0.3, sample=True).eval()):
        assert any(not torch.equal(chosen_of(drawing(given)), once) for _ in range(3))
        assert not (chosen_of(drawing(given)) & ~given.mask).any()


def test_heads_and_dependents_have_policies_of_their_own() -> None:
    part = made(start=0.0).eval()
    with torch.no_grad():
        part.policies.start.copy_(torch.tensor([9.0, -9.0])[:, None, None])
    given = sequences(torch.randn(3, 7, 5).double(), lengths)
    heads, dependents = chosen_of(part(given))
    assert torch.equal(heads, given.mask)
    assert not dependents.any()


def test_the_policies_and_the_rest_learn_apart() -> None:
    """What the states are used for teaches no policy; what a choice was worth teaches nothing but its policy."""
    part = made(start=0.0)
    values = torch.randn(3, 7, 5).double().requires_grad_()
    given = sequences(values, lengths)
    memory = part(given)
    names = [name for name, _ in part.named_parameters()]
    everything = [values, *part.parameters()]
    states = torch.autograd.grad((memory.keys * given.mask.unsqueeze(-1)).square().sum() + memory.summary.sum(),
                                 everything, allow_unused=True)  # fmt: skip
    taught = {name for name, slope in zip(["x", *names], states, strict=True) if slope is not None and slope.any()}
    assert taught == {"x", *(name for name in names if name.startswith("W"))}
    for place, choice in enumerate(memory.choices):
        earned = choice.log_prob.sum() + choice.entropy.sum()
        policy = torch.autograd.grad(earned, everything, retain_graph=True, allow_unused=True)
        taught = {name for name, slope in zip(["x", *names], policy, strict=True) if slope is not None and slope.any()}
        assert taught == {name for name in names if name.startswith("policies")}
        for slope in policy[-4:]:
            assert slope[place].any()
            assert not slope[1 - place].any()


def test_padding_and_neighbours_change_no_choice() -> None:
    part, given = made(start=0.0).eval(), sequences(torch.randn(3, 7, 5).double(), lengths)
    filled = given.values.masked_fill(~given.mask.unsqueeze(-1), float("nan"))
    one, other = part(given), part(Sequences(filled, given.mask, given.lengths))
    assert torch.equal(chosen_of(one), chosen_of(other))
    assert torch.equal(one.keys[given.mask], other.keys[given.mask])


@pytest.mark.parametrize(("soft", "policy"), [(-0.1, 0.1), (0.5, -0.1), (0.6, 0.5), (float("nan"), 0.1)])
def test_shares_that_are_none_are_refused(soft: float, policy: float) -> None:
    with pytest.raises(RegardError, match=r"^(encoder\.soft=|soft: got|policy: got)"):
        Resan(5, soft=soft, policy=policy)


def test_the_policies_add_half_a_million() -> None:
    """On SNLI 3.1m where DiSAN has 2.4m: two selectors of 900 × 300."""
    count = sum(p.numel() for p in Resan(300).parameters()) - sum(p.numel() for p in Disan(300).parameters())
    assert count == 2 * (900 * 300 + 300 + 300 + 1)
