"""Any Hugging Face model that returns its attentions: every head of every layer, on the page.

`regard.look.of(model, tokenizer, text)` runs an encoder, a decoder or an encoder–decoder once and keeps its weights.
The page shows all heads as small pictures, one enlarged, their mean, and the rollout, which follows attention through
the layers with the residual connections beside it (Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers",
section 3):

    Ā_l = (A_l + I) / 2, rows sum to 1        A_l: the mean of the heads of layer l
    rollout = Ā_L · … · Ā_1

`find` ranks heads by what they attend to, the mean over tokens of the weight on: the previous token, the next one, the
token itself, the first one, separators (special tokens), or other places of the same word (Clark et al. 2019, "What
Does BERT Look At?", section 3).

    looked = regard.look.of(model, tokenizer, "The cat sat on the mat.")
    looked.save("look.html");  looked.find("previous token")[0];  looked.rollout()
"""

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from regard.errors import RegardError, brief, counted
from regard.look.attention_map import AttentionMap, write
from regard.look.packed import Grid, table
from regard.regions import Token

__all__ = ["AttentionPart", "ModelLook", "eager", "encoded", "foreign", "loaded", "of", "rollout"]

LONGEST = 4096  # tokens
Weights = Float[np.ndarray, "layer head row column"]
SEARCHES = ("previous token", "next token", "itself", "first token", "separators", "same word")


def rollout(weights: Weights) -> Float[np.ndarray, "row column"]:
    """Attention through all layers, each the mean of its heads and beside a residual connection of equal weight."""
    size = weights.shape[-1]
    found = np.eye(size)
    for layer in weights:
        own = (layer.astype(np.float64).mean(0) + np.eye(size)) / 2
        found = (own / own.sum(-1, keepdims=True)) @ found
    return found


@dataclass(frozen=True)
class AttentionPart:
    """The weights of one kind of attention of a model: of its encoder, its decoder, or from one to the other."""

    name: str
    weights: Weights
    rows: tuple[Token, ...]
    columns: tuple[Token, ...]
    axes: tuple[str, str]
    special: tuple[bool, ...]  # which columns are special tokens
    layers: tuple[int, ...]  # the number of each layer, from 1: some have no weights to give

    @property
    def square(self) -> bool:
        """Whether tokens attend to tokens of the same sequence."""
        return self.axes[0] == self.axes[1]

    def scores(self) -> dict[str, Float[np.ndarray, "layer head"]]:
        """For each thing that heads can be searched for, the mean weight on it, where the text has it."""
        there = self._sought()
        rows = {name: where.any(-1) for name, where in there.items()}
        return {
            name: np.einsum("lhrc,rc->lh", self.weights, where.astype(np.float32), optimize=True) / rows[name].sum()
            for name, where in there.items()
            if rows[name].any()
        }

    def _sought(self) -> dict[str, Bool[np.ndarray, "row column"]]:
        high, wide = len(self.rows), len(self.columns)
        words = [one.text.strip().lower() for one in self.columns]
        own = [one.text.strip().lower() for one in self.rows]
        same = np.array([[bool(a) and a == b for b in words] for a in own], dtype=bool).reshape(high, wide)
        same &= ~np.array(self.special, dtype=bool)
        found: dict[str, Any] = {}
        if self.square:
            found = {"previous token": np.eye(high, k=-1), "next token": np.eye(high, k=1), "itself": np.eye(high)}
            same &= ~np.eye(high, dtype=bool)
        first = np.zeros((high, wide), dtype=bool)
        first[int(self.square) :, :1] = True  # the first token's own weight on itself says nothing
        found |= {"first token": first, "separators": np.tile(self.special, (high, 1)), "same word": same}
        return {name: where.astype(bool) for name, where in found.items()}


