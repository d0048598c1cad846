"""Official downloads → the folders that the other benchmarks read. docs/datasets.md says where each comes from.

    python benchmarks/prepare.py snli snli_1.0                    # → data/snli
    python benchmarks/prepare.py multi30k dataset/data/task1      # → data/multi30k, and data/multi30k/tok
    python benchmarks/prepare.py e2e e2e-dataset-1.0.0 --out e2e

The folder that was downloaded and unpacked comes first; nothing is downloaded here. SICK, SST and TREC need no
preparation.
"""

import argparse
import gzip
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from regard.files import write_whole

PARTS = ("train", "dev", "test")


def keep(path: Path, text: Iterable[str]) -> None:
    """Lines as a .gz that is the same whenever it is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, gzip.compress("".join(f"{line}\n" for line in text).encode(), mtime=0))


def lines(path: Path) -> list[str]:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().split("\n")[:-1]


def snli(source: Path, out: Path) -> None:
    """Label, premise and hypothesis, the words as the parser cut them; of the training pairs the first 100,000."""
    for part in PARTS:
        rows = [json.loads(line) for line in lines(source / f"snli_1.0_{part}.jsonl")]
        rows = [row for row in rows[: 100_000 if part == "train" else None] if row["gold_label"] != "-"]
        parses = ("sentence1_binary_parse", "sentence2_binary_parse")
        words = ([" ".join(re.findall(r"[^\s()]+", row[parse])) for parse in parses] for row in rows)
        keep(out / f"{part}.tsv.gz", ("\t".join([row["gold_label"], *w]) for row, w in zip(rows, words, strict=True)))


def multi30k(source: Path, out: Path) -> None:
    """Raw text, and in `tok` the same in lower case, normalised and tokenised, as it is distributed."""
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en", "fr"):
            keep(out / f"{part}.{language}.gz", lines(source / "raw" / f"{part}.{language}.gz"))
            keep(out / "tok" / f"{part}.{language}.gz", lines(source / "tok" / f"{part}.lc.norm.tok.{language}"))


def e2e(source: Path, out: Path) -> None:
    for part, name in zip(PARTS, ("trainset", "devset", "testset_w_refs"), strict=True):
        keep(out / f"{part}.csv.gz", lines(source / f"{name}.csv"))


def aeslc(source: Path, out: Path) -> None:
    """A mail a line: its body, its subject line and, in dev and test, those that people wrote for it."""
    for part in PARTS:
        mails = []
        for path in sorted((source / part).glob("*.subject")):
            body, *rest = re.split(r"^@(\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            found = {key: text.strip() for key, text in zip(rest[::2], rest[1::2], strict=True)}
            mails.append({"id": path.name, "body": body.strip(), **found})
        keep(out / f"{part}.jsonl.gz", (json.dumps(mail, ensure_ascii=False) for mail in mails))


def ptb(source: Path, out: Path) -> None:
    for part in ("train", "valid", "test"):
        keep(out / f"ptb.{part}.txt.gz", lines(source / f"ptb.{part}.txt"))


SETS: dict[str, Callable[[Path, Path], None]] = {one.__name__: one for one in (snli, multi30k, e2e, aeslc, ptb)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=SETS, help="the data set")
    parser.add_argument("source", type=Path, help="the folder that was downloaded and unpacked")
    parser.add_argument("--out", type=Path, help="where the files go (default: data/NAME)")
    given = parser.parse_args(arguments)
    out = given.out or Path("data") / given.name
    try:
        SETS[given.name](given.source, out)
    except FileNotFoundError as error:
        parser.error(f"{error.filename} is missing; expected the unpacked download of docs/datasets.md")
    print(f"Saved to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
