"""Long documents with a label, made of the data at hand.

needle   mails of AESLC one after the other, 500 to 2,000 words, with a question of TREC between two sentences; the
         label is the class of the question (6 classes). All but ten words are of no use.
titles   paragraphs of SQuAD about one subject, 500 to 2,000 words in random order; the label is the subject (the 20
         with the most paragraphs). Every sentence helps. A paragraph is in one part of the data alone.

    made("needle", DATA, folder, documents=3000)         # train.tsv, valid.tsv, test.tsv
"""

import gzip
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

SHORTEST, LONGEST = 500, 2_000  # words
PARTS = {"train": 0.8, "valid": 0.1, "test": 0.1}
SUBJECTS = 20


def words(text: str) -> str:
    """Lower case, one space between words and signs."""
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


def needle(data: Path, documents: int, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Part, document, label. Questions and mails of the test set are those of the original test sets."""
    questions: dict[str, list[list[str]]] = {}
    for part, name in (("train", "TREC.train.all"), ("test", "TREC.test.all")):
        lines = (data / "sentiment" / name).read_text(encoding="latin-1").splitlines()
        questions[part] = [line.split(maxsplit=1) for line in lines if line.strip()]
    chance.shuffle(questions["train"])
    held = len(questions["train"]) // 10
    questions["valid"], questions["train"] = questions["train"][:held], questions["train"][held:]
    mails = {}
    for part, name in (("train", "train"), ("valid", "dev"), ("test", "test")):
        with gzip.open(data / "aeslc" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            mails[part] = [words(_body(json.loads(line))) for line in file]
    for part, share in PARTS.items():
        for number in range(max(4, round(share * documents))):
            label, question = questions[part][number % len(questions[part])]
            size = chance.randint(SHORTEST, LONGEST)
            text: list[str] = []
            while len(text) < size:
                text += chance.choice(mails[part]).split()
            text = text[:size]
            ends = [place + 1 for place, word in enumerate(text) if word in (".", "?", "!")] or [0]
            place = chance.choice(ends)
            yield part, " ".join([*text[:place], *words(question).split(), *text[place:]]), label.split(":")[0]


def _body(mail: dict[str, str]) -> str:
    return max(mail.values(), key=lambda value: len(value) if isinstance(value, str) else 0)


def titles(data: Path, documents: int, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    with gzip.open(data / "squad" / "train.json.gz", "rt", encoding="utf-8") as file:
        subjects = json.load(file)["data"]
    most = sorted(subjects, key=lambda one: -len(one["paragraphs"]))[:SUBJECTS]
    pools: dict[tuple[str, str], list[str]] = {}
    for subject in most:
        paragraphs = [words(one["context"]) for one in subject["paragraphs"]]
        chance.shuffle(paragraphs)
        first, last = int(0.6 * len(paragraphs)), int(0.8 * len(paragraphs))
        for part, some in zip(PARTS, (paragraphs[:first], paragraphs[first:last], paragraphs[last:]), strict=True):
            pools[part, subject["title"]] = some
    for part, share in PARTS.items():
        for number in range(max(SUBJECTS, round(share * documents))):
            title = most[number % SUBJECTS]["title"]
            size, text = chance.randint(SHORTEST, LONGEST), list[str]()
            while len(text) < size:
                text += chance.choice(pools[part, title]).split()
            yield part, " ".join(text[:size]), title


def made(kind: str, data: Path, folder: Path, documents: int, seed: int = 1) -> dict[str, str]:
    """The files of each part."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[str]] = {part: [] for part in PARTS}
    for part, text, label in {"needle": needle, "titles": titles}[kind](data, documents, random.Random(seed)):
        rows[part].append(f"{text}\t{label}\n")
    for part, lines in rows.items():
        (folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")
    return {part: str(folder / f"{part}.tsv") for part in rows}
