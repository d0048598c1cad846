# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Attention from scratch
#
# A network reads one sequence and writes another. How does it get at the input while it writes? There are four answers,
# and each fixes a problem of the one before:
#
# 1. **One vector.** Encode the whole input as one vector and show it at every step.
# 2. **A new encoding at every step.** Read the whole input again, knowing what is needed now.
# 3. **Hard attention.** Do not encode: select the *one* item that fits.
# 4. **Soft attention.** Take a weighted mean of all items, which is differentiable.
#
# We write each by hand, compare it with the same part of `regard`, and train all four on a task that looks easy:
# reversing a word.

# %%
import builtins
import os
import time

import numpy as np
import torch
from exercises import exercise
from torch import nn
from torch.nn.functional import cross_entropy

from regard import Attention, AttentionMap
from regard.attend.normalizer.argmax import Argmax
from regard.attend.normalizer.softmax import Softmax
from regard.attend.normalizer.straight_through import StraightThrough
from regard.attend.score.additive import Additive
from regard.attend.score.bilinear import Bilinear
from regard.attend.score.dot import Dot
from regard.predict.generate.plain import Plain
from regard.regions import Token
from regard.types import Memory

show = getattr(builtins, "display", print)  # a picture in Jupyter, text in a terminal
seconds = float(os.environ.get("REGARD_NOTEBOOK_TIME", "inf"))  # at most so long for each of the four
torch.manual_seed(1)
torch.set_num_threads(1)  # these networks are too small to share out

# %% [markdown]
# ## By hand: a query, some keys, a result
#
# Every item of the input has a **key**. The dot product of the **query** and a key is the **score**: how well they
# match. Four items with keys of size 3:

# %%
keys = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 2.0]])
query = np.array([0.0, 1.0, 0.5])
scores = keys @ query
print(scores)
assert scores.tolist() == [0.0, 2.0, 1.5, 1.0]

# %% [markdown]
# **Hard**: the result is the item with the highest score.

# %%
hard = keys[scores.argmax()]
print(hard)

# %% [markdown]
# **Soft**: the softmax turns the scores into weights that are positive and sum to one, and the result is the weighted
# mean of the items. It lies *between* the items, so a mean has to make sense. That is why soft attention needs encoded
# items, while hard attention works with raw ones.

# %%
weights = np.exp(scores) / np.exp(scores).sum()
soft = weights @ keys
print(weights.round(3), soft.round(3))
assert np.isclose(weights.sum(), 1)
assert ((keys.min(0) <= soft) & (soft <= keys.max(0))).all()

# %% [markdown]
# In `regard` this is a score and a normalizer, with the same result. Attention returns a *look*: the context vector,
# and the weights if you read them.


# %%
def batch_of_one(array):
    return torch.tensor(array)[None]


for normalizer, by_hand in ((Argmax(), hard), (Softmax(), soft)):
    attention = Attention(Dot(query=3, key=3), normalizer)
    look = attention(batch_of_one(query[None]), attention.prepare(batch_of_one(keys)))
    print(type(normalizer).__name__, look.weights[0, 0].numpy().round(3), look.context[0, 0].numpy().round(3))
    assert np.allclose(look.context[0, 0].numpy(), by_hand)

# %% [markdown]
# A dot product compares vectors of the same size and meaning. The **additive** score (Bahdanau 2014) learns to compare
# anything: $e_i = w^\top \tanh(W_q q + b + W_k k_i)$. By hand again, with the weights of `regard`'s part:

# %%
additive = Additive(query=3, key=3, hidden=5)
attention = Attention(additive, Softmax()).double()
look = attention(batch_of_one(query[None]), attention.prepare(batch_of_one(keys)))

W_q, b, W_k, w = (p.detach().numpy() for p in (additive.W_q.weight, additive.W_q.bias, additive.W_k.weight, additive.w))
scores = np.tanh(query @ W_q.T + b + keys @ W_k.T) @ w
weights = np.exp(scores) / np.exp(scores).sum()
print(weights.round(4), look.weights[0, 0].detach().numpy().round(4))
assert np.allclose(weights, look.weights[0, 0].detach().numpy())
assert np.allclose(weights @ keys, look.context[0, 0].detach().numpy())

# %% [markdown]
# Why not always hard? Move the query a little. Soft attention moves with it. Hard attention does not move at all, until
# it jumps: its gradient is zero, so nothing can be learned through it.

