"""Translation in both directions, trained jointly so that their alignments agree (see `regard.networks.both`).

Agreement is easy where nothing is known yet: two directions that both lean on positions agree about those before
either has found a word. `after` is the share of the training in which each direction learns by itself.

The run answers and looks in the forward direction; measures of the other are called `back_…`. After training each
direction also lies inside it as a run of `translate`: RUN/there and RUN/back.

    regard train agree --data pairs.tsv --out runs/both
    regard align runs/both/there --other runs/both/back --data test.tsv
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from torch import nn

from regard.data.read import form_of
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields import require
from regard.fields.text import Text
from regard.files import write_whole
from regard.find import PLAIN, In, Of, Spec, settable, table
from regard.measure import Results
from regard.networks.both import Both
from regard.networks.global_fertility import must_look
from regard.networks.hard_attention import REINFORCE, must_pass
from regard.ranges import BelowOne, NonNegative, ranged
from regard.search import Search
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, SampledAttention, Searching, Teaching
from regard.tasks.translate import ATTENTION, DECODER, ENCODER, SOURCE, Translate
from regard.train.lock import lock
from regard.train.run import Run
from regard.types import Example, Link

__all__ = ["Agree", "BothResults", "swapped", "swapped_data"]

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class BothResults(Results):
    """Results of the forward direction, and those of the other."""

    back: Results | None = None


class Agree(Translate):
    """Translation in both directions, trained jointly so that their alignments agree (Liang 2006, Cohn 2016)."""

    name: ClassVar[str] = "agree"
    does: str = "Translates {input}."
    yields: ClassVar[tuple[str, ...]] = ("there", "back")  # runs of their own, in the run's folder
    starts: ClassVar[None] = None  # it has two encoders
    preset: ClassVar[dict[str, Any]] = {**Translate.preset, "train": {**Translate.preset["train"], "time": "300s"}}

    @ranged
    def __init__(
        self,
        source: Annotated[
            Spec, In("fields"), "the source: text, with its tokenizer; and the word vectors of both sides"
        ] = SOURCE,
        target: Annotated[Spec, Of("fields.tokens.Tokens"), "the target: its tokenizer and longest length"] = PLAIN,
        encoder: Annotated[Spec, In("encode"), "the encoder, of the same kind in both directions"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoders attend to their source"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "the decoder, of the same kind in both directions"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = ("exact_match", "token_accuracy", "perplexity", "bleu", "chrf", "alignment"),
        best_metric: BestMetric = "chrf",
        label_smoothing: LabelSmoothing = 0.1,
        teach: Teaching = PLAIN,
        fertility: Annotated[
            NonNegative, "weight of the loss on each source token's total attention; 0 turns it off"
        ] = 0.0,
        reinforce: SampledAttention = REINFORCE,
        gamma: Annotated[
            NonNegative, "weight of the agreement loss between the two directions' attention; 0 turns it off"
        ] = 1.0,
        after: Annotated[BelowOne, "share of training before the agreement loss is switched on"] = 0.0,
    ) -> None:
        parts = (encoder, attention, decoder, search, metrics, best_metric)
        rest = (*parts, label_smoothing, teach, fertility, reinforce)
        super().__init__(source, target, *rest)
        require(self.source, Text, "source", "which can be translated in both directions")
        if self.teach.source_dropout or self.teach.source_swap:
            raise RegardError(
                "teach.source_dropout or teach.source_swap with agree", expected="the same source for both directions"
            )
        self.gamma, self.after = gamma, after
        back_source, back_target = crossed(table(source), table(target))
        self.other = Translate(back_source, back_target, *rest)

    def learn(self, examples: Sequence[Example]) -> None:
        super().learn(examples)
        self._share()

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self._share()

    def _share(self) -> None:
        """What is source text for one direction is target text for the other."""
        source, back = (require(one.source, Text, "source") for one in (self, self.other))
        self.other.target.text, back.text = source.text, self.target.text

    def network(self) -> Both:
        there, back = super().network(), self.other.network()
        if self.gamma:
            must_look(there.decoder, f"gamma={self.gamma}")
            must_pass(there.decoder, f"gamma={self.gamma}")
        return Both(there, back, self.gamma, self.after)

    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> BothResults:
        assert isinstance(network, Both)
        there = super().results(network.there, examples, quick, search)
        back = self.other.results(network.back, swapped(examples), quick, search)
        return BothResults(**vars(there), back=back)

    def measure(self, results: Results) -> dict[str, float | str]:
        figures = super().measure(results)
        if isinstance(results, BothResults) and results.back is not None:
            figures |= {f"back_{name}": figure for name, figure in self.other.measure(results.back).items()}
        return figures

    def finish(self, run: Run, network: nn.Module, splits: Splits) -> None:
        """Write each direction as a run of its own, that of the other way with its data the other way round."""
        assert isinstance(network, Both)
        own = settable(Agree).keys() - settable(Translate).keys()
        config = {key: value for key, value in run.config.items() if key not in own} | {"task": Translate.name}
        _write(run.folder / "there", config, self.keep(), network.there)
        folder = run.folder / "back"
        data, written = _data(config["data"], splits, folder)
        source, target = crossed(config["source"], config["target"])
        back = config | {"data": data, "source": source, "target": target}
        _write(folder, back, self.other.keep(), network.back)
        for name, lines in written.items():
            write_whole(folder / name, lines)

    def clear(self, folder: Path) -> None:
        """Take away what `finish` wrote."""
        for inner in (folder / name for name in self.yields):
            if Run.is_in(inner) and not inner.is_symlink():  # a link leads to what `finish` did not write
                with lock(inner):
                    for part in PARTS:
                        (inner / f"{part}.jsonl").unlink(missing_ok=True)
                    Run.remove(inner)


def crossed(source: Mapping[str, Any], target: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the other direction: each side keeps its tokenizer and its longest length."""

    def side(field: Mapping[str, Any]) -> dict[str, Any]:
        return {key: field[key] for key in ("tokenizer", "max_length") if key in field}

    rest = {key: value for key, value in source.items() if key not in ("tokenizer", "max_length")}
    return {**rest, **side(target)}, side(source)