@dataclass(frozen=True)
class ModelLook:
    """What a model attended to in a text; ends a notebook cell as its page."""

    text: str
    parts: tuple[AttentionPart, ...]
    title: str = ""

    def __repr__(self) -> str:
        heads = sum(part.weights.shape[0] * part.weights.shape[1] for part in self.parts)
        return f"<look at {brief(self.text)}, {counted(heads, 'head')}: {', '.join(part.name for part in self.parts)}>"

    def part(self, name: str = "") -> AttentionPart:
        """The part of this name; the first without one."""
        for part in self.parts:
            if part.name == name or not name:
                return part
        raise RegardError(f"no part {brief(name)}", expected=" or ".join(repr(part.name) for part in self.parts))

    def head(self, layer: int, head: int, part: str = "") -> AttentionMap:
        """One head; layers and heads count from 1."""
        one = self.part(part)
        if layer not in one.layers or not 1 <= head <= one.weights.shape[1]:
            expected = f"a layer of {one.layers[0]} to {one.layers[-1]}, a head of 1 to {one.weights.shape[1]}"
            raise RegardError(f"layer {layer}, head {head}", expected=expected)
        return self._map(one, one.weights[one.layers.index(layer), head - 1], f"layer {layer}, head {head}")

    def mean(self, part: str = "") -> AttentionMap:
        """The mean of all heads."""
        one = self.part(part)
        return self._map(one, one.weights.mean((0, 1)), "mean of all heads")

    def rollout(self, part: str = "") -> AttentionMap:
        """Attention through all layers."""
        one = self.part(part)
        if not one.square:
            raise RegardError(f"rollout of {one.name}", expected="attention of a sequence to itself")
        return self._map(one, rollout(one.weights), "rollout")

    def find(self, what: str, part: str = "", most: int = 5) -> list[tuple[int, int, float]]:
        """The heads that attend most to `what`: layer, head and the mean weight on it."""
        one = self.part(part)
        scores = one.scores()
        if what not in scores:
            where = f"{what!r} is not in this text" if what in SEARCHES else f"unknown search {brief(what)}"
            raise RegardError(where, expected=f"one of {', '.join(scores)}")
        found = scores[what]
        best = np.argsort(-found, axis=None, kind="stable")[:most]
        places = [np.unravel_index(one, found.shape) for one in best]
        return [(one.layers[layer], int(head) + 1, float(found[layer, head])) for layer, head in places]

    def _map(self, part: AttentionPart, weights: Float[np.ndarray, "row column"], name: str) -> AttentionMap:
        titled = f"{name}: {self.text}"
        return AttentionMap(np.asarray(weights, np.float64), part.rows, part.columns, titled, axes=part.axes)

    def scene(self) -> dict[str, Any]:
        """All of it for the page."""
        from regard.look.scene import scene

        maps = [table(self._grid(part), f"{part.name}: {self.text}") for part in self.parts]
        nothing = {"run": -1, "answer": "", "log_prob": None, "log_prob_per_token": None, "inputs": []}
        nothing |= {"others": [], "drop_tokens": [], "steps": None}
        return scene([{**nothing, "maps": maps}], [], self.title)

    @staticmethod
    def _grid(part: AttentionPart) -> Grid:
        extra = {"mean of all heads": part.weights.mean((0, 1))}
        if part.square:
            extra["rollout"] = rollout(part.weights).astype(np.float32)
        return Grid(part.weights, part.layers, extra, part.rows, part.columns, part.axes, part.scores())

    def page(self) -> str:
        from regard.look.page import page

        return page(self.scene())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """The page, as .html; as .png, .svg, .json or .txt the rollout, or the mean where there is none."""
        path = Path(path)
        if path.suffix.lower() == ".html":
            return write(path, self.page().encode())
        return (self.rollout() if self.parts[0].square else self.mean()).save(path)

    def _repr_html_(self) -> str:
        from regard.look.page import framed

        return framed(self.page(), self.title or "attention", 820)


def of(
    model: Any, tokenizer: Any, text: str, pair: str = "", target: str = "", words: bool = False, title: str = ""
) -> ModelLook:
    """What a Hugging Face model attends to in a text.

        from transformers import AutoModel, AutoTokenizer
        model, tokenizer = AutoModel.from_pretrained(NAME), AutoTokenizer.from_pretrained(NAME)
        regard.look.of(model, tokenizer, "The cat sat on the mat.").save("look.html")

    `pair` is a second text, read with the first. An encoder–decoder reads `target`, or writes one first. With `words`
    subwords are joined: a word's weight is the sum over its parts, and where it looks the mean. Attention is computed
    the "eager" way for this one run, since the fused ways return no weights.
    """
    import torch

    if not isinstance(text, str) or not text.strip():
        raise RegardError(f"text: got {brief(text)}", expected="at least one word")
    read = encoded(tokenizer, text, pair)
    inputs = {name: value.to(model.device) for name, value in read.items() if isinstance(value, torch.Tensor)}
    inputs.pop("offset_mapping", None)
    both = bool(model.config.is_encoder_decoder)
    with eager(model), torch.inference_mode():
        if both:
            inputs["decoder_input_ids"] = _written(model, tokenizer, inputs, target)
        out = model(**inputs, output_attentions=True)
    source = _tokens(tokenizer, read, inputs["input_ids"][0].tolist(), text, pair)
    if not both:
        kind = "decoder" if _causal(out.attentions) else "encoder"
        parts = [_part(kind, out.attentions, source, source, ("token", "token"), words)]
    else:
        ids = inputs["decoder_input_ids"][0].tolist()
        said = _spelled(tokenizer, ids)
        parts = [
            _part("cross-attention", out.cross_attentions, said, source, ("decoder", "encoder"), words),
            _part("encoder", out.encoder_attentions, source, source, ("encoder", "encoder"), words),
            _part("decoder", out.decoder_attentions, said, said, ("decoder", "decoder"), words),
        ]
    name = str(model.config.name_or_path)
    return ModelLook(text if not pair else f"{text} | {pair}", tuple(parts), title or Path(name).name)


