"""Agreement of a Hugging Face classifier's attention with importance, on a classifier whose importance is known."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.faithful.models import agreement

words = ["[CLS]", "[SEP]", "a", "fine", "film", "dull", "long"]
logit = torch.tensor([0.0, 0.0, 0.1, 3.0, 0.5, -2.0, -1.0])  # of a word, for the second class


class Tokens:
    """Words between spaces, as a tokenizer of Transformers gives them."""

    is_fast = False
    all_special_ids = (0, 1)

    def __call__(self, *texts: str, return_tensors: str, return_offsets_mapping: bool) -> dict[str, Tensor]:
        return {"input_ids": torch.tensor([[0, *(words.index(word) for word in texts[0].split()), 1]])}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [words[number] for number in ids]


class Sum(nn.Module):
    """The logit of a text is the sum of its words'; one head looks at a word as much as it counts, one the other way
    round."""

    def __init__(self, logits: int = 2) -> None:
        super().__init__()
        self.logits = logits
        self.device = torch.device("cpu")
        self.config = SimpleNamespace(is_encoder_decoder=False, _attn_implementation="eager", name_or_path="sum")
        self.table = nn.Embedding.from_pretrained(logit.unsqueeze(1), freeze=False)

    def get_input_embeddings(self) -> nn.Module:
        return self.table

    def forward(
        self, input_ids: Any = None, inputs_embeds: Any = None, output_attentions: bool = False
    ) -> SimpleNamespace:
        x = (self.table(input_ids) if inputs_embeds is None else inputs_embeds).squeeze(-1)
        total = x.sum(-1)
        size = x.shape[1]
        to = x.detach().abs()
        heads = torch.stack([to, -to], 1).softmax(-1).unsqueeze(2).expand(-1, -1, size, -1)
        logits = torch.stack([torch.zeros_like(total), total, total][: self.logits], -1)
        return SimpleNamespace(logits=logits, attentions=(heads,) if output_attentions else None)


def test_a_head_that_looks_at_what_counts_agrees() -> None:
    found = agreement(Sum(), Tokens(), ["a fine film", "a dull long film", "a"])
    assert found["texts"] == 2  # a single token has no order
    for measure in ("gradient", "leave_one_out"):
        assert np.allclose(found["heads"][measure], [[1.0, -1.0]])
    assert found["last_layer"]["gradient"]["undefined"] + found["rollout"]["gradient"]["undefined"] < 4


def test_what_is_no_classifier_is_refused() -> None:
    with pytest.raises(RegardError, match=r"logits of shape .*expected a classifier of two or more classes"):
        agreement(Sum(logits=1), Tokens(), ["a fine film"])
    with pytest.raises(RegardError, match="no texts"):
        agreement(Sum(), Tokens(), [])
    with pytest.raises(RegardError, match="no text has more than one token"):
        agreement(Sum(), Tokens(), ["a"])


@pytest.mark.sweep
def test_a_classifier_of_transformers_from_the_command_line(tmp_path: Path) -> None:
    transformers: Any = pytest.importorskip("transformers")
    from small_encoders import tokenizer

    raw = tokenizer()
    raw.no_truncation()
    raw.no_padding()
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    size = {
        "vocab_size": 24,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "hidden_size": 8,
        "intermediate_size": 8,
    }
    bert = transformers.BertForSequenceClassification(transformers.BertConfig(**size))
    bert.save_pretrained(tmp_path / "bert")
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **names).save_pretrained(tmp_path / "bert")
    (tmp_path / "texts.tsv").write_text("a good film\na bad film\tthe dogs\n")
    words = [sys.executable, "-m", "regard", "faithful", str(tmp_path / "bert"), "--data", str(tmp_path / "texts.tsv")]
    done = subprocess.run([*words, "-o", str(tmp_path / "out")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 texts; mean of Kendall's τ" in done.stdout
    assert (tmp_path / "out" / "faithful.json").is_file()
    (tmp_path / "texts.tsv").write_text("a\tb\tc\n")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert "texts.tsv:1: 3 columns; expected a text, or two with a TAB between" in done.stderr
    # An encoder without a head would get a random one.
    (tmp_path / "texts.tsv").write_text("a good film\n")
    bert.bert.save_pretrained(tmp_path / "bert")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert "has no trained head" in done.stderr
