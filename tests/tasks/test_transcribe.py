"""Speech to text: what it learns, its options, long and silent recordings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.data.builtin.morse import RATE, Morse, keyed
from regard.errors import RegardError
from regard.fields.audio import Sound, wav_url
from regard.predict.ctc import Ctc
from regard.predict.joint import JointDecoder
from regard.regions import Interval
from regard.search import Hypothesis
from regard.tasks.transcribe import Transcribe
from regard.train.task import Ask
from regard.types import Example

small: dict[str, Any] = {
    "audio": {"name": "audio", "rate": RATE, "bands": 8, "embed": {"dim": 8, "channels": 2, "dropout": 0.0}},
    "encoder": {"name": "bilstm", "hidden": 6, "layers": 1, "dropout": 0.0},
    "decoder": {"name": "recurrent", "embed": 6, "hidden": 8, "dropout": 0.0},
    "attention": {"score": {"name": "additive", "hidden": 4}, "bias": ("location",)},
}


def examples(*texts: str) -> list[Example]:
    chance = np.random.default_rng(1)
    return [Example((wav_url(keyed(text, 20.0, chance)[0], RATE, width=1),), text, f"m:{text}") for text in texts]


def made(**options: Any) -> tuple[Transcribe, list[Example]]:
    task, some = Transcribe(**{**small, **options}), examples("E", "TE", "EE")
    task.learn(some)
    torch.manual_seed(1)
    return task, some


def test_the_loss_is_that_of_both() -> None:
    task, some = made(ctc_weight=0.25)
    network, batch = task.network().eval(), task.collate(task.items(some))
    assert network.ctc is not None
    with torch.no_grad():
        both = network(batch).total
        memory = network.encode(batch.source)
        attention = network.written(memory, batch.target, 1.0)[0].total
        ctc = network.ctc.loss(memory, batch.target).sum()
    assert both.item() == pytest.approx(0.75 * attention.item() + 0.25 * ctc.item(), rel=1e-5)
    assert isinstance(network.steps, JointDecoder)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_either_alone(weight: float) -> None:
    task, some = made(ctc_weight=weight)
    network, batch = task.network(), task.collate(task.items(some))
    assert network.ctc is None
    assert isinstance(network.steps, Ctc) == (weight == 1)
    network(batch).total.backward()
    used = [parameter for parameter in network.parameters() if parameter.grad is not None]
    assert len(used) == len([*network.parameters()])
    for prediction in task.predict(network.eval(), [one.inputs for one in some], Ask()):
        assert prediction.look is not None
        assert all(isinstance(one, Interval) for one in prediction.look.columns)
        np.testing.assert_allclose(prediction.look.weights.sum(-1), 1, atol=1e-4)


def test_the_monotonic_penalty_is_in_the_loss_and_needs_attention() -> None:
    task, some = made(ctc_weight=0.0, monotonic=2.0)
    network, batch = task.network().eval(), task.collate(task.items(some))
    with_it = network(batch)
    network.monotonic = 0.0
    added = with_it.total - network(batch).total
    assert added.item() == pytest.approx(2 * len(some) * with_it.notes["back"].item(), rel=1e-3, abs=1e-5)
    plain = {"name": "plain", "embed": 4, "hidden": 4}
    with pytest.raises(RegardError, match=r"^monotonic=1.0 and decoder=plain"):
        made(ctc_weight=0.0, monotonic=1.0, decoder=plain)[0].network()


def test_a_transformer_reads_the_same_frames() -> None:
    encoder = {"name": "transformer", "size": 8, "layers": 1, "heads": 2, "ffn": 8}
    decoder = {"name": "transformer", "size": 8, "layers": 1, "heads": 2, "ffn": 8}
    task, some = made(encoder=encoder, decoder=decoder, attention={"score": "scaled_dot"})
    network = task.network().eval()
    assert torch.isfinite(network(task.collate(task.items(some))).total)
    assert len(task.predict(network, [one.inputs for one in some], Ask())) == 3


def test_in_silence_nothing_is_said() -> None:
    task, some = made()
    silent = wav_url(np.zeros(RATE, np.float32), RATE)
    found = task.predict(task.network().eval(), [some[0].inputs, (silent,), some[1].inputs], Ask())
    assert found[1].text == ""
    assert found[1].look is None
    assert found[0].look is not None
    assert found[2].look is not None


def test_what_cannot_be_learned_from_is_told() -> None:
    task = Transcribe(**{**small, "window": 1.0, "overlap": 0.2})
    with pytest.raises(
        RegardError, match=r"^m:TTTTTTTT: a recording of .* s to learn from; expected at most 1 s; cut it"
    ):
        task.learn(examples("E", "TTTTTTTT"))
    short = Example((wav_url(np.full(160, 0.1, np.float32), RATE),), "EE", "m:1")
    for weight, notes in ((0.3, ["1 recording too short for their text: CTC learns nothing from them"]), (0.0, [])):
        task = Transcribe(**{**small, "ctc_weight": weight})
        task.learn([short, *examples("E", "T")])
        assert task.notes == notes


def test_windows_cover_a_recording_and_share_their_overlap() -> None:
    task, _ = made(window=2.0, overlap=0.4)
    rows = task.windows(Sound("", "", 0.0, 5.0, hidden=(3, 45)))
    assert [(round(row.first, 6), round(row.last, 6)) for row in rows] == [(0, 2), (1.6, 3.6), (3.2, 5.0)]
    assert [row.hidden for row in rows] == [(3, 45), (5,), ()]
    with pytest.raises(RegardError, match=r"^overlap=1 with window=2; expected less than half a window"):
        made(window=2.0, overlap=1.0)


def test_windows_are_joined_at_the_quietest_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tones at 0.5, 1.75 (in the overlap) and 2.5 s; each window hears those that it holds. None is lost or twice."""
    task, _ = made(window=2.0, overlap=0.6)
    sound, heard = np.zeros(3 * RATE, np.float32), (0.5, 1.75, 2.5)  # and silence after 3 s, which is left out
    sound = np.pad(sound, (0, 2 * RATE))
    for time in heard:
        at = round(time * RATE)
        sound[at - 200 : at + 200] = 0.5
    letters = dict(zip(heard, task.target.encode(["E", "T", "E"], [""] * 3), strict=True))

    def searched(network: Any, rows: Any, ask: Ask) -> Any:
        found = []
        for row in rows:
            times = [time for time in heard if row.first <= time <= row.last]
            weights = np.zeros((len(times), task.sound.length(row)))
            for n, time in enumerate(times):
                weights[n, int((time - row.first) / task.sound.seconds)] = 1.0
            tokens = tuple(letters[time][0] for time in times)
            found.append([Hypothesis(tokens, -1.0, -1.0, weights)])
        return found, {}

    monkeypatch.setattr(task, "searched", searched)
    [prediction] = task.predict(task.network().eval(), [(wav_url(sound, RATE),)], Ask())
    assert prediction.text == "ETE"
    assert prediction.log_prob == -2
    looked = [prediction.look.columns[place] for place in prediction.look.weights.argmax(-1)]
    assert all(one.start <= time <= one.end for one, time in zip(looked, heard, strict=True))


def test_files_are_read_beside_their_table(tmp_path: Path) -> None:
    from regard.data.load import load

    task, _ = made()
    Morse(train=1, valid=0, test=0).splits()
    (tmp_path / "sound").mkdir()
    import base64

    for n, one in enumerate(examples("E", "T", "A", "N")):
        (tmp_path / "sound" / f"{n}.wav").write_bytes(base64.b64decode(one.source.partition(",")[2]))
    rows = "".join(f"sound/{n}.wav\t{text}\n" for n, text in enumerate("ETAN"))
    (tmp_path / "train.tsv").write_text("path\ttext\n" + rows, encoding="utf-8")
    splits = load("", [*task.fields.values()], task.known, train=str(tmp_path / "train.tsv"))
    everything = [*splits.train, *splits.valid, *splits.test]
    assert sorted(one.target for one in everything) == ["A", "E", "N", "T"]
    task.encode(everything)