def swapped(examples: Sequence[Example]) -> list[Example]:
    """The same pairs the other way round."""
    return [
        Example(
            (one.target,),
            one.source,
            one.where,
            tuple(Link(k.source_start, k.source_end, k.target_start, k.target_end) for k in one.links),
        )
        for one in examples
    ]


def swapped_data(data: Mapping[str, str]) -> dict[str, str] | None:
    """The options of `data` that read the same pairs the other way round; None where there are none."""
    given = {part: spec for part in PARTS if (spec := data.get(part, ""))}
    if "train" not in given or given["train"].startswith(("builtin:", "python:")) or data.get("form", "auto") != "auto":
        return None
    parallel = {part: spec for part, spec in given.items() if "," in spec and not os.path.exists(_home(spec))}
    swapped = {part: ",".join(reversed([path.strip() for path in spec.split(",")])) for part, spec in parallel.items()}
    forms = {form for part, spec in given.items() if part not in parallel for form in _forms(spec)}
    names = [name.strip() for key in ("source", "target") for name in data.get(key, "").split(",") if name.strip()]
    if not names and forms and forms <= {"tsv", "csv"}:
        names = ["1", "2"]
    elif not names and forms and forms <= {"jsonl", "hf"}:
        names = ["source", "target"]
    elif not names and forms:
        return None
    target, source = names or ("", "")
    return {**data, **swapped, "source": source, "target": target}


def _forms(spec: str) -> set[str]:
    """How a file, all files of a folder, or a set of the hub are written."""
    if spec.startswith("hf:"):
        return {"hf"}
    files = os.listdir(_home(spec)) if os.path.isdir(_home(spec)) else [spec]
    return {form for file in files if (form := form_of(file)) != "auto" or file == spec}


def _home(path: str) -> str:
    return os.path.expanduser(path)


def _data(data: Mapping[str, str], splits: Splits, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The data the other way round, and what must be written for it, by name of the file.

    Where valid was cut out of train, by a hash of the inputs, other inputs would put pairs into valid and test that
    were trained on: the parts that were held out are written. What cannot be read the other way round is written whole.
    """
    columns = dict(zip(("source", "target"), splits.columns, strict=False))
    found = swapped_data({**data, **columns})
    parts: tuple[str, ...] = () if found and found.get("valid") else ("valid", "test")
    if found is None:
        found, parts = dict.fromkeys((*PARTS, "source", "target"), "") | {"form": "auto"}, PARTS
    keys = (found["source"] or "source", found["target"] or "target")
    written = {}
    for part in parts:
        if (rows := getattr(splits, part)) and not found.get(part):
            pairs = (dict(zip(keys, (one.source, one.target), strict=True)) for one in swapped(rows))
            written[f"{part}.jsonl"] = "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)
            found[part] = str(folder / f"{part}.jsonl")
    return found, written


def _write(folder: Path, config: dict[str, Any], kept: dict[str, Any], network: nn.Module) -> None:
    """A run as training would have left it, new or in place of an earlier one."""
    if not Run.is_in(folder):
        Run.create(folder, config, kept, network)
        return
    with lock(folder):
        run = Run(folder, config, kept)
        write_whole(folder / "tokenizer.json", json.dumps(kept, ensure_ascii=False))
        run.configure(config)
        run.save_weights(network)