# %%
for normalizer in (Softmax(), Argmax()):
    asked = batch_of_one(query[None]).requires_grad_()
    attention = Attention(Dot(query=3, key=3), normalizer)
    answer = attention(asked, attention.prepare(batch_of_one(keys))).context.sum()
    if answer.requires_grad:
        answer.backward()
    print(type(normalizer).__name__, "nothing comes back" if asked.grad is None else asked.grad[0, 0].numpy().round(3))
    assert (asked.grad is None) is isinstance(normalizer, Argmax)

# %% [markdown]
# One way around it is the **straight-through** estimator: hard in the forward pass, soft in the backward pass.
# Another is to sample the choice and learn from its reward, as in `regard.attend.reinforce`.

# %% [markdown]
# ## One vector, by hand
#
# The oldest of the four has no attention. A recurrent network, here a GRU, gets its last letter and the same vector $c$
# at every step. `regard` calls it the plain decoder. In NumPy:


# %%
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(x, s, W, U, b, d):
    """One step: a reset gate r, an update gate z, a candidate n; the new state lies between n and the old."""
    (rx, zx, nx), (rs, zs, ns) = np.split(W @ x + b, 3), np.split(U @ s + d, 3)
    r, z = sigmoid(rx + rs), sigmoid(zx + zs)
    return (1 - z) * np.tanh(nx + r * ns) + z * s


plain = Plain(vocab=7, summary=4, context="every", embed=5, hidden=6).double().eval()
c = torch.randn(1, 4, dtype=torch.float64)
memory = Memory(torch.zeros(1, 0, 4).double(), torch.zeros(1, 0, 4).double(), summary=c)
written = [1, 3, 5]
_, logits = plain.unroll(memory, torch.tensor([written]))

E = plain.embedding.weight.detach().numpy()
numbers = [p.detach().numpy() for p in plain.rnn.parameters()]  # W, U and the two biases
s = np.zeros(6)
for step, letter in enumerate(written):
    s = gru(np.concatenate([E[letter], c[0].numpy()]), s, *numbers)
    r = np.tanh(plain.readout.weight.detach().numpy() @ s + plain.readout.bias.detach().numpy())
    assert np.allclose(E @ r, logits[0, step].detach().numpy())
print("three steps of a GRU by hand agree with regard's plain decoder")

# %% [markdown]
# ## The comparison
#
# The task: reverse words of 3 to 10 random letters. All four share a decoder, a GRU that reads its last letter and a
# *context* and predicts the next letter. They differ only in `context`.

# %%
LETTERS, SIZE = 20, 48
alphabet = "_" + "abcdefghijklmnopqrs"


def words(count, length):
    return torch.randint(1, LETTERS, (count, length))


class Writer(nn.Module):
    """What the four have in common. `context(state, read)` is what they differ in."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, SIZE)
        self.begin = nn.Parameter(torch.randn(SIZE))
        self.cell = nn.GRUCell(2 * SIZE, SIZE)
        self.say = nn.Linear(2 * SIZE, LETTERS)

    def forward(self, word, target):
        read = self.read(self.letters(word))
        state, last = self.begin.expand(len(word), SIZE), torch.zeros_like(word[:, 0])
        logits, looks = [], []
        for t in range(target.shape[1]):
            context, look = self.context(state, read)
            logits.append(self.say(torch.cat([state, context], dim=-1)))
            looks.append(look)
            state = self.cell(torch.cat([self.letters(last), context], dim=-1), state)
            last = target[:, t]  # the true letter, as a teacher would whisper it
        return torch.stack(logits, dim=1), looks


def both_ways(inputs):
    """A GRU that reads from the left and one that reads from the right."""
    return nn.GRU(inputs, SIZE // 2, batch_first=True, bidirectional=True)


class OneVector(Writer):
    """1. All that is known of the word is the last state of each reader."""

    def __init__(self):
        super().__init__()
        self.reader = both_ways(SIZE)

    def read(self, word):
        return torch.cat([*self.reader(word)[1]], dim=-1)

    def context(self, state, read):
        return read, None


class Conditioned(Writer):
    """2. The word is read anew for every letter, by readers that know the writer's state."""

    def __init__(self):
        super().__init__()
        self.reader = both_ways(2 * SIZE)

    def read(self, word):
        return word

    def context(self, state, read):
        told = torch.cat([read, state[:, None].expand_as(read)], dim=-1)
        return torch.cat([*self.reader(told)[1]], dim=-1), None


