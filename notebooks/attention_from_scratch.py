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
# A network reads a sequence and writes another. While it writes, it needs to know what it read. How should it be told?
# There are four answers, each mending what was wrong with the one before:
#
# 1. **One vector for all.** Squeeze the whole input into a vector; show it at every step.
# 2. **A new encoding for every step.** Read the whole input again each time, knowing what is needed now.
# 3. **Hard attention.** Do not encode at all: pick the *one* item that fits, and show that.
# 4. **Soft attention.** Pick all of them a little: a weighted mean, which can be differentiated.
#
# We write each by hand, hold it against the part of `regard` that does the same, and let the four race at a task that
# looks easy: writing a word backwards.

# %%
import builtins
import os
import time

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from regard import Attention, AttentionMap
from regard.attend.normalizer.argmax import Argmax
from regard.attend.normalizer.softmax import Softmax
from regard.attend.normalizer.straight_through import StraightThrough
from regard.attend.score.additive import Additive
from regard.attend.score.dot import Dot
from regard.predict.generate.plain import Plain
from regard.types import Memory, Token

show = getattr(builtins, "display", print)  # in Jupyter a picture, in a terminal the same drawn with letters
seconds = float(os.environ.get("REGARD_NOTEBOOK_TIME", "inf"))  # at most so long for each of the four
torch.manual_seed(1)
torch.set_num_threads(1)  # these networks are too small to share out

# %% [markdown]
# ## By hand: a query, some keys, an answer
#
# Someone asks (the **query**), and every item of the input has a label (its **key**). How well the two fit is their dot
# product, the **score**. Four items with keys of size 3:

# %%
keys = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 2.0]])
query = np.array([0.0, 1.0, 0.5])
scores = keys @ query
print(scores)
assert scores.tolist() == [0.0, 2.0, 1.5, 1.0]

# %% [markdown]
# **Hard**: the item with the largest score is the answer, all of it, and nothing else.

# %%
hard = keys[scores.argmax()]
print(hard)

# %% [markdown]
# **Soft**: the scores become weights that are positive and sum to one (the softmax), and the answer is the mean of
# the items under these weights. It lies *between* the items, so they had better be such that a mean still means
# something. That is why soft attention wants encoded items, while hard attention is content with raw ones.

# %%
weights = np.exp(scores) / np.exp(scores).sum()
soft = weights @ keys
print(weights.round(3), soft.round(3))
assert np.isclose(weights.sum(), 1)
assert ((keys.min(0) <= soft) & (soft <= keys.max(0))).all()

# %% [markdown]
# In `regard` the same is a score and a normalizer put together, and the numbers are the same. A *look* is what comes
# back: the answer, and the weights if you ask for them.


# %%
def batch_of_one(array):
    return torch.tensor(array)[None]


for normalizer, by_hand in ((Argmax(), hard), (Softmax(), soft)):
    attention = Attention(Dot(query=3, key=3), normalizer)
    look = attention(batch_of_one(query[None]), attention.prepare(batch_of_one(keys)))
    print(type(normalizer).__name__, look.weights[0, 0].numpy().round(3), look.context[0, 0].numpy().round(3))
    assert np.allclose(look.context[0, 0].numpy(), by_hand)

# %% [markdown]
# A dot product compares only what has the same size and the same meaning. The **additive** score (Bahdanau 2014) learns
# to compare anything: $e_i = w^\top \tanh(W_q q + b + W_k k_i)$. By hand again, with the weights of `regard`'s part:

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
# Why not always hard? Ask how the answer changes if the query moves a little. Soft attention moves with it. Hard
# attention does not move at all, until it jumps: its gradient is zero, and nothing can be learned through it.

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
# One way around is a white lie, the **straight-through** estimator: go forward as if hard, come back as if soft.
# (Others: draw the choice and learn from how it turned out, which `regard.attend.reinforce` does.)

# %% [markdown]
# ## One vector for all, by hand
#
# The oldest of the four needs no attention. A recurrent network, here a GRU, gets the last letter it wrote and the same
# vector $c$ at every step. `regard` calls it the plain decoder. Its arithmetic in NumPy, to see that there is no magic:


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
# ## The race
#
# Words of 3 to 10 random letters, to be written backwards. All four share the same writer: a GRU that gets its last
# letter and a *context*, and says the next letter. They differ in `context` alone, the few lines to read below.

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
# Each gets the same 800 batches of 64 words. (With `REGARD_NOTEBOOK_TIME` set, so many seconds at most.)


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


models, shares = {}, {}
for kind in (OneVector, Conditioned, Hard, Soft):
    models[kind], steps, took = taught(kind)
    shares[kind] = {length: right(models[kind], length) for length in (3, 6, 10, 13)}
    told = "  ".join(f"{length} letters {share:4.0%}" for length, share in shares[kind].items())
    print(f"{kind.__name__:12} {steps} batches in {took:3.0f} s   {told}")

# %% [markdown]
# Read the table from left to right. The longer the word, the more a single vector has to hold, and the more it loses.
# Encoding anew for every step has a vector to itself for each letter, but has to read the whole word for each letter it
# writes: look at what it costs. The two attentions have nothing to squeeze. No training word had 13 letters, so the
# last column asks whether *the way of doing it* was learned; the hard one has never met the keys of those places.

# %%
if seconds >= 60:
    assert shares[OneVector][10] < shares[OneVector][3]
    assert min(shares[Hard][10], shares[Soft][10]) > 0.9 > shares[OneVector][10]

# %% [markdown]
# ## Where they looked
#
# An attention can be watched. Rows are the letters written, columns the letters read.


# %%
@torch.no_grad()
def gaze(model, text):
    word = torch.tensor([[alphabet.index(letter) for letter in text]])
    logits, looks = model(word, word.flip(1))
    rows = [alphabet[number] for number in logits[0].argmax(-1).tolist()]
    seen = torch.cat([look.weights[0] for look in looks]).numpy()
    return AttentionMap(seen, tuple(map(Token, rows)), tuple(map(Token, text)), title=f"{type(model).__name__}: {text}")


for kind in (Hard, Soft):
    show(gaze(models[kind], "flachse"))

# %% [markdown]
# Where the training was long enough, both walk the word from its end to its beginning, and nobody told them to. The
# hard one has a single black square in every row; the soft one may spread, and may also look *beside* the letter it
# needs, for what it sees there are states of readers that have already read the neighbours.

# %%
for kind in (Hard, Soft):
    seen = gaze(models[kind], "flachse").weights
    assert np.allclose(seen.sum(-1), 1, atol=1e-5)
    assert kind is Soft or set(seen.ravel().tolist()) == {0.0, 1.0}
    walked = seen.argmax(-1).tolist() == [6, 5, 4, 3, 2, 1, 0]
    print(kind.__name__, "walks straight back" if walked else f"goes {seen.argmax(-1).tolist()}")

# %% [markdown]
# ## What it costs
#
# For $n$ letters in and $m$ out, one vector takes $n + m$ steps of a network. Attention takes those and $n \cdot m$ dot
# products, cheap and all at once. Encoding anew takes $n \cdot m$ steps of a *network*, one after the other. That is
# why the fourth prototype, and not the second, is what everyone uses. Next: `a_translator.py`, where it does real work.
