"""Tiny pre-trained encoders as folders with config.json, tokenizer.json and weights, made without Transformers."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from regard.pretrained.architecture import Architecture
from regard.pretrained.layout import shapes

words = ["a", "the", "man", "dog", "cat", "runs", "sleep", "##s", "##ing", "good", "bad", "film", ",", "[", "]"]
pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]

configs: dict[str, dict[str, Any]] = {
    "bert": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2},
    "roberta": {"model_type": "roberta", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2},
    "distilbert": {"model_type": "distilbert", "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12},
    "electra": {"model_type": "electra", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2},
}
for _name, _config in configs.items():
    _config |= {"vocab_size": 24, "max_position_embeddings": 20}
    if _name != "distilbert":
        _config |= {"intermediate_size": 12, "type_vocab_size": 1 if _name == "roberta" else 2}
configs["electra"]["embedding_size"] = 4


def tokenizer() -> Tokenizer:
    """BERT's: WordPiece, small letters, a segment for each of two texts."""
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    made.enable_truncation(7)
    made.enable_padding(length=7)
    return made


def encoder_folder(folder: Path, family: str = "bert", **changed: Any) -> Path:
    """A folder with random weights."""
    folder.mkdir(parents=True)
    config = {**configs[family], **changed}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer().save(str(folder / "tokenizer.json"))
    chance = torch.Generator().manual_seed(0)
    of = Architecture.of(config, "config.json")
    tensors = {name: torch.randn(shape, generator=chance) * 0.3 for name, shape in shapes(of).items()}
    save_file(tensors, folder / "model.safetensors")
    return folder
