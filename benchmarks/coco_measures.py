"""Captions measured by the code of the COCO evaluation (pycocoevalcap): BLEU, METEOR 1.5, ROUGE-L and CIDEr-D.

    python benchmarks/caption.py flickr8k PATH --texts captions.json
    python benchmarks/coco_measures.py captions.json PATH --name caption_flickr8k_coco

PATH is the folder with Flickr8k.token.txt. Publications give these measures; METEOR 1.5 knows synonyms and paraphrases,
which `meteor` of regard does not. Needs Java and `pip install pycocoevalcap` (100 MB).
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

from record import record


def measured(texts: Mapping[str, str], references: Mapping[str, list[str]]) -> dict[str, float]:
    """All measures, 0 to 100, of a caption for each picture."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    tokenizer = PTBTokenizer()
    wanted = tokenizer.tokenize({name: [{"caption": text} for text in references[name]] for name in texts})
    written = tokenizer.tokenize({name: [{"caption": text}] for name, text in texts.items()})
    bleu = Bleu(4).compute_score(wanted, written, verbose=0)[0]
    found = {f"bleu{order}": value for order, value in enumerate(bleu, 1)}
    found["meteor"] = Meteor().compute_score(wanted, written)[0]
    found["rougeL"] = Rouge().compute_score(wanted, written)[0]
    found["cider_d"] = Cider().compute_score(wanted, written)[0]
    return {name: round(100 * float(value), 4) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path, help="what caption.py --texts wrote")
    parser.add_argument("path", type=Path, help="the folder of Flickr8k")
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    given = parser.parse_args()
    references = defaultdict(list)
    for line in (given.path / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition("\t")
        references[name.partition("#")[0]].append(text)
    rows: dict[str, list[dict[str, float]]] = {}
    for key, texts in sorted(json.loads(given.texts.read_text(encoding="utf-8")).items()):
        if texts:
            rows.setdefault(key.split()[0], []).append({**measured(texts, references), "tested": len(texts)})
    # What a person reaches: the first caption of each picture beside the others, one reference fewer than the models.
    tested = sorted(set().union(*json.loads(given.texts.read_text(encoding="utf-8")).values()))
    others = {name: references[name][1:] for name in tested}
    rows["human"] = [{**measured({name: references[name][0] for name in tested}, others), "tested": len(tested)}]
    figures = {name: {key: round(mean(run[key] for run in each), 4) for key in each[0]} for name, each in rows.items()}
    whole = {name: {**figures[name], "each": each} for name, each in rows.items()}
    print(json.dumps(whole, indent=2))
    if given.name:
        print(record(given.name, whole))


if __name__ == "__main__":
    main()