def foreign(name: str) -> bool:
    """Whether it is a Hugging Face model, a folder or hf:NAME, and not a run."""
    here = Path(name)
    return name.startswith("hf:") or ((here / "config.json").is_file() and not (here / "config.toml").exists())


def loaded(name: str, classifier: bool = False) -> tuple[Any, Any]:
    """A model and its tokenizer, from a folder or `hf:NAME`, through Transformers; safetensors only, and no code."""
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError:
        raise RegardError(f"{name} needs the transformers package", do="pip install transformers") from None
    place, here = name.removeprefix("hf:"), not name.startswith("hf:")
    plain: dict[str, Any] = {"trust_remote_code": False, "local_files_only": here}
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(place, **plain)
        kind = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModel
        kind = transformers.AutoModelForSequenceClassification if classifier else kind
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **plain)
        model, report = kind.from_pretrained(
            place, use_safetensors=True, attn_implementation="eager", output_loading_info=True, **plain
        )
    except Exception as error:  # the hub, the files, the model: each raises its own kinds
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise RegardError(
            f"{name} could not be loaded ({why})",
            expected="config.json, tokenizer.json and weights in safetensors of a model that Transformers knows",
        ) from None
    if classifier and report["missing_keys"]:
        raise RegardError(
            f"{name} has no trained head (missing: {', '.join(sorted(report['missing_keys'])[:3])})",
            expected="a fine-tuned classifier",
        )
    return model.eval(), tokenizer


@dataclass(frozen=True)
class _Read:
    """Tokens of a sequence, which are special, and the number of each one's word."""

    tokens: tuple[Token, ...]
    special: tuple[bool, ...]
    words: tuple[int, ...]

    def joined(self) -> "_Read":
        """Words in place of tokens."""
        first = [place for place, word in enumerate(self.words) if not place or word != self.words[place - 1]]
        ends = [*first[1:], len(self.words)]
        tokens = tuple(_whole(self.tokens[begin:end]) for begin, end in zip(first, ends, strict=True))
        return _Read(tokens, tuple(self.special[place] for place in first), tuple(range(len(first))))


def _whole(some: Sequence[Token]) -> Token:
    text = "".join(one.text for one in some) if len(some) > 1 else some[0].text
    return Token(text, some[0].start, some[-1].end)


def _part(name: str, attentions: Any, rows: _Read, columns: _Read, axes: tuple[str, str], words: bool) -> AttentionPart:
    """Of one kind of attention, the layers that gave their weights."""
    given = [(n, one) for n, one in enumerate(attentions or (), 1) if one is not None]
    shape = (len(rows.tokens), len(columns.tokens))
    if not given or any(one.ndim != 4 or tuple(one.shape[-2:]) != shape for _, one in given):
        raise RegardError(
            f"the model gives no attention weights of the {name}",
            expected="a tensor [batch, head, row, column] from each layer",
            do="load it with attn_implementation='eager'",
        )
    if len({one.shape[1] for _, one in given}) > 1:
        raise RegardError("layers with different numbers of heads", expected="the same number in each layer")
    weights = np.stack([one[0].float().cpu().numpy() for _, one in given])
    if not np.isfinite(weights).all():
        raise RegardError("attention weights that are not finite", do="load the model in float32")
    if words:
        weights = np.add.reduceat(weights, _starts(columns), axis=-1)
        starts = _starts(rows)
        counts = np.diff([*starts, shape[0]])[:, None]
        weights = np.add.reduceat(weights, starts, axis=-2) / counts
        rows, columns = rows.joined(), columns.joined()
    numbers = tuple(number for number, _ in given)
    return AttentionPart(name, weights.astype(np.float32), rows.tokens, columns.tokens, axes, columns.special, numbers)