class Hard(Writer):
    """3. One letter of the word as it is. Its key is the letter and its place, counted from the end."""

    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(16, SIZE)
        self.attention = Attention(Dot(query=SIZE, key=SIZE), StraightThrough())

    def read(self, word):
        from_the_end = torch.arange(word.shape[1]).flip(0)
        return self.attention.prepare(word + self.places(from_the_end), word)

    def context(self, state, read):
        look = self.attention(state[:, None], read)
        return look.context[:, 0], look


class Soft(Writer):
    """4. A mean of what the readers thought at every letter. Keys and values are the same vectors."""

    def __init__(self):
        super().__init__()
        self.reader = both_ways(SIZE)
        self.attention = Attention(Dot(query=SIZE, key=SIZE), Softmax())

    def read(self, word):
        return self.attention.prepare(self.reader(word)[0])

    def context(self, state, read):
        look = self.attention(state[:, None], read)
        return look.context[:, 0], look


# %% [markdown]
# Each gets the same 800 batches of 64 words. (`REGARD_NOTEBOOK_TIME` limits the seconds.)


# %%
def taught(kind, steps=800):
    torch.manual_seed(0)
    model, began, done = kind(), time.monotonic(), 0
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    while done < steps and time.monotonic() - began < seconds:
        word = words(64, int(torch.randint(3, 11, ())))
        logits, _ = model(word, word.flip(1))
        loss = cross_entropy(logits.flatten(0, 1), word.flip(1).flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        done += 1
    return model.eval(), done, time.monotonic() - began


@torch.no_grad()
def right(model, length):
    """The share of letters that are right, in 400 words of this length that it has most likely never met."""
    word = words(400, length)
    return float((model(word, word.flip(1))[0].argmax(-1) == word.flip(1)).float().mean())


models, shares, times = {}, {}, []
for kind in (OneVector, Conditioned, Hard, Soft):
    models[kind], steps, took = taught(kind)
    times.append(took)
    shares[kind] = {length: right(models[kind], length) for length in (3, 6, 10, 13)}
    told = "  ".join(f"{length} letters {share:4.0%}" for length, share in shares[kind].items())
    print(f"{kind.__name__:12} {steps} batches, {took / times[0]:3.1f} × the time of the first   {told}")

# %% [markdown]
# Read the table from left to right. The longer the word, the more a single vector has to hold, and the more it loses.
# A new encoding at every step does better, but reads the whole word for each letter: see the cost. Attention needs no
# compression. No training word had 13 letters, so the last column tests generalisation; hard attention has never seen
# the keys of those positions.

# %%
if seconds >= 60:
    assert shares[OneVector][10] < shares[OneVector][3]
    assert min(shares[Hard][10], shares[Soft][10]) > 0.9 > shares[OneVector][10]

# %% [markdown]
# ## Attention weights
#
# Rows are the letters written, columns the letters read.


# %%
@torch.no_grad()
def attention_map(model, text):
    word = torch.tensor([[alphabet.index(letter) for letter in text]])
    logits, looks = model(word, word.flip(1))
    rows = [alphabet[number] for number in logits[0].argmax(-1).tolist()]
    seen = torch.cat([look.weights[0] for look in looks]).numpy()
    return AttentionMap(seen, tuple(map(Token, rows)), tuple(map(Token, text)), title=f"{type(model).__name__}: {text}")


for kind in (Hard, Soft):
    show(attention_map(models[kind], "flachse"))

# %% [markdown]
# After enough training, both go through the word from its end to its beginning. Hard attention has a single black
# square in every row. Soft attention may spread, and may also look *next to* the letter it needs, since the states
# there contain their neighbours.

# %%
for kind in (Hard, Soft):
    seen = attention_map(models[kind], "flachse").weights
    assert np.allclose(seen.sum(-1), 1, atol=1e-5)
    assert kind is Soft or set(seen.ravel().tolist()) == {0.0, 1.0}
    walked = seen.argmax(-1).tolist() == [6, 5, 4, 3, 2, 1, 0]
    print(kind.__name__, "walks straight back" if walked else f"goes {seen.argmax(-1).tolist()}")

# %% [markdown]
# ## What it costs
#
# For $n$ letters in and $m$ out, one vector takes $n + m$ steps of a network. Attention takes these and $n \cdot m$ dot
# products, which are cheap and run in parallel. A new encoding takes $n \cdot m$ sequential steps of a *network*. That
# is why everyone uses the fourth. Next: `a_translator.py`, which applies it.

# %% [markdown]
# ## Exercises
#
# Replace `raise NotImplementedError` by your answer and run the cell and the check below it. A wrong answer gets a
# hint. Solutions are in `solutions/attention_from_scratch.py`.

# %% [markdown]
# **1. Entropy.** How far are weights spread? Compute the entropy of each row in bits: $-\sum_i w_i \log_2 w_i$, where
# $0 \cdot \log_2 0$ counts as 0. The rows are along the last axis, whatever axes stand before it.


# %%
def entropy(weights):
    raise NotImplementedError


# %%
@exercise(1)
def check_1():
    found = entropy(np.array([[0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]))
    assert np.shape(found) == (2,), f"two rows have two entropies; yours have the shape {np.shape(found)}"
    assert not np.isnan(found).any(), "0 · log 0 became NaN: leave the zeros out of the logarithm"
    assert np.isclose(found[0], 0), f"all weight on one item is 0 bits, not {found[0]:.3f}"
    assert np.isclose(found[1], 2), f"equal weights on four items are 2 bits, not {found[1]:.3f}: is the base 2?"
    assert np.shape(entropy(np.full((2, 3, 4), 0.25))) == (2, 3), "sum over the last axis alone"


# %% [markdown]
# **2. Temperature.** Divide the scores by a temperature before the softmax. A low one makes attention harder, a high
# one spreads it. Scores may be large (1000 and more), and `np.exp(1000)` is too large for a computer.


# %%
def soften(scores, temperature):
    raise NotImplementedError


# %%
@exercise(2)
def check_2():
    some = np.array([0.0, 2.0, 1.5, 1.0])
    usual = np.exp(some) / np.exp(some).sum()
    assert np.allclose(soften(some, 1.0), usual), "a temperature of 1 is the usual softmax"
    cold, hot = soften(some, 0.01), soften(some, 1000.0)
    assert np.allclose(cold, [0, 1, 0, 0]), f"at 0.01 all weight is on the highest score; you have {cold.round(3)}"
    assert np.allclose(hot, 0.25, atol=0.01), f"at 1000 the weights are nearly equal; you have {hot.round(3)}"
    large = soften(some + 1000, 1.0)
    assert np.allclose(large, usual), "1000 more on every score changes no weight: subtract the highest score first"


# %% [markdown]
# **3. A mask.** Sentences of a batch differ in length, and the short ones are padded. `allowed` is True for items that
# may be attended to. All others get a weight of exactly 0, whatever their score is, and the rest sums to 1. If no item
# is allowed, all weights are 0.


# %%
def masked_softmax(scores, allowed):
    raise NotImplementedError


# %%
@exercise(3)
def check_3():
    some, allowed = np.array([0.0, 2.0, 1.5, 1.0]), np.array([True, False, True, True])
    before = some.copy()
    found = masked_softmax(some, allowed)
    assert (some == before).all(), "you changed the scores that you were given: work on a copy"
    assert found[1] == 0, f"what is not allowed has a weight of exactly 0, not {found[1]}"
    assert np.isclose(found.sum(), 1), f"the weights sum to 1, yours to {found.sum():.3f}: mask before you normalize"
    look = Attention(Dot(query=3, key=3), Softmax())
    memory = look.prepare(batch_of_one(keys), mask=torch.tensor(allowed)[None])
    theirs = look(batch_of_one(query[None]), memory).weights[0, 0].numpy()
    assert np.allclose(found, theirs), f"regard has {theirs.round(3)}, you have {found.round(3)}"
    huge = masked_softmax(np.array([0.0, np.inf, 1.5, 1.0]), allowed)
    assert np.allclose(huge, found), f"a masked score does not matter, not even infinity; you have {huge}"
    nothing = masked_softmax(some, np.zeros(4, dtype=bool))
    assert (nothing == 0).all(), f"where nothing is allowed all weights are 0; you have {nothing}"


# %% [markdown]
# **4. The bilinear score.** $e_i = q^\top W k_i$ (Luong 2015) compares vectors of different sizes. Compute the scores
# of all keys without a loop. `W` has a row for each number of the query and a column for each number of a key.


# %%
def bilinear(query, keys, W):
    raise NotImplementedError


# %%
@exercise(4)
def check_4():
    torch.manual_seed(4)
    part = Bilinear(query=2, key=3).double()
    W = part.W.weight.detach().numpy()
    asked = np.array([1.0, -2.0])
    found = bilinear(asked, keys, W)
    assert np.shape(found) == (4,), f"four keys have four scores; yours have the shape {np.shape(found)}"
    one = sum(asked[i] * W[i, j] * keys[1, j] for i in range(2) for j in range(3))
    assert np.isclose(found[1], one), f"the second key scores {one:.4f}, not {found[1]:.4f}"
    attention = Attention(part, Softmax())
    look = attention(batch_of_one(asked[None]), attention.prepare(batch_of_one(keys)))
    weights = np.exp(found) / np.exp(found).sum()
    assert np.allclose(weights, look.weights[0, 0].detach().numpy()), "the weights differ from those of regard's part"


# %% [markdown]
# **5. The gradient by hand.** The context is $c = \sum_i w_i k_i$ with $w = \mathrm{softmax}(K q)$. If $g$ is the
# gradient of a loss with respect to $c$, what is its gradient with respect to the query $q$? Write it with NumPy alone.
# (First show that $\partial w_i / \partial e_j = w_i (\delta_{ij} - w_j)$.)


# %%
def query_gradient(query, keys, g):
    raise NotImplementedError


# %%
@exercise(5)
def check_5():
    g = np.array([1.0, -0.5, 2.0])
    found = query_gradient(query, keys, g)
    assert np.shape(found) == query.shape, f"the gradient has the shape of the query, not {np.shape(found)}"
    asked = batch_of_one(query[None]).requires_grad_()
    attention = Attention(Dot(query=3, key=3), Softmax())
    (attention(asked, attention.prepare(batch_of_one(keys))).context[0, 0] @ torch.tensor(g)).backward()
    theirs = asked.grad[0, 0].numpy()
    assert np.allclose(found, theirs), f"autograd has {theirs.round(4)}, you have {np.round(found, 4)}"
    alone = query_gradient(query, keys[:1], g)
    assert np.allclose(alone, 0), "with a single key the weight is always 1: the query changes nothing"


# %% [markdown]
# **6. A writer of your own.** Write the network of Bahdanau 2014: as `Soft`, but with the additive score. The score has
# its own parameters, so it can compare a state and a reader's vector in any way. (`Additive(query=…, key=…,
# hidden=…)`.)


# %%
class Bahdanau(Writer):
    def __init__(self):
        super().__init__()
        raise NotImplementedError

    def read(self, word):
        raise NotImplementedError

    def context(self, state, read):
        raise NotImplementedError


# %%
@exercise(6)
def check_6():
    torch.manual_seed(6)
    model, word = Bahdanau(), words(5, 7)
    logits, looks = model(word, word.flip(1))
    assert logits.shape == (5, 7, LETTERS), f"logits of 5 words of 7 letters, not of the shape {tuple(logits.shape)}"
    assert all(look is not None for look in looks), "`context` returns the context and the look"
    seen = torch.cat([look.weights for look in looks], dim=1)
    assert seen.shape == (5, 7, 7), f"7 × 7 weights for each word, not {tuple(seen.shape)}"
    assert torch.allclose(seen.sum(-1), torch.ones(5, 7), atol=1e-5), "each row of weights sums to 1"
    kinds = [type(part) for part in model.modules()]
    assert Additive in kinds, "the score is not additive"
    assert nn.GRU in kinds, "nothing has read the word: a letter alone does not know its place"
    logits.sum().backward()
    silent = [name for name, p in model.named_parameters() if p.grad is None]
    assert not silent, f"nothing can be learned in {', '.join(silent)}: no gradient arrives there"
    if seconds >= 60:
        share, plain = right(taught(Bahdanau)[0], 10), shares[OneVector][10]
        print(f"{share:.0%} of the letters of words of 10 letters; one vector: {plain:.0%}")
        assert share > plain + 0.1, "after training it is hardly better than a single vector: does it attend?"
