"""Architecture: what config.json says of a BERT-shaped encoder, as a checked type.

BERT (Devlin et al. 2019) and MiniLM, which has its layout; RoBERTa (Liu et al. 2019) with XLM-R and CamemBERT, whose
positions begin after the padding id; DistilBERT (Sanh et al. 2019), without segments and with names of its own; ELECTRA
(Clark et al. 2020), whose embeddings may be narrower than its layers. All are post-norm encoders with biases, learned
positions and a norm on the embeddings, and differ in names and sizes alone.

    Architecture.of(read_json(folder / "config.json", CONFIG), "config.json").size
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from regard.errors import RegardError, brief

__all__ = ["FAMILIES", "Architecture", "Family"]

Family = Literal["bert", "roberta", "distilbert", "electra"]
# model_type → family
FAMILIES: dict[str, Family] = {
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "distilbert": "distilbert",
    "electra": "electra",
}
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
# Our name → theirs, DistilBERT's, and the value that Transformers takes where the file has none.
NAMES: dict[str, tuple[str, str, float]] = {
    "vocab": ("vocab_size", "vocab_size", 30522),
    "size": ("hidden_size", "dim", 768),
    "layers": ("num_hidden_layers", "n_layers", 12),
    "heads": ("num_attention_heads", "n_heads", 12),
    "ffn": ("intermediate_size", "hidden_dim", 3072),
    "positions": ("max_position_embeddings", "max_position_embeddings", 512),
    "dropout": ("hidden_dropout_prob", "dropout", 0.1),
}
# Of ELECTRA's small model, where it differs.
ELECTRA = {"size": 256, "heads": 4, "ffn": 1024}
MOST = {"vocab": 2**22, "size": 2**14, "layers": 200, "heads": 256, "ffn": 2**16, "positions": 2**17, "segments": 64}


@dataclass(frozen=True)
class Architecture:
    """The sizes of an encoder. `first` is the row of the first position: RoBERTa's come after the padding id."""

    model_type: str
    vocab: int
    size: int
    layers: int
    heads: int
    ffn: int
    positions: int  # rows of the table, those before `first` included
    segments: int
    embed: int  # width of the embeddings
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"]
    norm_eps: float
    dropout: float
    pad: int
    first: int

    def __post_init__(self) -> None:
        if self.model_type not in FAMILIES:
            raise RegardError(f"model_type {brief(self.model_type)}", expected=f"one of {', '.join(FAMILIES)}")
        for name in ("vocab", "size", "layers", "heads", "ffn", "positions", "embed"):
            most = MOST.get(name, MOST["size"])
            if not 1 <= getattr(self, name) <= most:
                raise RegardError(f"{name}: got {getattr(self, name):,}", expected=f"from 1 to {most:,}")
        if self.size % self.heads:
            raise RegardError(f"{self.heads} heads with size {self.size}", expected="a size divisible by the heads")
        for name, low, high in (("segments", 0, MOST["segments"]), ("pad", 0, self.vocab - 1)):
            if not low <= getattr(self, name) <= high:
                raise RegardError(f"{name}: got {getattr(self, name)}", expected=f"from {low} to {high:,}")
        if not 0 <= self.first < self.positions:
            raise RegardError(f"positions from {self.first} in a table of {self.positions}", expected="at least one")
        if not 0 < self.norm_eps < 1:
            raise RegardError(f"norm_eps: got {self.norm_eps}", expected="above 0 and below 1")
        if not 0 <= self.dropout < 1:
            raise RegardError(f"dropout: got {self.dropout}", expected="from 0 to below 1")

    @property
    def family(self) -> Family:
        return FAMILIES[self.model_type]

    @property
    def longest(self) -> int:
        """The longest sequence it can read."""
        return self.positions - self.first

    @staticmethod
    def of(config: Mapping[str, Any], where: object) -> "Architecture":
        """What a config.json says; `where` names it in messages."""
        try:
            return _read(config)
        except RegardError as error:
            raise RegardError(f"{where}: {error}") from None

    @staticmethod
    def from_dict(table: Any) -> "Architecture":
        """What `to_dict` wrote."""
        known = [field.name for field in fields(Architecture)]
        if not isinstance(table, Mapping) or sorted(table) != sorted(known):
            raise RegardError("a pre-trained encoder of unknown sizes", expected=", ".join(known))
        return _made(table)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def config(self) -> dict[str, Any]:
        """config.json for Transformers."""
        distil = self.family == "distilbert"
        named = {(theirs[1] if distil else theirs[0]): getattr(self, ours) for ours, theirs in NAMES.items()}
        acts = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "silu": "silu"}
        named |= {"model_type": self.model_type, "pad_token_id": self.pad}
        named["architectures"] = [MODELS[self.model_type]]
        if distil:
            return {**named, "activation": acts[self.activation], "sinusoidal_pos_embds": False}
        named |= {"hidden_act": acts[self.activation], "layer_norm_eps": self.norm_eps}
        named |= {"type_vocab_size": self.segments, "attention_probs_dropout_prob": self.dropout}
        return {**named, **({"embedding_size": self.embed} if self.family == "electra" else {})}


MODELS = {
    "bert": "BertModel",
    "roberta": "RobertaModel",
    "xlm-roberta": "XLMRobertaModel",
    "camembert": "CamembertModel",
    "distilbert": "DistilBertModel",
    "electra": "ElectraModel",
}


def _read(config: Mapping[str, Any]) -> Architecture:
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise RegardError(f"model_type {brief(model_type)}", expected=f"one of {', '.join(FAMILIES)}")
    family = FAMILIES[model_type]
    for key, plain in (("is_decoder", False), ("add_cross_attention", False), ("position_embedding_type", "absolute")):
        if (given := config.get(key, plain)) != plain:
            raise RegardError(f"{key} is {brief(given)}", expected=f"{plain!r}: an encoder with learned positions")
    distil = family == "distilbert"
    found: dict[str, Any] = {}
    for ours, (theirs, distils, usual) in NAMES.items():
        own = ELECTRA.get(ours, usual) if family == "electra" else usual
        found[ours] = config.get(distils if distil else theirs, own)
    act = config.get("activation" if distil else "hidden_act", "gelu")
    if not isinstance(act, str) or act not in ACTIVATIONS:
        raise RegardError(f"activation {brief(act)}", expected=f"one of {', '.join(ACTIVATIONS)}")
    pad = config.get("pad_token_id", 1 if family == "roberta" else 0)
    pad = 0 if pad is None else pad
    segments = 0 if distil else config.get("type_vocab_size", 2)
    embed = config.get("embedding_size", 128) if family == "electra" else found["size"]
    eps = 1e-12 if distil else config.get("layer_norm_eps", 1e-12)
    first = pad + 1 if family == "roberta" and type(pad) is int else 0
    beside = {"segments": segments, "embed": embed, "norm_eps": eps, "pad": pad, "first": first}
    return _made({"model_type": model_type, **found, **beside, "activation": ACTIVATIONS[act]})


def _made(table: Mapping[str, Any]) -> Architecture:
    """Values of the right types, checked before anything else is."""
    for field in fields(Architecture):
        number: tuple[type, ...] = (int,) if field.type is int else (int, float)
        wanted = number if field.type in (int, float) else (str,)
        if type(value := table[field.name]) not in wanted:
            expected = " or ".join(one.__name__ for one in wanted)
            raise RegardError(f"{field.name}: got {brief(value)}", expected=expected)
    if table["activation"] not in ACTIVATIONS.values():
        raise RegardError(f"activation {brief(table['activation'])}", expected="relu, gelu, gelu_tanh or silu")
    return Architecture(**table)
