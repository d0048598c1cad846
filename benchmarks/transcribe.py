"""Speech to text: Morse code in noise, and strings of spoken digits by speakers that were never heard in training.

    python benchmarks/transcribe.py morse --name transcribe_morse              # attention, CTC, both, neither
    python benchmarks/transcribe.py digits DATA/speech_digits --name transcribe_digits
    python benchmarks/transcribe.py pictures RUN                               # those of docs/speech.md

DATA/speech_digits holds recordings.zip, the Free Spoken Digit Dataset: 3,000 recordings of single digits, six speakers.
Strings of one to eight digits are made from them, with pauses of 0 to 0.15 s; a string is said by one speaker. The
recordings of the held-out speaker (`--held theo`) are in the test set only, those of `--valid` in the validation set
only, and the other four train. `--only joint,ctc` measures some rows and keeps the rest of an earlier record; `--tiny`
checks the script. Trainings use the CPU.
"""

import argparse
import json
import os
import tempfile
import time
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from first import timed
from record import record, results

MODELS: dict[str, list[str]] = {
    "joint": [],
    "attention": ["ctc_weight=0"],
    "ctc": ["ctc_weight=1"],
    "no_attention": ["ctc_weight=0", "decoder=plain"],
}
KEPT = ("cer", "wer", "exact_match", "timing", "timing_mass", "timing_chance")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
RATE, PAUSE, LONGEST = 8_000, 0.15, 8
docs = Path(__file__).resolve().parent.parent / "docs"
TINY = ["train.steps=4", "train.validate_every=4", "train.max_validation=4"]


def measured(data: list[str], options: list[str], tiny: bool, test: list[str]) -> dict[str, Any]:
    """The measures on the test set, seconds of the training command, and how fast recordings are transcribed."""
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run")
        seconds, _ = timed("train", "transcribe", "--out", run, *data, *options, *(TINY if tiny else []))
        measures = json.loads(timed("evaluate", run, "--json")[1])
        found = {key: round(float(measures[key]), 4) for key in KEPT if key in measures}
        return {**found, "seconds": round(seconds, 1), **real_time(run, test[: 8 if tiny else 200])}


def real_time(run: str, recordings: list[str]) -> dict[str, float]:
    """Seconds of work for each second of sound, with the model loaded: in batches, and one recording at a time."""
    from regard import api
    from regard.fields.audio import Audio

    model = api.load(run)
    [field] = model.task.inputs.values()
    assert isinstance(field, Audio)
    length = [row.seconds for row in field.encode(recordings, [""] * len(recordings))]
    model.predict(recordings[:4])
    begun = time.perf_counter()
    model.predict(recordings)
    together = time.perf_counter() - begun
    few = recordings[:20]
    begun = time.perf_counter()
    for one in few:
        model.predict([one])
    alone = time.perf_counter() - begun
    return {
        "real_time": round(together / sum(length), 4),
        "real_time_alone": round(alone / sum(length[: len(few)]), 4),
        "sound_seconds": round(sum(length), 1),
    }


def morse(only: list[str], tiny: bool) -> dict[str, Any]:
    from regard.data.builtin.morse import Morse

    test = [example.source for example in Morse().splits().test]
    return {name: measured([], MODELS[name], tiny, test) for name in only}


def digits(data: Path, only: list[str], tiny: bool, held: str, valid: str, minutes: str, train: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        test = strings(data / "recordings.zip", Path(folder), held, valid, 40 if tiny else train)
        time_limit = [] if tiny else ["--time", minutes]
        how = ["--data", folder, *time_limit, f"audio.rate={RATE}", "audio.normalise=recording"]
        rows = {name: measured(how, MODELS[name], tiny, test) for name in only}
    return {"held_out": held, "validated_on": valid, "strings": train, **rows}


def strings(archive: Path, out: Path, held: str, valid: str, train: int, seed: int = 1) -> list[str]:
    """Strings of digits as WAV files with a table for each part; the files of the test set."""
    from regard.fields.audio import samples

    chance, sounds = np.random.default_rng(seed), dict[tuple[str, int], list[Any]]()
    with zipfile.ZipFile(archive) as packed, tempfile.TemporaryDirectory() as folder:
        for name in sorted(one for one in packed.namelist() if one.endswith(".wav")):
            digit, speaker, _ = Path(name).stem.split("_")
            path = Path(folder) / "one.wav"
            path.write_bytes(packed.read(name))
            sounds.setdefault((speaker, int(digit)), []).append(samples(str(path), name, RATE))
    others = [one for one in SPEAKERS if one not in (held, valid)]
    parts = {"train": (others, train), "valid": ([valid], min(100, train)), "test": ([held], min(400, train))}
    files = []
    for part, (speakers, count) in parts.items():
        rows = []
        for number in range(count):
            speaker = speakers[number % len(speakers)]
            said = chance.integers(0, 10, chance.integers(1, LONGEST + 1)).tolist()
            pieces = []
            for digit in said:
                every = sounds[speaker, digit]
                pause = np.zeros(int(chance.uniform(0, PAUSE) * RATE), np.float32)
                pieces += [every[chance.integers(len(every))], pause]
            name = f"{part}_{number}.wav"
            _write(out / name, np.concatenate(pieces))
            rows.append(f"{name}\t{' '.join(WORDS[digit] for digit in said)}\n")
            files += [str(out / name)] if part == "test" else []
        (out / f"{part}.tsv").write_text("path\ttext\n" + "".join(rows), encoding="utf-8")
    return files


def _write(path: Path, sound: Any) -> None:
    import base64

    from regard.fields.audio import wav_url

    path.write_bytes(BytesIO(base64.b64decode(wav_url(sound, RATE).partition(",")[2])).getvalue())


def pictures(run: str) -> dict[str, Any]:
    """A test recording that the model transcribes rightly, with its letters over the spectrogram."""
    from regard import api

    model = api.load(run)
    examples = [one for one in model.data().test if 5 <= len(one.target) <= 8][:20]
    answers = model.predict([one.source for one in examples])
    chosen = next(answer for one, answer in zip(examples, answers, strict=True) if answer.text == one.target)
    chosen.look.save(docs / "speech.png", caption=f"Morse code → {chosen.text}")
    return {"text": chosen.text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["morse", "digits", "pictures"])
    parser.add_argument("path", nargs="?", default="", help="the folder of the digits, or the run")
    parser.add_argument("--only", default="", help=f"rows to measure, of {', '.join(MODELS)}; empty: all")
    parser.add_argument("--held", default="theo", choices=SPEAKERS, help="the speaker of the test set")
    parser.add_argument("--valid", default="yweweler", choices=SPEAKERS, help="the speaker of the validation set")
    parser.add_argument("--time", default="15m", help="of each training on digits")
    parser.add_argument("--train", type=int, default=3_000, help="strings of digits to train on")
    parser.add_argument("--tiny", action="store_true", help="a few steps, to try it")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    if given.what != "morse" and not given.path:
        parser.error(f"{given.what} needs a folder")
    only = [one for one in given.only.split(",") if one] or [*MODELS]
    if given.what == "pictures":
        print(pictures(given.path))
        return
    if given.what == "morse":
        figures = morse(only, given.tiny)
    else:
        figures = digits(Path(given.path), only, given.tiny, given.held, given.valid, given.time, given.train)
    figures["cores"] = len(os.sched_getaffinity(0))
    print(json.dumps(figures, indent=2))
    if given.name:
        earlier = results / f"{given.name}.json"
        before = json.loads(earlier.read_text())["figures"] if given.only and earlier.exists() else {}
        print(record(given.name, {**before, **figures}))


if __name__ == "__main__":
    main()
