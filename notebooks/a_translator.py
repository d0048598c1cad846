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
# # A translator, watched at work
#
# Dates, as people write them in some sixty languages, into the one form that computers like: *Dienstag, 5. März 2024*
# becomes `2024-03-05`. It is a small translation, but a real one: words in an order of their own, names to learn,
# spellings that differ. And we know for every digit where it comes from, so we can check what the attention seems to
# say. We train a model for a minute, look at it, align it, watch its search, and ask what its weights can tell.

# %%
import builtins
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

import regard
from regard.data.builtin.dates import Dates
from regard.look.align import by_word, choose, words
from regard.types import Token

show = getattr(builtins, "display", print)  # in Jupyter a picture, in a terminal the same drawn with letters
seconds = float(os.environ.get("REGARD_NOTEBOOK_TIME", "90"))  # of training
enough = seconds >= 60  # whether what is said below of a trained model is held to be true
folder = Path("runs/notebook")

# %% [markdown]
# ## The data
#
# `regard` makes these dates itself. An example has an input, a target, and *links*: which characters of the target come
# from which characters of the input. We write the pairs to files, one a line, as you would with your own.

# %%
held = min(300, 20 + int(10 * seconds))
dates = Dates(train=int(400 * seconds), valid=held, test=held).splits()
folder.mkdir(parents=True, exist_ok=True)
for name, examples in (("train", dates.train), ("valid", dates.valid), ("test", dates.test)):
    lines = [f"{example.source}\t{example.target}\n" for example in examples]
    (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")

first = dates.train[0]
print(first.source, "→", first.target)
for link in first.links:
    print(f"  {first.target[link.target_start : link.target_end]!r:8}", end="")
    print(f"comes from {first.source[link.source_start : link.source_end]!r}")

# %% [markdown]
# ## The model
#
# It reads and writes single characters. An **encoder** (a GRU in both directions) turns each character into a vector
# that knows its neighbours; an **attention** with the additive score lets the **decoder** look at them for every
# character it writes. Four lines, each of which you can change; `regard list` says to what.

# %%
trained = regard.train(
    "translate",
    data=str(folder),
    out=folder / "dates",
    fresh=True,
    quiet=True,
    source="character",
    target="character",
    embed=64,
    encoder={"name": "recurrent", "hidden": 128, "layers": 1, "dropout": 0.0},
    attention={"score": {"name": "additive", "hidden": 64}, "normalizer": "softmax"},
    decoder={"name": "recurrent", "embed": 64, "hidden": 128, "dropout": 0.0},
    dropout=0.0,
    label_smoothing=0.0,
    metrics=["exact_match", "alignment"],
    best_metric="exact_match",
    train={"epochs": 8, "time": f"{seconds:g}s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
)
model = trained.model
print(model)

# %% [markdown]
# How good is it on days it has never met? `exact_match` is the share of dates that are right to the last digit. Because
# the examples carry their links, there is a second figure: `alignment`, of the digits of right answers, the share for
# which the character most looked at is one that the digit really comes from.

# %%
figures = model.evaluate(dates.test)
print({name: round(float(value), 3) for name, value in figures.items()})
if enough:
    assert float(figures["exact_match"]) > 0.8
    assert float(figures["alignment"]) > 0.7

# %% [markdown]
# ## Looking
#
# Ask for a translation and you get more than text. Rows are characters written, columns characters read; the darker,
# the more was looked at.

# %%
text = "Dienstag, 5. März 2024"
prediction = model(text)
print(prediction.text, f"(log_prob {prediction.log_prob:.3f}, per token {prediction.log_prob_per_token:.3f})")
show(prediction.look)

# %% [markdown]
# The same for a date of the test set, with the true links outlined (in pictures; a terminal has no lines to draw).

# %%
answers = model.predict([(example.source,) for example in dates.test])
pairs = list(zip(dates.test, answers, strict=True))
example, answer = next((pair for pair in pairs if pair[1].text == pair[0].target), pairs[0])
seen = answer.look


def inside(token, start, end):
    return max(token.start, start) < min(token.end, end)


links = tuple(
    (row, column)
    for link in example.links
    for row, written in enumerate(seen.rows)
    for column, read in enumerate(seen.columns)
    if inside(written, link.target_start, link.target_end) and inside(read, link.source_start, link.source_end)
)
show(replace(seen, links=links))

# %% [markdown]
# ## Aligning
#
# Weights between characters are more than one wants to read. Added up over the characters of each word read, and
# averaged over the digits of each field written, they become an alignment: the word each field looked at most.

# %%
fields = (Token("year", 0, 4), Token("month", 5, 7), Token("day", 8, 10))
read = words(text)
table = by_word(prediction.look.weights, prediction.look.rows, prediction.look.columns, fields, read)
print(" " * 8 + "".join(f"{word.text:>12}" for word in read))
for field, row in zip(fields, table, strict=True):
    print(f"{field.text:8}" + "".join(f"{weight:12.2f}" for weight in row))
assert (table.sum(1) <= 1 + 1e-6).all()  # the rest lies on spaces and on the end

aligned = {fields[j].text: read[i].text for i, j in choose(table)}
print(aligned)

# %% [markdown]
# ## Watching the beam
#
# The model does not write its answer down at once. It keeps a few beginnings side by side and goes on with the
# likeliest: a *beam*. With `trace=True` a prediction keeps every step. A `*` marks what ended there.

# %%
watched = model(text, trace=True, beam_size=3, look=False)
assert watched.text == model(text, beam_size=3, look=False).text  # being watched changes nothing
for number, step in enumerate(watched.steps, 1):
    told = "   ".join(f"{''.join(one.tokens)}{'*' * one.ended} {np.exp(one.log_prob):.2f}" for one in step[:3])
    print(f"{number:2}  {told}")

# %% [markdown]
# The numbers are probabilities, so they can only fall along the way. Every hypothesis knows its parent in the step
# before, so the winner can be followed back to its first character. The winner is the one that ended with the best
# mean: the log-probability is divided by the length, or the shortest answer would have it too easy. (The search may go
# on for some steps after the winner has ended, until nothing that is still under way can beat it.)

# %%
ended = [(one.log_prob / len(one.tokens), t, one) for t, step in enumerate(watched.steps) for one in step if one.ended]
mean, t, one = max(ended, key=lambda end: end[0])
assert np.isclose(mean, watched.log_prob_per_token)
path = [one]
while one.parent >= 0:
    t -= 1
    one = watched.steps[t][one.parent]
    path.insert(0, one)
print(" → ".join(one.tokens[-1] for one in path))
assert "".join(one.tokens[-1] for one in path).removesuffix("</s>") == watched.text
assert all(before.log_prob >= after.log_prob for before, after in pairwise(path))

# %% [markdown]
# ## What the weights can tell, and what they cannot
#
# It is tempting to read the picture as a reason: *it wrote 03 because it looked at März*. The picture is true in one
# sense: these are the weights with which the vectors were added. Whether they are a *reason* is a question for an
# experiment. Change the input, and see what changes in the answer.

# %%
for changed in ("Dienstag, 5. März 2024", "5. März 2024", "Dienstag, 5. Mai 2024", "Dienstag, 5. Mrz 2024"):
    print(f"{changed:24} → {model(changed, look=False).text}")

# %% [markdown]
# Now many times over. For each right answer of the test set we take the digits of the month, and delete the one
# character they look at *most*; and again the one character, of the same input, that they look at *least*. If
# the weights point at what matters, the first should break the answer more often than the second.


# %%
def without(text, token):
    return text[: token.start] + text[token.end :]


most, least = [], []
for example, answer in pairs:
    if answer.text == example.target:
        weight = answer.look.weights[5:7].mean(0)
        there = [i for i, token in enumerate(answer.look.columns) if token.start < token.end]
        ranked = sorted(there, key=lambda i: weight[i])
        least.append((without(example.source, answer.look.columns[ranked[0]]), answer.text))
        most.append((without(example.source, answer.look.columns[ranked[-1]]), answer.text))


def broken(pairs):
    found = model.predict([(text,) for text, _ in pairs], look=False)
    return sum(new.text != old for new, (_, old) in zip(found, pairs, strict=True)) / max(len(pairs), 1)


share_most, share_least = broken(most), broken(least)
print(f"{len(most)} right answers; broken without the most looked-at character: {share_most:.0%}")
print(f"{'':{len(str(len(most)))}}               without the least looked-at character: {share_least:.0%}")
if enough:
    assert share_most > share_least
    assert share_least > 0  # what is hardly looked at may matter …
    assert share_most < 1  # … and what is looked at most may not

# %% [markdown]
# So the weights are no ornament: what is looked at most matters more. But they are not the whole story either. Even
# without the very character it looked at most, the model often answers as before. That should not surprise: the
# encoder's vectors have read their neighbours, so the look at one letter of *März* is a look at the word, and the
# letters that are left may still tell which word it was. And now and then a character that was hardly looked at
# breaks the answer, for every vector has read it. A weight says where the model looked; only an experiment says what
# it would have done otherwise. `regard faithful` makes such experiments.