def _starts(read: _Read) -> list[int]:
    return [place for place, word in enumerate(read.words) if not place or word != read.words[place - 1]]


def _causal(attentions: Any) -> bool:
    """Whether nothing looks ahead."""
    one = next((layer for layer in attentions or () if layer is not None), None)
    return one is not None and one.shape[-1] > 1 and not one[0].triu(1).any()


@contextmanager
def eager(model: Any) -> Iterator[None]:
    """In evaluation, with weights that can be had; afterwards as it was."""
    training, before = model.training, model.config._attn_implementation
    model.eval()
    try:
        if before != "eager":
            model.set_attn_implementation("eager")
        yield
    except (AttributeError, NotImplementedError) as error:
        raise RegardError(
            f"the model's attention ({before}) gives no weights ({error})",
            do="load it with attn_implementation='eager'",
        ) from None
    finally:
        if before != "eager":
            model.set_attn_implementation(before)
        model.train(training)


def encoded(tokenizer: Any, text: str, pair: str) -> Any:
    """A text, or two that are read as one, as the model is given them."""
    asked = (text, pair) if pair else (text,)
    found = tokenizer(*asked, return_tensors="pt", return_offsets_mapping=bool(tokenizer.is_fast))
    length = found["input_ids"].shape[1]
    if not 1 <= length <= LONGEST:
        raise RegardError(counted(length, "token"), expected=f"1 to {LONGEST:,}", do="shorten the text")
    return found


def _written(model: Any, tokenizer: Any, inputs: dict[str, Any], target: str) -> Any:
    """What the decoder reads: its first token, and the target's or its own."""
    import torch

    if not target:
        return model.generate(**inputs, max_new_tokens=64, num_beams=1, do_sample=False)
    ids = tokenizer(text_target=target, return_tensors="pt")["input_ids"].to(model.device)
    start = model.config.decoder_start_token_id
    start = model.generation_config.decoder_start_token_id if start is None else start
    return torch.cat([ids.new_full((1, 1), start), ids[:, :-1]], 1)


def _tokens(tokenizer: Any, read: Any, ids: list[int], text: str, pair: str) -> _Read:
    """The reader's own characters where the tokenizer knows their places, else its pieces."""
    if not tokenizer.is_fast:
        return _spelled(tokenizer, ids)
    special, names = set(tokenizer.all_special_ids), tokenizer.convert_ids_to_tokens(ids)
    tokens, marked, words = list[Token](), list[bool](), list[int]()
    last: tuple[Any, Any] | None = None
    for place, (number, (start, end)) in enumerate(zip(ids, read["offset_mapping"][0].tolist(), strict=True)):
        side = read.sequence_ids(0)[place]
        whole = pair if side == 1 else text
        written = whole[start:end]
        bare = written.strip() or written
        out = side is None or (number in special and not written)
        at = start + written.find(bare)
        tokens.append(Token(names[place], end, end) if out else Token(bare, at, at + len(bare)))
        marked.append(out)
        here = (side, read.word_ids(0)[place])
        words.append(words[-1] if words and not out and here == last and here[1] is not None else place)
        last = None if out else here
    return _Read(tuple(tokens), tuple(marked), tuple(words))


def _spelled(tokenizer: Any, ids: list[int]) -> _Read:
    """Pieces of a vocabulary without the marks of their kind; one that begins no word belongs to the one before."""
    special = set(tokenizer.all_special_ids)
    names = [str(name) for name in tokenizer.convert_ids_to_tokens(ids)]
    marks = any(name.startswith(("▁", "Ġ")) for name in names)
    tokens, words = [], list[int]()
    for place, (number, name) in enumerate(zip(ids, names, strict=True)):
        inside = name.startswith("##") or (marks and not name.startswith(("▁", "Ġ")))
        follows = inside and place > 0 and number not in special and ids[place - 1] not in special
        words.append(words[-1] if follows else place)
        tokens.append(Token(name if number in special else name.removeprefix("##").lstrip("▁Ġ") or name))
    return _Read(tuple(tokens), tuple(number in special for number in ids), tuple(words))
