"""Any model: its weights as they are, rollout by hand, heads found by what they attend to, words of pieces."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from any_model import Model, Pieces

import regard.look
from regard.errors import RegardError
from regard.look.models import ModelLook, Part, loaded, of, rollout
from regard.regions import Token

TEXT = "the cat saw the other catamaran"


@pytest.fixture(scope="module")
def looked() -> ModelLook:
    return regard.look.of(Model(), Pieces(), TEXT, title="small")


def test_every_head_is_there_with_the_readers_own_characters(looked: ModelLook) -> None:
    part = looked.part()
    assert part.weights.shape == (2, 3, 11, 11)
    texts = ["[CLS]", "the", "cat", "saw", "the", "othe", "r", "cata", "mara", "n", "[SEP]"]
    assert [one.text for one in part.rows] == texts
    assert all(TEXT[one.start : one.end] == one.text for one in part.rows[1:-1])
    assert np.array_equal(looked.head(2, 3).weights, part.weights[1, 2].astype(np.float64))
    with pytest.raises(RegardError, match="layer 3, head 1; expected a layer of 1 to 2"):
        looked.head(3, 1)
    with pytest.raises(RegardError, match="no part 'decoder'; expected 'encoder'"):
        looked.part("decoder")


def test_the_model_is_left_as_it_was() -> None:
    model = Model()
    of(model, Pieces(), "a b")
    assert model.calls == ["eager", "sdpa"]
    assert model.training
    with pytest.raises(RegardError, match=r"gives no attention weights of the encoder.*eager"):
        of(Model(gives=False), Pieces(), "a b")
    with pytest.raises(RegardError, match="at least one word"):
        of(model, Pieces(), " ")


def test_a_model_that_looks_at_nothing_ahead_is_a_decoder() -> None:
    assert of(Model(causal=True), Pieces(), "a b").part().name == "decoder"


def test_rollout_by_hand() -> None:
    """Ā_1 = [[1, 0], [½, ½]] from A = [[1, 0], [1, 0]]; Ā_2 = [[½, ½], [0, 1]] from [[0, 1], [0, 1]]."""
    weights = np.array([[[[1.0, 0], [1, 0]]], [[[0, 1], [0, 1]]]])
    assert rollout(weights).tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_heads_are_found_by_what_they_attend_to(looked: ModelLook) -> None:
    layer, head, score = looked.find("previous token")[0]
    assert (layer, head) == (1, 1)
    assert score == pytest.approx(1.0)
    with pytest.raises(RegardError, match="unknown search 'verbs'; expected one of previous token"):
        looked.find("verbs")


def test_scores_by_hand() -> None:
    tokens = tuple(map(Token, ("[CLS]", "a", "A")))
    weights = np.array([[[[0.2, 0.3, 0.5], [0.1, 0.6, 0.3], [0.4, 0.5, 0.1]]]])
    part = Part("encoder", weights, tokens, tokens, ("token", "token"), (True, False, False), (1,))
    found = {name: float(one[0, 0]) for name, one in part.scores().items()}
    expected = {"previous token": 0.3, "next token": 0.3, "itself": 0.3, "first token": 0.25}
    expected |= {"separators": 0.7 / 3, "same word": 0.4}  # "a" at "A" .3, and "A" at "a" .5
    assert found == pytest.approx(expected)
    cross = Part("cross-attention", weights, tokens, tokens, ("decoder", "encoder"), (True, False, False), (1,))
    assert [*cross.scores()] == ["first token", "separators", "same word"]


def test_words_have_the_sum_of_what_goes_to_them_and_the_mean_of_where_they_look() -> None:
    whole, words = of(Model(), Pieces(), TEXT).part(), of(Model(), Pieces(), TEXT, words=True).part()
    assert [one.text for one in words.rows] == ["[CLS]", "the", "cat", "saw", "the", "other", "catamaran", "[SEP]"]
    assert words.special == (True, *[False] * 6, True)
    want = whole.weights[1, 2][7:10, 5:7].sum(-1).mean()
    assert words.weights[1, 2][6, 5] == pytest.approx(want, abs=1e-6)
    np.testing.assert_allclose(words.weights.sum(-1), 1.0, atol=1e-5)


def test_it_is_saved_as_a_page_or_as_its_rollout(looked: ModelLook, tmp_path: Path) -> None:
    assert "layer 2, head 3" in looked.save(tmp_path / "look.html").read_text()
    assert looked.save(tmp_path / "look.txt").read_text().startswith("rollout: the cat")
    assert 'srcdoc="' in looked._repr_html_()
    assert repr(looked) == f"<look at {TEXT!r}, 6 heads: encoder>"


def test_without_transformers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(RegardError, match="hf:a/b needs the transformers package; pip install transformers"):
        loaded("hf:a/b")


@pytest.mark.sweep
def test_models_of_transformers(tmp_path: Path) -> None:
    transformers: Any = pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RegardError, match="could not be loaded"):
        loaded(str(tmp_path))
    from small_encoders import tokenizer as made

    raw = made()
    raw.no_truncation()
    raw.no_padding()
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **names)
    size = {"vocab_size": 24, "num_attention_heads": 2, "num_hidden_layers": 2}
    bert = transformers.BertModel(transformers.BertConfig(hidden_size=8, intermediate_size=8, **size))
    part = of(bert, tokens, "a dogs", pair="the cat").part()
    assert [one.text for one in part.rows] == ["[CLS]", "a", "dog", "s", "[SEP]", "the", "cat", "[SEP]"]
    gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=24, n_embd=8, n_layer=2, n_head=2))
    assert of(gpt, tokens, "a dogs").part().name == "decoder"
    config = transformers.T5Config(vocab_size=24, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)
    config.decoder_start_token_id = 0
    t5 = transformers.T5ForConditionalGeneration(config)
    looked = of(t5, tokens, "a dogs", target="the cat")
    assert [part.name for part in looked.parts] == ["cross-attention", "encoder", "decoder"]
    assert looked.parts[0].weights.shape == (2, 2, 4, 5)
    assert of(t5, tokens, "a dogs").parts[2].square
