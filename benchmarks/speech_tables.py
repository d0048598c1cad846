"""The table of docs/speech.md, from what transcribe.py kept."""

from collections.abc import Mapping
from typing import Any

Results = Mapping[str, Mapping[str, Any]]

SETS = {
    "transcribe_morse": "Morse code, 10 dB (CER ≤ 2 %, command ≤ 180 s)",
    "transcribe_digits": "strings of digits, unseen speaker (WER ≤ 3 %)",
}
MODELS = {
    "joint": "attention and CTC",
    "attention": "attention alone",
    "ctc": "CTC alone",
    "no_attention": "no attention",
}


def speech(results: Results) -> str:
    """A row for each model and data set that was measured."""
    lines = [
        "| data | model | CER | WER | timing | weight on the sound | equal weights | command | real time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, data in SETS.items():
        figures = results.get(name, {}).get("figures", {})
        for key, model in MODELS.items():
            if one := figures.get(key):
                timed = [
                    f"{one[part]:.1%}" if part in one else "–" for part in ("timing", "timing_mass", "timing_chance")
                ]
                cells = [
                    f"{one['cer']:.1%}",
                    f"{one['wer']:.1%}",
                    *timed,
                    f"{one['seconds']:.0f} s",
                    f"{one['real_time']:.3f}",
                ]
                lines.append(f"| {data} | {model} | {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else "Not measured yet."


tables = {"speech": speech}
