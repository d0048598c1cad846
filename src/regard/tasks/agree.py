"""Agree: translate in both directions, learned together so that both look alike.

    L = −log p(y|x) − log p(x|y) + γ B,     B = −tr(A_{x→y}ᵀ A_{y→x}) = −Σ_ji α_ji^{x→y} α_ij^{y→x}

Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model", section 3.5,
after Liang, Taskar & Klein 2006, "Alignment by Agreement". A holds the weight between every two true tokens, the ends
included (the mean over heads). Each row sums to 1, so −B is at most min(I, J), the tokens of the shorter side. As in
the paper B is not divided by anything: like the likelihoods it grows with the length. The share −B / min(I, J), a mean
over pairs, is noted as `agreement`.

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

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.read import form_of
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.files import write_whole
from regard.find import PLAIN, In, Of, Spec, settable
from regard.measure import Results
from regard.predict.generate import Decoder
from regard.ranges import BelowOne, Dropout, Length, NonNegative, Width, ranged
from regard.search import Search
from regard.tasks._encoder_decoder import EncoderDecoder
from regard.tasks._fertility import must_look, pairs
from regard.tasks._generation import SampledAttention, Searching, Teaching
from regard.tasks._measured import BestMetric, LabelSmoothing, Metrics
from regard.tasks._sampled import REINFORCE, must_pass
from regard.tasks.translate import ATTENTION, DECODER, ENCODER, Translate
from regard.train.lock import lock
from regard.train.run import Run
from regard.train.task import Loss
from regard.train.teach import CHANCES
from regard.types import Batch, Example, Link, Look, Memory, Sequences

__all__ = ["Agree", "Both", "BothResults", "agreement", "turned", "turned_data"]

PARTS = ("train", "valid", "test")


def agreement(there: Look, back: Look, x: Sequences, y: Sequences) -> Float[Tensor, " batch"]:
    """−B of each pair: how much weight both directions give to the same two tokens."""
    a, b = pairs(there), pairs(back).transpose(1, 2)  # both [batch, y, x]
    if not a.shape == b.shape == (*y.mask.shape, x.mask.shape[1]):
        raise RegardError("an encoder that does not keep its tokens", expected="one that can be looked at by token")
    true = y.mask.unsqueeze(2) & x.mask.unsqueeze(1)
    return (a * b).masked_fill(~true, 0.0).sum((1, 2))


class Both(EncoderDecoder):
    """A network for each direction. Whoever takes it for one of them has the forward one, which answers and looks."""

    def __init__(self, there: EncoderDecoder, back: EncoderDecoder) -> None:
        nn.Module.__init__(self)  # of its own it has nothing
        self.there, self.back, self.reinforce = there, back, None

    @property
    def decoder(self) -> Decoder:  # type: ignore[override]
        return self.there.decoder

    def encode(self, source: Sequences) -> Memory:
        return self.there.encode(source)


@dataclass(frozen=True)
class BothResults(Results):
    """Results of the forward direction, and those of the other."""

    back: Results | None = None


class Agree(Translate):
    """Translation in both directions, trained together to look alike (Cohn 2016, Liang 2006)."""

    name: ClassVar[str] = "agree"
    yields: ClassVar[tuple[str, ...]] = ("there", "back")  # runs of their own, in the run's folder
    preset: ClassVar[dict[str, Any]] = {**Translate.preset, "train": {**Translate.preset["train"], "time": "300s"}}

    @ranged
    def __init__(
        self,
        source: Annotated[Spec, In("text"), "how the source is split into tokens"] = "bpe",
        target: Annotated[Spec, In("text"), "how the target is split into tokens"] = "bpe",
        embed: Annotated[Width, "size of the embeddings that encoders read"] = 256,
        encoder: Annotated[Spec, In("encode"), "how a text is read, in both directions"] = ENCODER,
        attention: Annotated[
            Spec, Of("attend.attention.make"), "how the decoders attend to what they translate"
        ] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "how a translation is written, in both directions"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = (
            "exact_match",
            "token_accuracy",
            "perplexity",
            "bleu",
            "chrf",
            "alignment",
        ),
        best_metric: BestMetric = "chrf",
        label_smoothing: LabelSmoothing = 0.1,
        dropout: Annotated[Dropout, "dropout on the embeddings that encoders read"] = 0.4,
        max_length: Annotated[Length, "longest source, target or answer, in tokens"] = 1024,
        teach: Teaching = PLAIN,
        fertility: Annotated[
            NonNegative, "weight of the loss on each source token's total attention; 0 turns it off"
        ] = 0.0,
        reinforce: SampledAttention = REINFORCE,
        gamma: Annotated[
            NonNegative, "weight of the agreement of both directions' attention; 0 trains them without it"
        ] = 1.0,
        after: Annotated[BelowOne, "share of the training before the agreement counts"] = 0.0,
    ) -> None:
        parts = (embed, encoder, attention, decoder, search, metrics, best_metric)
        rest = (*parts, label_smoothing, dropout, max_length, teach, fertility, reinforce)
        super().__init__(source, target, *rest)
        if self.teach.source_dropout or self.teach.source_swap:
            raise RegardError(
                "teach.source_dropout or teach.source_swap", expected="both directions to read the same words in order"
            )
        self.gamma, self.after = gamma, after
        self.other = Translate(target, source, *rest)

    def learn(self, examples: Sequence[Example]) -> None:
        super().learn(examples)
        self._share()

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self._share()

    def _share(self) -> None:
        """What is source text for one direction is target text for the other."""
        self.other.texts = {"source": self.texts["target"], "target": self.texts["source"]}

    def model(self) -> Both:
        there, back = super().model(), self.other.model()
        if self.gamma:
            must_look(there.decoder, f"gamma={self.gamma}")
            must_pass(there.decoder, f"gamma={self.gamma}")
        return Both(there, back)

    def on_step(self, model: nn.Module, progress: float) -> None:
        assert isinstance(model, Both)
        super().on_step(model.there, progress)
        super().on_step(model.back, progress)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Both likelihoods, counted over the tokens of both sides, and the agreement of their looks."""
        assert isinstance(model, Both)
        x, y = batch.source, batch.target
        assert isinstance(y, Sequences)
        there, looked = self._taught(model.there, batch)
        back, looked_back = self.other._taught(model.back, Batch((y,), x))
        total = there.total + back.total
        told = {
            name: note for name, note in back.notes.items() if name not in ("label_smoothing", *CHANCES)
        }  # said already
        notes = {**there.notes, **{f"back_{name}": note for name, note in told.items()}}
        if self.gamma:  # else no weights are asked for
            agreed = agreement(looked, looked_back, x, y)
            if not model.training or model.there.progress >= self.after:
                total = total - self.gamma * agreed.sum()
            shorter = torch.minimum(x.mask.sum(1), y.mask.sum(1))
            notes["agreement"] = (agreed / shorter).mean().detach()
        shown = None if there.shown is None or back.shown is None else there.shown + back.shown
        return Loss(total, there.count + back.count, notes, shown)

    def results(
        self, model: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> BothResults:
        assert isinstance(model, Both)
        there = super().results(model.there, examples, quick, search)
        back = self.other.results(model.back, turned(examples), quick, search)
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
        back = config | {"data": data, "source": config["target"], "target": config["source"]}
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


def turned(examples: Sequence[Example]) -> list[Example]:
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


def turned_data(data: Mapping[str, str]) -> dict[str, str] | None:
    """The options of `data` that read the same pairs the other way round; None where there are none."""
    given = {part: spec for part in PARTS if (spec := data.get(part, ""))}
    if "train" not in given or given["train"].startswith("builtin:") or data.get("form", "auto") != "auto":
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
    found = turned_data(data)
    parts: tuple[str, ...] = () if found and found.get("valid") else ("valid", "test")
    if found is None:
        found, parts = dict.fromkeys((*PARTS, "source", "target"), "") | {"form": "auto"}, PARTS
    keys = (found["source"] or "source", found["target"] or "target")
    written = {}
    for part in parts:
        if (rows := getattr(splits, part)) and not found.get(part):
            pairs = (dict(zip(keys, (one.source, one.target), strict=True)) for one in turned(rows))
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
