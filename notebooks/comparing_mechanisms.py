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
# # Comparing mechanisms
#
# *Is attention better?* Better than what, at what, with how much training? A question like that has an answer only
# once all of this is fixed, and then it is easy: train every candidate on the same data, equally long, several times.
#
# Here the question is how to make one vector of a sentence. A network has read it in both directions and has a vector
# for each character. We may take
#
# - `last`: where each direction ended. The oldest way, and free;
# - `mean`: the mean of all of them. Nobody is asked;
# - `attention`: a weighted mean, by a query that is learned (Yang 2016). It can be looked at.
#
# The task is to say in which language a date is written. Guess before you read on.

# %%
import builtins
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import regard
from regard.data.builtin.languages import Languages

show = getattr(builtins, "display", print)  # in Jupyter a picture, in a terminal the same drawn with letters
given = os.environ.get("REGARD_NOTEBOOK_TIME")  # seconds for each training, if there is a hurry
folder = Path("runs/notebook")
pools, seeds = (("last", "mean", "attention"), 3) if given is None else (("last", "attention"), 1)

# %% [markdown]
# ## The data
#
# Made by `regard` itself, and written to files so that we may say how much of it there is.

# %%
made = Languages(train=4_000 if given is None else 1_000, valid=300, test=600 if given is None else 200).splits()
data = folder / "languages"
data.mkdir(parents=True, exist_ok=True)
for name, examples in (("train", made.train), ("valid", made.valid), ("test", made.test)):
    lines = [f"{example.source}\t{example.target}\n" for example in examples]
    (data / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")

labels = sorted({example.target for example in made.train})
print(f"{len(made.train):,} dates in {len(labels)} languages")
for example in made.train[:4]:
    print(f"  {example.target:4} {example.source}")

# %% [markdown]
# ## The contest
#
# One command. An option with several values (`pool=…`) is what is varied; the rest is the same for all. Every model is
# trained once for each seed, then timed alone. It takes a few minutes. If you stop it, the same command goes on. (In a
# program of your own, `regard.compare.contest` does the same.)

# %%
options = [
    f"pool={','.join(pools)}",
    *("text=character", "embed.dim=32", "encoder=bigru", "encoder.hidden=32", "head.hidden=32"),
    *("train.epochs=20", "train.batch_tokens=2048", "train.lr=8e-3", "train.warmup=20", "train.ema=0.9"),
]
where = folder / ("pools" if given is None else f"pools-{given}s")
command = [sys.executable, "-m", "regard", "compare", "classify", *options]
command += ["--data", str(data), "--seeds", str(seeds), "--out", str(where)]
command += [] if given is None else ["--time", f"{given}s"]
told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
print(told.split("\n\n")[0])

# %% [markdown]
# ## The table and the picture
#
# ± is the standard deviation over the seeds: how much chance alone moves the figure. Every dot is one training.


# %%
class Shown:
    """A file of the contest, as a notebook shows it and as a terminal does."""

    def __init__(self, path):
        self.path = path

    def __str__(self):
        return f"[{self.path}]" if self.path.suffix == ".png" else self.path.read_text(encoding="utf-8")

    def _repr_png_(self):
        return self.path.read_bytes() if self.path.suffix == ".png" else None

    def _repr_html_(self):
        if self.path.suffix == ".png":
            return None
        head, _, *rows = (
            line.strip("| \n").split(" | ") for line in self.path.read_text(encoding="utf-8").splitlines()
        )
        cells = ["".join(f"<th>{cell}</th>" for cell in head)]
        cells += ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


show(Shown(where / "table.md"))
show(Shown(where / "table.png"))

# %% [markdown]
# ## Who won?
#
# Not simply the first row. With a few seeds a difference means something only if it is large beside the spread; as a
# rule of thumb, twice the spread of a difference of two means. Let us ask that of every pair.

# %%
rows = json.loads((where / "table.json").read_text(encoding="utf-8"))["rows"]
assert {row["name"] for row in rows} == {f"pool={pool}" for pool in pools}
assert all(len(row["test"]) == seeds for row in rows)
means = [statistics.mean(row["test"]) for row in rows]
assert means == sorted(means, reverse=True)  # the best stands first


def variance(row):
    return statistics.variance(row["test"]) / seeds if seeds > 1 else float("nan")


for i, one in enumerate(rows):
    for j, other in enumerate(rows[:i]):
        gap, doubt = means[j] - means[i], 2 * (variance(one) + variance(other)) ** 0.5
        verdict = "one seed tells nothing" if seeds == 1 else "a difference" if gap > doubt else "could be chance"
        print(f"{other['name']} over {one['name']}: {gap:+.3f} (doubt {doubt:.3f}): {verdict}")

# %% [markdown]
# And what did it cost? An attention has parameters and work of its own.

# %%
for row in sorted(rows, key=lambda row: row["epoch_seconds"]):
    print(f"{row['name']:16} {row['parameters']:7,} parameters   {row['epoch_seconds']:.2f} s an epoch")
by_name = {row["name"]: row for row in rows}
assert by_name["pool=attention"]["parameters"] > by_name["pool=last"]["parameters"]

# %% [markdown]
# ## What the table does not say
#
# Each run of the contest is a folder like any other, and can be loaded. Only one of our candidates can show where it
# looked. That is worth something too, though no column of the table counts it.

# %%
model = regard.load(next(where.glob("*attention*seed1")))
text = made.test[0].source
prediction = model(text)
print(f"{text} → {prediction.text} (in truth {made.test[0].target})")
show(prediction.look)

# %% [markdown]
# Was your guess right? Whatever your table says, it says it of *this* task, with *this* little data and training.
# Change one thing (more dates, `encoder=multi_window`, words instead of characters) and ask again: it is one line.
# And the next time a table shows a single number for every method, ask how many seeds it had.
