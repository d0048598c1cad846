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
# # Training and inspecting a translator
#
# We translate dates in about sixty languages to ISO format: *Dienstag, 5. März 2024* becomes `2024-03-05`. It is a
# small but real translation task, with reordering, names and spelling variants. And we know where every digit comes
# from, so we can check the attention weights. We train a model for a minute, look at its attention, extract alignments,
# follow its beam search, and test what the weights tell us.

# %%
import builtins
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from exercises import exercise

import regard
from regard.data.builtin.dates import Dates
from regard.look.align import Gold, by_word, choose, scores, words
from regard.regions import Token

show = getattr(builtins, "display", print)  # a picture in Jupyter, text in a terminal
seconds = float(os.environ.get("REGARD_NOTEBOOK_TIME", "90"))  # of training
enough = seconds >= 60  # trained long enough for the claims below to be asserted
folder = Path("runs/notebook")

# %% [markdown]
# ## The data
#
# `regard` generates these dates. An example has an input, a target and *links* from characters of the target to
# characters of the input. We write the pairs to files, one per line, like your own data.

# %%
held = min(300, 20 + int(10 * seconds))
dates = Dates(train=int(400 * min(seconds, 90)), valid=held, test=held).splits()
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
# It reads and writes characters. The **encoder**, a bidirectional GRU, turns each character into a vector that
# contains its neighbours. **Attention** with the additive score lets the **decoder** look at them for every character
# it writes. Each of the four lines can be changed; `regard list` shows the choices.

