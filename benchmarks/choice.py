"""Choosing tokens: how few a model can do with, and whether a learned choice is better than a simple one.

    python benchmarks/choice.py snli DATA --only score_function,disarm --shares 0.5,0.2 --seeds 3 --jobs 24
    python benchmarks/choice.py choosers DATA          # learned, random, rarest words, heaviest by soft attention
    python benchmarks/choice.py sick DATA
    python benchmarks/choice.py translate DATA --links FILE
    python benchmarks/choice.py long DATA --jobs 1
    python benchmarks/choice.py cost -                 # time and memory against the share of tokens
    python benchmarks/choice.py variance DATA          # of each estimator's gradient, on a trained model
    python benchmarks/choice.py faithful DATA          # sufficiency and comprehensiveness

DATA is a folder with one folder for each set, of which these are read: `snli` (3 MB, parts snli, choosers, variance and
faithful), `sick` (sick), `multi30k/tok` (2 MB, translate), `aeslc`, `sentiment` and `squad` (14 MB, long; see
long_documents.py), and `vectors` with spacy.en_md.300d.txt.gz and glove.6B.100d.txt.gz (33 MB, or --vectors; the parts
with sentences). FILE has a statistical aligner's links of the 1,000 test pairs of Multi30k (`benchmarks/alignment.py
links`); without it there is no AER.

All trainings of a call share the device, each in a process of its own (--jobs), so a call takes --time and about a
minute. Figures go to results/NAME.json whenever a training ends (--name; by default choice_PART), so that a call that
is cut off keeps them; with --add those of an earlier call stay, and only what it has not got is measured. `--stop 540`
ends a call after so many seconds. Options of regard may follow as key=value. `--tiny` checks a part on a CPU in about a
minute.

snli and sick: the recipe of benchmarks/sentences.py, four phases: 0.3 of the training with all tokens, in which the
policies imitate the pooling; 0.05 for the policies alone; both; and 0.2 with what inference selects. `--unchosen none`
(the default here) gives a token that is no head no state at all; with `mean` it keeps the mean of the others and its
own vector, so that little depends on the choice. A share is the target of both policies, heads and dependents; what
they reached is recorded beside it, and as `read` the share of tokens that either selected. 1 is DiSAN, all tokens.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from record import record, results
from together import spread, together

BEGAN = time.monotonic()

ESTIMATORS = (
    *("score_function", "nvil", "disarm", "single_flip"),
    *("straight_through_bernoulli", "hard_concrete", "hard_kuma"),
)
VARIANTS = {"straight_through_most_likely": {"name": "straight_through_bernoulli", "sample": False}}
PARTS = ("snli", "sick", "choosers", "translate", "long", "cost", "variance", "faithful")
VECTORS = ("spacy.en_md.300d.txt.gz", "glove.6B.100d.txt.gz")
TINY: dict[str, Any] = {"train": {"steps": 6, "warmup": 0, "max_validation": 40, "validate_every": 3, "ema": 0.0}}
METRICS = (
    *("accuracy", "pearson", "spearman", "bleu", "bleu_of_1", "aer"),
    *("chosen", "chosen_heads", "chosen_dependents", "read"),
)
LOUD = 200  # examples of the reports on sufficiency
LENGTHS, SHARES = (15, 50, 200, 1000), (1.0, 0.75, 0.5, 0.25, 0.1)
CELLS = 32_768  # tokens of a batch whose time is taken


def wanted(given: argparse.Namespace, names: Iterable[str], usual: Iterable[str] = ()) -> list[str]:
    """The models of --only, or else the usual ones (all)."""
    some = given.only.split(",") if given.only else list(usual) or list(names)
    if unknown := [name for name in some if name not in names]:
        raise SystemExit(f"--only {', '.join(unknown)}: expected some of {', '.join(names)}")
    return some


# --- sentences -------------------------------------------------------------------------------------------------


def recipe(kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """What all models of a set share."""
    from sentences import GRIDS, recipe, with_encoder

    from regard.api import merge
    from regard.cli.options import parse_pairs

    vectors = given.vectors or ",".join(str(given.data / "vectors" / name) for name in VECTORS)
    shared = recipe(kind, given.data / kind, vectors, given.time)
    grid = GRIDS[kind]
    own = with_encoder(shared, "resan", grid["rate 0.002, decay 0.1" if kind == "snli" else "fixed, decay 1, max"])
    # Max pooling and the others alike read the states of chosen heads alone where others have none.
    own = merge(own, {"encoder": {"policy": 0.05, "unchosen": given.unchosen}, "train": {"patience": 100}})
    return merge(merge(own, tiny_sentences(own) if given.tiny else {}), parse_pairs(given.options))


def tiny_sentences(own: Mapping[str, Any]) -> dict[str, Any]:
    """Small enough for a CPU, on a few pairs; without vectors."""
    first = Path(tempfile.mkdtemp())
    data = {}
    for part in ("train", "valid", "test"):
        from regard.data.lines import lines

        some = [line for _, line in zip(range(80), lines(own["data"][part]), strict=False)]
        data[part] = str(first / f"{part}{Path(own['data'][part].removesuffix('.gz')).suffix}")
        Path(data[part]).write_text("\n".join(some) + "\n", encoding="utf-8")
    small = {"encoder": {"hidden": 8}, "head": {"hidden": 8}}
    return {**small, "data": data, "input": {"embed": {"vectors": "", "dim": 8, "mode": "tuned"}}, **TINY}


def all_tokens(options: dict[str, Any]) -> dict[str, Any]:
    from regard.api import merge

    return merge(options, {"encoder": {"soft": 1.0, "policy": 0.0}, "sparsity": 0})


def learned(options: dict[str, Any], estimator: str, share: float, asked: list[str]) -> dict[str, Any]:
    """Policies begin with what the pooling weighs most; `asked` has options that may say otherwise."""
    from regard.api import merge
    from regard.cli.options import parse_pairs

    if share >= 1:
        return all_tokens(options)
    own: dict[str, Any] = {"encoder": {"imitate": True, "settle": 0.2}, "reinforce": {"bonus": 0.0}}
    own["estimator"] = VARIANTS.get(estimator, {"name": estimator})
    return merge(merge(options, {**own, "sparsity": {"target": share, "anneal": 0.0}}), parse_pairs(asked))


def sentence(task: str, options: dict[str, Any], seed: int, folder: str, fixed: tuple[str, float] | None = None) -> Any:
    """One training: its score, what it chose, and whether that is enough to answer by."""
    import choosers

    import regard
    from regard.api import merge
    from regard.faithful.probe import frozen
    from regard.faithful.rationale import rationales
    from regard.train.log import read

    asked = merge(options, {"train": {"seed": seed}})
    if fixed is not None:
        choosers.Fixed.kind, choosers.Fixed.share = fixed
        task = f"choosers.Fixed{task.capitalize()}"
        asked = merge(asked, {"sparsity": 0, "encoder": {"policy": 0.0}})
    done = regard.train(task, out=folder, quiet=True, fresh=True, trust=True, **asked)
    model = done.model
    log = [event for event in read(Path(folder) / "log.jsonl") if "valid" in event]
    names = ("accuracy", "pearson", "chosen", "chosen_heads", "chosen_dependents")
    told = rationales(model.task, frozen(model.network), done.splits.test[:LOUD], seed=seed)
    return {
        **{name: float(value) for name, value in done.test.items() if isinstance(value, float)},
        "valid": done.outcome.best,
        "steps": done.outcome.step,
        "seconds": round(done.outcome.seconds, 1),
        "examples_per_second": round(done.outcome.per_second),
        "log": [
            {"step": one["step"], **{name: one["valid"][name] for name in names if name in one["valid"]},
             **one.get("notes", {})}
            for one in log
        ],
        "read": told["chosen"]["share"],  # by any policy: heads and dependents may be different tokens
        "rationales": told,
    }  # fmt: skip


def sentences_part(given: argparse.Namespace) -> None:
    """snli, sick and choosers: models by name, each with all seeds."""
    kind = "sick" if given.part == "sick" else given.set
    task = "relate" if kind == "sick" else "entail"
    options = recipe(kind, given)
    shares = [float(one) for one in given.shares.split(",")]
    fixed: dict[str, tuple[str, float]] = {}
    models: dict[str, dict[str, Any]] = {}
    if given.part == "choosers":
        from choosers import KINDS

        some = wanted(given, (*ESTIMATORS, *VARIANTS, *KINDS), ("score_function", *VARIANTS, *KINDS))
        for share in shares:
            for name in some:
                if share >= 1:
                    models["all 1"] = all_tokens(options)
                elif name in KINDS:
                    fixed[f"{name} {share:g}"] = (name, share)
                    models[f"{name} {share:g}"] = options
                else:
                    models[f"{name} {share:g}"] = learned(options, name, share, given.options)
    else:
        some = wanted(given, (*ESTIMATORS, *VARIANTS))
        for share in shares:
            for name in some:
                name = f"{name} {share:g}" if share < 1 else "all 1"
                models[name] = learned(options, name.split()[0], share, given.options)
    trained(given, {name: (sentence, task, one, fixed.get(name)) for name, one in models.items()})


def trained(given: argparse.Namespace, models: Mapping[str, tuple[Any, ...]]) -> None:
    """Every model with every seed; the record is written anew whenever one ends."""
    with tempfile.TemporaryDirectory() as scratch:
        work: dict[str, tuple[Any, ...]] = {}
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            for name, (function, task, options, *more) in models.items():
                folder = str(Path(given.out or scratch) / f"{name} {seed}".replace(" ", "-"))
                work[f"{name} {seed}"] = (function, task, options, seed, folder, *more)
        rows = earlier(given)
        for key in list(work):
            name, _, seed_ = key.rpartition(" ")
            if "failed" not in rows.get(name, {}).get(int(seed_), {"failed": "not there"}):
                del work[key]
        fits(given, len(work))
        ended = 0
        for key, found in together(work, given.jobs, left(given)):
            name, _, seed_ = key.rpartition(" ")
            rows.setdefault(name, {})[int(seed_)] = found
            kept(given, rows)
            ended += 1
        if ended < len(work):
            print(f"{len(work) - ended} of {len(work)} have not ended; --add goes on with them", flush=True)


def left(given: argparse.Namespace) -> float:
    """Seconds of this call; endless without --stop."""
    return given.stop - (time.monotonic() - BEGAN) if given.stop else math.inf


def fits(given: argparse.Namespace, trainings: int) -> None:
    """Refuses a call whose trainings could not all end in time."""
    from regard.train.schedule import seconds

    rounds = math.ceil(trainings / given.jobs)
    if rounds * seconds(given.time) > left(given):
        told = f"{trainings} trainings, --jobs {given.jobs}: {rounds} × {given.time} is more than --stop {given.stop:g}"
        raise SystemExit(f"{told}; use a shorter --time, more --jobs or fewer models (--only, --shares, --seeds)")


def earlier(given: argparse.Namespace) -> dict[str, dict[int, dict[str, Any]]]:
    """What an earlier call found, seed by seed, if it is to be added to."""
    old = figures(given).get("by_seed", {})
    return {name: {int(seed): one for seed, one in seeds.items()} for name, seeds in old.items()}


def figures(given: argparse.Namespace) -> dict[str, Any]:
    """Of an earlier call, if it is to be added to."""
    path = results / f"{name_of(given)}.json"
    if not given.add or not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return found


def finite(found: Any) -> Any:
    """What JSON can hold: a figure that is no number (a correlation of constants) is none."""
    if isinstance(found, dict):
        return {key: finite(one) for key, one in found.items()}
    if isinstance(found, list | tuple):
        return [finite(one) for one in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def name_of(given: argparse.Namespace) -> str:
    unchosen = f"_{given.unchosen}" if given.part in ("snli", "sick", "choosers") and given.unchosen != "none" else ""
    kind = f"_{given.set}" if given.part == "choosers" and given.set != "snli" else ""
    return given.name or f"choice_{given.part}{kind}{unchosen}" + "_tiny" * given.tiny


def kept(given: argparse.Namespace, rows: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> None:
    told, rows = [], finite(rows)
    for name, seeds in rows.items():
        row = {
            "name": name,
            **spread({seed: {k: v for k, v in one.items() if k != "log"} for seed, one in seeds.items()}),
        }
        for metric in METRICS:
            values = [value for value in row.get(metric, ()) if value is not None]
            if values:
                row[f"{metric}_mean"] = statistics.mean(values)
                row[f"{metric}_spread"] = statistics.stdev(values) if len(values) > 1 else None
        told.append(row)
    settings = {"jobs": given.jobs, "time": given.time, "options": given.options}
    record(name_of(given), {"rows": told, "by_seed": rows, **settings, "unchosen": given.unchosen})


# --- translation -----------------------------------------------------------------------------------------------

AFTER = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.4}
HARD = {"attention": {"normalizer": "sample"}}
TRANSLATORS: dict[str, dict[str, Any]] = {
    "soft": {},
    "mixture 2": {"decoder": {**AFTER, "mixture": 2}},
    "mixture 4": {"decoder": {**AFTER, "mixture": 4}},
    "mixture 8": {"decoder": {**AFTER, "mixture": 8}},
    "sampled": HARD,
    "sampled others": {**HARD, "reinforce": {"baseline": "others"}},
    "sampled others anneal": {**HARD, "reinforce": {"baseline": "others", "anneal": 0.6, "bonus": 0.001}},
    "straight through": {"attention": {"normalizer": "straight_through"}},
    "gumbel": {"attention": {"normalizer": "gumbel"}},
    "entmax": {"attention": {"normalizer": "entmax"}},
}


def translator(links: str, options: dict[str, Any], seed: int, folder: str) -> dict[str, Any]:
    """One training. A mixture is also asked to say each word from its most attended position alone."""
    from alignment import as_gold, of_run
    from translate import trained

    import regard
    from regard.api import merge
    from regard.predict.generate.recurrent import Recurrent

    done = regard.train("translate", out=folder, quiet=True, fresh=True, **merge(options, {"train": {"seed": seed}}))
    model, test = done.model, done.splits.test
    decoder: Any = model.network.decoder  # type: ignore[attr-defined]
    found = trained(done)
    if links:
        found |= of_run(model, test, as_gold(links)[: len(test)])
    if isinstance(decoder, Recurrent) and decoder.mixture:
        asked = decoder.mixture
        for top in (1, 64):
            decoder.mixture = top
            found[f"bleu_of_{top}"] = float(model.evaluate(test)["bleu"])
        decoder.mixture = asked
    return found


def translate_part(given: argparse.Namespace) -> None:
    from translate import RECIPE

    from regard.api import merge
    from regard.cli.options import parse_pairs

    data = str(given.data / "multi30k" / "tok")
    shared = merge(RECIPE, {"data": {"train": data, "source": "de", "target": "en"}, "train": {"time": given.time}})
    shared = merge(shared, {"search": {"name": "beam", "beam_size": 5}})
    if given.tiny:
        folder = Path(tempfile.mkdtemp())
        from regard.data.lines import lines

        for path in Path(data).iterdir():
            if path.name.split(".")[1] in ("de", "en"):
                some = [line for _, line in zip(range(24), lines(str(path)), strict=False)]
                (folder / path.name.removesuffix(".gz")).write_text("\n".join(some) + "\n", encoding="utf-8")
        small = {"tokenizer": {"name": "bpe", "vocab_size": 120}}
        shared = merge(shared, {"data": {"train": str(folder)}, "source": small, "target": small, **TINY})
        shared = merge(shared, {"encoder": {"name": "recurrent", "hidden": 8, "layers": 1}})
    shared = merge(shared, parse_pairs(given.options))
    models = {name: TRANSLATORS[name] for name in wanted(given, TRANSLATORS)}
    links = given.links
    trained(given, {name: (translator, links, merge(shared, options)) for name, options in models.items()})


# --- long documents --------------------------------------------------------------------------------------------


def document(task: str, options: dict[str, Any], seed: int, folder: str) -> dict[str, Any]:
    """One training on long documents: the score, the time of a step and of the test, and memory."""
    import torch

    import regard
    from regard.api import merge

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    done = regard.train(task, out=folder, quiet=True, fresh=True, **merge(options, {"train": {"seed": seed}}))
    found = {name: float(value) for name, value in done.test.items() if isinstance(value, float)}
    if torch.cuda.is_available():
        found["train_peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
        torch.cuda.reset_peak_memory_stats()
    done.model.evaluate(done.splits.test)  # kernels are compiled by then
    began = time.perf_counter()
    done.model.evaluate(done.splits.test)
    found["test_seconds"] = time.perf_counter() - began
    if torch.cuda.is_available():
        found["test_peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
    found |= {"steps": done.outcome.step, "documents_per_second": done.outcome.per_second}
    return found


def long_part(given: argparse.Namespace) -> None:
    from long_documents import made

    from regard.api import merge
    from regard.cli.options import parse_pairs

    hidden = 8 if given.tiny else 128
    shared: dict[str, Any] = {
        "input": {"tokenizer": {"name": "word", "split": "space", "min_frequency": 2}, "embed": {"dim": hidden},
                  "max_length": 2_100},
        "head": {"hidden": hidden},
        "train": {
            "epochs": 1_000, "time": given.time, "batch_size": 32, "batch_tokens": 0, "lr": 1e-3, "warmup": 100,
            "auto": False, "patience": 1_000, "max_validation": 300,
        },
    }  # fmt: skip
    phases = {"soft": 0.2, "policy": 0.05, "settle": 0.2, "imitate": True}
    resan = {"name": "resan", "hidden": hidden, "unchosen": "none", **phases}

    def chosen(share: float) -> dict[str, Any]:
        return {"encoder": resan, "sparsity": {"target": share, "anneal": 0.0}, "reinforce": {"bonus": 0.0}}

    encoders: dict[str, dict[str, Any]] = {
        "disan": {"encoder": {"name": "disan", "hidden": hidden}},
        "multi_head": {"encoder": {"name": "multi_head", "size": 2 * hidden, "heads": 8}, "pool": "source2token"},
        "resan 0.25": chosen(0.25),
        "resan 0.1": chosen(0.1),
    }
    with tempfile.TemporaryDirectory() as folder:
        models = {}
        for kind in given.set.split(",") if given.set != "snli" else ("needle", "titles"):
            data = made(kind, given.data, Path(folder) / kind, 20 if given.tiny else given.documents)
            for name in wanted(given, encoders):
                options = merge(merge(shared, encoders[name]), {"data": data})
                if given.tiny:
                    options = merge(options, {"train": {**TINY["train"], "batch_size": 4}})
                models[f"{kind} {name}"] = (document, "classify", merge(options, parse_pairs(given.options)))
        trained(given, models)


# --- cost ------------------------------------------------------------------------------------------------------


def costs(name: str, share: float, length: int, batch: int, width: int, repeats: int) -> dict[str, Any]:
    """Of an encoder and its pooling, with tokens chosen at random: seconds and MiB (of a GPU) of a training step, and
    of a reading as in use, where tokens that were not chosen are skipped. DiSAN reads all of them."""
    import torch

    from regard.attend.bernoulli import expected_share
    from regard.attend.estimator import Gates
    from regard.encode.disan import Disan
    from regard.encode.resan import Resan
    from regard.pool.source2token import Source2token
    from regard.train.device import device_of
    from regard.types import Sequences

    device = device_of("auto")
    gpu = device.type == "cuda"
    torch.manual_seed(1)
    values = torch.randn(batch, length, width, device=device)
    mask = torch.ones(batch, length, dtype=torch.bool, device=device)
    inputs = Sequences(values, mask, torch.full((batch,), length))
    few = torch.rand(2, batch, length, device=device) < share
    part: Any = Disan(width, width) if name == "disan" else Resan(width, width, unchosen=name)  # type: ignore[arg-type]
    network = torch.nn.ModuleList([part, Source2token(2 * width)]).to(device)

    def draw(logits: torch.Tensor, mask: torch.Tensor) -> Gates:
        nothing = logits.sum(-1)
        return Gates(few & mask, nothing, nothing, expected_share(torch.sigmoid(logits), mask))

    told: tuple[Any, ...] = () if name == "disan" else ("both", draw)

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=gpu):
            memory = part(inputs, *told)
            total = network[1](memory).vector.float().square().sum()
        for choice in memory.choices:
            total = total + choice.log_prob.sum()
        total.backward()
        network.zero_grad(set_to_none=True)

    def use() -> None:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=gpu):
            network[1](part(inputs, *told, *([True] if told else [])))

    row: dict[str, Any] = {"name": name, "length": length, "batch": batch, "share": share}
    for what, work in (("step", step), ("use", use)):
        network.train(what == "step")
        times = []
        for _ in range(repeats + 2):
            if gpu:
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            began = time.perf_counter()
            work()
            if gpu:
                torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
        row[f"{what}_seconds"] = statistics.median(times[2:])
        row[f"{what}_mib"] = torch.cuda.max_memory_allocated() / 2**20 if gpu else None
    return row


def cost_part(given: argparse.Namespace) -> None:
    """Time and memory against the share of tokens and the length."""
    import torch

    width, repeats = (16, 2) if given.tiny else (300, given.repeats)
    cells = 512 if given.tiny else CELLS if torch.cuda.is_available() else 2_048
    shares = [float(one) for one in given.shares.split(",")] if given.shares != SENTENCES else list(SHARES)
    rows = list(figures(given).get("rows", []))
    done = {(row["name"], row["length"], row["share"]) for row in rows}
    for length in LENGTHS[: 2 if given.tiny else None]:
        for name in ("disan", "mean", "none"):
            for share in [1.0] if name == "disan" else shares:
                if (name, length, share) in done or left(given) <= 0:
                    continue
                rows.append(costs(name, share, length, max(1, cells // length), width, repeats))
                print({key: value for key, value in rows[-1].items() if value is not None}, flush=True)
                record(name_of(given), {"rows": rows, "width": width, "repeats": repeats})


SENTENCES = "1,0.5,0.35,0.2"  # shares of the tables of sentences


# --- variance --------------------------------------------------------------------------------------------------


def variance_part(given: argparse.Namespace) -> None:
    """The gradient of the policies by each estimator, drawn again and again on the same batch of a model that was
    trained with all tokens (--run, or a new one): its variance (the sum over all parameters), its mean beside that of
    all unbiased draws, and seconds for one. `moving` is REINFORCE with a moving average and a single reading."""
    import torch

    import regard
    from regard import find
    from regard.api import merge
    from regard.attend.reinforce import Reinforce
    from regard.attend.sparsity import Sparsity

    if given.add:
        raise SystemExit("variance: --add; all estimators are measured on one model, in one call")
    draws = 4 if given.tiny else given.draws
    with tempfile.TemporaryDirectory() as folder:
        if given.run:
            model = regard.load(given.run)
        else:
            options = merge(all_tokens(recipe("snli", given)), {"encoder": {"dropout": 0.0}, "dropout": 0.0})
            model = regard.train("entail", out=folder, quiet=True, fresh=True, **options).model
        task, network = model.task, model.network
        examples = model.data().valid[: 16 if given.tiny else 256]
        device = next(network.parameters()).device
        batch = task.collate(task.items(examples)).to(device)
        network.encoder.soft, network.encoder.policy = 0.0, 1.0  # type: ignore[union-attr]
        network.sparsity = Sparsity(2, price=0.0).to(device)
        weights = list(network.encoder.policies.parameters())  # type: ignore[union-attr]
        rows, total, unbiased = [], torch.zeros(sum(p.numel() for p in weights), device=device), 0
        means: dict[str, torch.Tensor] = {}
        for name in wanted(given, ("moving", *ESTIMATORS)):
            if left(given) <= 0:
                break
            baseline: Any = "moving" if name == "moving" else "others"
            reinforce = Reinforce(None, baseline=baseline, bonus=0.0).to(device)
            network.reinforce, size = reinforce, reinforce_size(network, task)
            kind = "score_function" if name == "moving" else name
            part = find.build("attend.estimator", kind, size=size, samples=reinforce.copies).to(device)
            network.estimator = part
            network.train()
            for _ in range(3):  # baselines and averages begin
                network(batch, 0.5)
            found, began = [], time.perf_counter()
            for one in range(draws):
                torch.manual_seed(one)
                loss = network(batch, 0.5).total / len(examples)
                found.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, weights)]).double())
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds = (time.perf_counter() - began) / draws
            each = torch.stack(found)
            means[name] = each.mean(0)
            if part.unbiased and name != "nvil":  # whose rewards are divided by their deviation
                total, unbiased = total + each.sum(0), unbiased + draws
            row = {"name": name, "variance": float(each.var(0).sum()), "readings": part.copies, "seconds": seconds}
            row |= {"norm_of_mean": float(means[name].norm()), "unbiased": part.unbiased}
            rows.append(row)
            if unbiased:
                best = total / unbiased
                for other in rows:
                    mean = means[str(other["name"])]
                    other["cosine"] = float(torch.cosine_similarity(mean, best, dim=0))
            record(name_of(given), {"rows": finite(rows), "draws": draws, "examples": len(examples)})
            print(row, flush=True)


def reinforce_size(network: Any, task: Any) -> int:
    """The width of what a learned baseline reads."""
    return int(network.embed.size) * len(task.inputs)


# --- faithful --------------------------------------------------------------------------------------------------


def reported(task: str, options: dict[str, Any], seed: int, folder: str) -> dict[str, Any]:
    """One training, and all tests of `regard faithful` on it."""
    import regard
    from regard.api import merge
    from regard.faithful import faithful

    done = regard.train(task, out=folder, quiet=True, fresh=True, **merge(options, {"train": {"seed": seed}}))
    report = faithful(done.model, done.splits.test[:LOUD], shuffles=20, seed=seed)
    test = {name: float(value) for name, value in done.test.items() if isinstance(value, float)}
    return {**test, "summary": report["summary"]}


def faithful_part(given: argparse.Namespace) -> None:
    options = recipe("snli", given)
    shares = [float(one) for one in given.shares.split(",")]
    names = wanted(given, (*ESTIMATORS, *VARIANTS), ("score_function", *VARIANTS))
    models: dict[str, tuple[Any, ...]] = {}
    for share in shares:
        for name in names:
            own = learned(options, name, share, given.options)
            models[f"{name} {share:g}" if share < 1 else "all 1"] = (reported, "entail", own)
    trained(given, models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("data", type=Path)
    parser.add_argument("options", nargs="*", help="further options of the training, KEY=VALUE")
    parser.add_argument("--vectors", default="", help="files of word vectors, with commas; else those of DATA/vectors")
    parser.add_argument("--set", default="snli", help="choosers: snli or sick; long: needle, titles")
    parser.add_argument("--only", default="", help="these models, with commas between")
    parser.add_argument("--shares", default=SENTENCES, help="shares of the tokens, with commas between")
    parser.add_argument("--unchosen", choices=("none", "mean"), default="none")
    parser.add_argument("--links", default="", help="translate: a statistical aligner's links of the test pairs")
    parser.add_argument("--documents", type=int, default=4_000, help="long: how many are made")
    parser.add_argument("--run", default="", help="variance: a trained model of encoder=resan; else one is trained")
    parser.add_argument("--draws", type=int, default=200, help="variance: draws of each estimator")
    parser.add_argument("--repeats", type=int, default=20, help="cost: readings that are timed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--time", default="420s", help="of each training")
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--stop", type=float, default=0.0, help="seconds after which the call ends; 0: none")
    parser.add_argument("--out", default="", help="keep the runs here")
    parser.add_argument("--add", action="store_true", help="keep the record of an earlier call, and measure the rest")
    parser.add_argument("--tiny", action="store_true", help="one seed, a few steps on a few examples: does it run?")
    parser.add_argument("--name", default="", help="how the file of results is called; else choice_PART")
    given = parser.parse_intermixed_args()
    if given.tiny:
        given.seeds, given.jobs = 1, min(given.jobs, 2)
    parts = {"translate": translate_part, "long": long_part, "cost": cost_part, "variance": variance_part}
    parts |= {"faithful": faithful_part}
    parts.get(given.part, sentences_part)(given)


if __name__ == "__main__":
    main()