# %%
trained = regard.train(
    "translate",
    data=str(folder),
    out=folder / "dates",
    fresh=True,
    quiet=True,
    source={"tokenizer": "character", "embed": {"dim": 64, "dropout": 0.0}},
    target={"tokenizer": "character"},
    encoder={"name": "recurrent", "hidden": 128, "layers": 1, "dropout": 0.0},
    attention={"score": {"name": "additive", "hidden": 64}, "normalizer": "softmax"},
    decoder={"name": "recurrent", "embed": 64, "hidden": 128, "dropout": 0.0},
    label_smoothing=0.0,
    metrics=["exact_match", "alignment"],
    best_metric="exact_match",
    train={"epochs": 8, "time": f"{seconds:g}s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
)
model = trained.model
print(model)

# %% [markdown]
# How good is it on unseen days? `exact_match` is the share of dates that are completely right. Since the examples have
# links, we also get the alignment accuracy, `alignment`: for the digits of correct predictions, how often the highest
# weight is on a character that the digit comes from.

# %%
figures = model.evaluate(dates.test)
print({name: round(float(value), 3) for name, value in figures.items()})
if enough:
    assert float(figures["exact_match"]) > 0.8
    assert float(figures["alignment"]) > 0.7

# %% [markdown]
# ## Attention weights
#
# A prediction has more than text. Rows are output characters, columns input characters; darker means more weight.

# %%
text = "Dienstag, 5. März 2024"
prediction = model(text)
print(prediction.text, f"(log_prob {prediction.log_prob:.3f}, per token {prediction.log_prob_per_token:.3f})")
show(prediction.look)

# %% [markdown]
# A date of the test set, with the true links outlined (in pictures, not in a terminal).

# %%
answers = model.predict([(example.source,) for example in dates.test])
pairs = list(zip(dates.test, answers, strict=True))
right = [pair for pair in pairs if pair[1].text == pair[0].target and "A" <= pair[0].source[:1] <= "z"]
example, answer = right[0] if right else pairs[0]
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
# ## Alignment
#
# Summed over the characters of each input word, and averaged over the digits of each output field, the weights become
# an alignment: the word with the highest weight for each field.

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
# ## Beam search
#
# Beam search keeps several hypotheses at each step. With `trace=True` a prediction keeps every step. A `*` marks a
# finished hypothesis.

# %%
watched = model(text, trace=True, beam_size=3, look=False)
assert watched.text == model(text, beam_size=3, look=False).text  # being watched changes nothing
for number, step in enumerate(watched.steps, 1):
    told = "   ".join(f"{''.join(one.tokens)}{'*' * one.ended} {np.exp(one.log_prob):.2f}" for one in step[:3])
    print(f"{number:2}  {told}")

# %% [markdown]
# The numbers are probabilities, so they fall along the way. Every hypothesis knows its parent, so we can trace the
# winner back to its first character. The winner has the best log-probability per token; without the division by length,
# short outputs would win. The search may continue after the winner has finished, until nothing can beat it.

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
# ## What the weights explain
#
# It is tempting to read the picture as an explanation: *it wrote 03 because it looked at März*. The weights do say how
# the vectors were added. Whether they *explain* the output takes an experiment: change the input and see what changes.

# %%
for changed in ("Dienstag, 5. März 2024", "5. März 2024", "Dienstag, 5. Mai 2024", "Dienstag, 5. Mrz 2024"):
    print(f"{changed:24} → {model(changed, look=False).text}")

# %% [markdown]
# Now many times. For each correct prediction of the test set we take the digits of the month and delete the character
# with the *highest* weight, or the one with the *lowest*. If the weights point at what matters, the first should change
# the month more often.


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
    changed = sum(new.text[5:7] != old[5:7] for new, (_, old) in zip(found, pairs, strict=True))
    return changed / max(len(pairs), 1)


share_most, share_least = broken(most), broken(least)
print(f"{len(most)} right answers; another month without the character of the highest weight: {share_most:.0%}")
print(f"{'':{len(str(len(most)))}}                without the character of the lowest weight: {share_least:.0%}")
if enough:
    assert share_most > share_least
    assert share_most < 1  # what is looked at most may not matter

# %% [markdown]
# So the weights mean something: characters with more weight matter more. But they are not the whole story. Without the
# character with the highest weight, the model often predicts the same, because the encoder's vectors contain their
# neighbours: weight on one letter of *März* is weight on the word. And sometimes a character with hardly any weight
# changes the month. Weights say where the model looked; only an experiment says what it would have done otherwise.
# `regard faithful` runs such experiments.

# %% [markdown]
# ## Exercises
#
# Replace `raise NotImplementedError` by your answer and run the cell and the check below it. A wrong answer gets a
# hint. Solutions are in `solutions/a_translator.py`.

# %% [markdown]
# **1. Which field is wrong?** Compare two dates like `2024-03-05` and return the set of fields that differ: `"year"`,
# `"month"`, `"day"`. A prediction that does not have the form of a date is wrong in all three. Which field does the
# model find hardest?


# %%
def wrong_fields(predicted, right):
    raise NotImplementedError


# %%
@exercise(1)
def check_1():
    for predicted, expected in (
        ("2024-03-05", set()),
        ("2024-03-15", {"day"}),
        ("2023-05-05", {"year", "month"}),
        ("2024-03", {"year", "month", "day"}),
        ("2024-03-0", {"year", "month", "day"}),
        ("", {"year", "month", "day"}),
    ):
        found = wrong_fields(predicted, "2024-03-05")
        assert found == expected, f"{predicted!r} for '2024-03-05': expected {expected or 'nothing'}, got {found}"
    counts = dict.fromkeys(("year", "month", "day"), 0)
    for example, answer in pairs:
        for field in wrong_fields(answer.text, example.target):
            counts[field] += 1
    print(f"wrong in {len(pairs)} dates: {counts}")


# %% [markdown]
# **2. Alignment error rate.** Links are sets of pairs (source word, target word). With links $A$ and gold links $G$,
# the alignment error rate is $1 - 2 |A \cap G| / (|A| + |G|)$: 0 if they are the same, 1 if they have nothing in
# common. Both may be empty, which is no error.


# %%
def error_rate(links, gold):
    raise NotImplementedError


# %%
@exercise(2)
def check_2():
    gold = frozenset({(0, 2), (2, 1), (3, 0)})
    for found, expected in (
        (gold, 0.0),
        (frozenset(), 1.0),
        (frozenset({(0, 2)}), 0.5),
        (frozenset({(0, 2), (2, 1), (1, 0), (3, 3), (0, 0)}), 0.5),
    ):
        rate = error_rate(found, gold)
        assert np.isclose(rate, expected), f"links {sorted(found)}, gold {sorted(gold)}: {expected}, not {rate:.3f}"
        assert not found or np.isclose(rate, scores([found], [Gold(gold, gold)])["aer"]), "regard has another figure"
    assert error_rate(frozenset(), frozenset()) == 0, "nothing to link and nothing linked is no error"


# %% [markdown]
# **3. What was never looked at?** Sum the weights over all output characters, and return the input characters whose sum
# is below `least`, as a text. `look.weights` has a row for each of `look.rows` (output) and a column for each of
# `look.columns` (input); the last column may be a special token that is no part of the text: its `start` equals its
# `end`.


# %%
def unread(look, least=0.1):
    raise NotImplementedError


# %%
@exercise(3)
def check_3():
    letters = (Token("a", 0, 1), Token("b", 1, 2), Token("c", 2, 3), Token("</s>", 3, 3))
    weights = np.array([[0.9, 0.06, 0.04, 0.0], [0.0, 0.06, 0.94, 0.0]])
    toy = regard.AttentionMap(weights, (Token("x", 0, 1), Token("y", 1, 2)), letters)
    found = unread(toy)
    assert isinstance(found, str), f"return a text, not {type(found).__name__}"
    assert "</s>" not in found, "</s> is no part of the text"
    assert found == "", f"'b' has 0.06 + 0.06 = 0.12, which is not below 0.1: sum over rows; you have {found!r}"
    found = unread(toy, least=0.2)
    assert found == "b", f"below 0.2 there is 'b' alone, you have {found!r}"
    print("hardly read:", repr(unread(prediction.look)))


# %% [markdown]
# **4. Beam search.** `next_tokens(prefix)` gives the log-probability of each next token, `{"a": -0.7, "</s>": -1.2}`.
# Keep the `size` best prefixes at each step, set those that end in `</s>` aside, and stop when nothing is left or after
# `longest` steps. Return the finished sequence (a tuple that ends in `</s>`) with the highest sum of log-probabilities.


# %%
def beam_search(next_tokens, size, longest=10):
    raise NotImplementedError


# %%
def toy_model(prefix):
    """Greedy search takes the trap: "a" is likely, but nothing good follows it."""
    chances = {
        (): {"a": 0.6, "b": 0.4},
        ("a",): {"a": 0.4, "b": 0.3, "</s>": 0.3},
        ("b",): {"b": 0.05, "</s>": 0.95},
    }
    return {token: np.log(p) for token, p in chances.get(prefix, {"a": 0.4, "</s>": 0.6}).items()}


@exercise(4)
def check_4():
    greedy, beam = beam_search(toy_model, 1), beam_search(toy_model, 2)
    assert greedy == ("a", "a", "</s>"), f"a beam of 1 takes the best token each time: a, a, </s>; you have {greedy}"
    assert beam == ("b", "</s>"), f"a beam of 2 finds b </s>, of probability 0.38; you have {beam}"
    whole = beam_search(toy_model, 100, longest=4)
    assert whole == ("b", "</s>"), f"a beam that keeps everything finds the most likely sequence; you have {whole}"
    asked = []
    beam_search(lambda prefix: asked.append(prefix) or toy_model(prefix), 2)
    assert not [prefix for prefix in asked if "</s>" in prefix], "a sequence that has ended is not continued"


# %% [markdown]
# **5. Leave one out.** For every character of the input: by how much does the log-probability of `answer` fall when
# this character is deleted? `model.score([(source, target), …])` gives predictions with a `log_prob`. Return an array
# with a number for each character. Do the weights agree with it?


# %%
def importance(model, text, answer):
    raise NotImplementedError


# %%
@exercise(5)
def check_5():
    short, answer = "5. März 2024", "2024-03-05"
    found = np.asarray(importance(model, short, answer))
    assert found.shape == (len(short),), f"{len(short)} characters, but the shape is {found.shape}"
    whole, cut = model.score([(short, answer), (short[:3] + short[4:], answer)], look=False)
    fall = whole.log_prob - cut.log_prob
    told = f"without {short[3]!r} the log-probability falls by {fall:.3f}, you have {found[3]:.3f}"
    assert np.isclose(found[3], fall, atol=1e-3), told
    for letter, fall in zip(short, found, strict=True):
        print(f"{letter!r:5} {fall:7.3f}")


# %% [markdown]
# **6. The shortest text.** Which characters does the model really need? Delete characters one at a time, as long as the
# prediction stays the same. Return a text from which *no* further single character can be deleted. (Which character you
# try first is up to you: the one with the lowest weight?)


# %%
def shortest(model, text):
    raise NotImplementedError


# %%
@exercise(6)
def check_6():
    text = "Dienstag, 5. März 2024"
    found, answer = shortest(model, text), model(text, look=False).text
    letters = iter(text)
    assert all(letter in letters for letter in found), f"{found!r} is not {text!r} with characters deleted"
    assert found.strip(), "delete characters, but not all of them"
    assert model(found, look=False).text == answer, f"{found!r} has another prediction than {text!r}"
    further = [found[:i] + found[i + 1 :] for i in range(len(found))]
    further = [one for one in further if one.strip()]
    kept = [one for one, new in zip(further, model.predict(further, look=False), strict=True) if new.text == answer]
    assert not kept, f"{kept[0]!r} is shorter than {found!r} and still gives {answer}"
    print(f"{found!r} is enough for {answer}")
