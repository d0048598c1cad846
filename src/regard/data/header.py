"""Whether the first line of a table is a header, and which columns are meant.

A header is recognised by names that are usual in the field, or by what sets it apart from the lines below: a word over
a column of numbers, a short name over texts whose label never occurs again. Every sign of it can be wrong, so the first
line has to look like names at all: short, different, no numbers, nothing that occurs again below. A header that is not
recognised costs an odd example; an example that is taken for a header costs that example, and a note says so.

    find(["id", "Review", "Sentiment"], fields)   # (1, 2): text and label
    is_header([["Review", "Sentiment"], ["a fine film", "good"], …], fields)
"""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from regard.fields import Field
from regard.find import find as part
from regard.find import names as parts

__all__ = ["all_usual_names", "find", "is_header", "usual_names"]

# Two inputs of one kind, inputs of a pair.
pair = (
    ("premise", "sentence1", "sentence_1", "sentence_a", "text1", "text_a", "question1", "s1", "context"),
    ("hypothesis", "sentence2", "sentence_2", "sentence_b", "text2", "text_b", "question2", "s2"),
)
codes = (
    "ar bg bn ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko lt lv mk ml mr",
    "ms mt my nb ne nl nn no pa pl ps pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh",
    "eng deu ger fra fre spa ita por rus zho chi jpn kor nld pol tur ara ces swe dan fin ell hun ron",
    "english german french spanish italian portuguese russian chinese japanese korean dutch polish turkish arabic",
    "czech swedish danish finnish greek hungarian romanian ukrainian hebrew hindi vietnamese indonesian thai persian",
    # what they are called in the languages that most parallel text is in
    "deutsch englisch französisch spanisch italienisch portugiesisch russisch chinesisch japanisch niederländisch",
    "polnisch türkisch arabisch schwedisch latein",
    "français anglais allemand espagnol italien portugais russe chinois japonais néerlandais polonais turc arabe latin",
    "español inglés alemán francés italiano portugués ruso chino japonés neerlandés polaco turco árabe latín",
    "inglese tedesco francese spagnolo portoghese russo cinese giapponese olandese polacco latino",
    "português inglês alemão francês espanhol chinês japonês holandês polonês",
    "nederlands engels duits frans spaans polski angielski niemiecki francuski türkçe ingilizce almanca",
    "русский английский немецкий французский испанский китайский українська англійська",
    "中文 英文 汉语 漢語 英语 英語 德语 德語 德文 法语 法文 西班牙语 俄语 日语 日文 韩语",
    "日本語 ドイツ語 フランス語 中国語",
    "한국어 영어 일본어 중국어 독일어 العربية الإنجليزية עברית אנגלית",
)
languages = set(" ".join(codes).split())
# What the two sides of a translation are called elsewhere.
sides = (
    *(("quelle", "ziel"), ("quelltext", "zieltext"), ("ausgangstext", "übersetzung"), ("original", "übersetzung")),
    *(("source", "cible"), ("original", "traduction"), ("origen", "destino"), ("original", "traducción")),
    *(("originale", "traduzione"), ("original", "tradução"), ("original", "translation"), ("bron", "doel")),
    *(("оригинал", "перевод"), ("原文", "译文"), ("原文", "訳文"), ("原文", "翻訳"), ("원문", "번역")),
)
beside = {"", "id", "index", "no", "nr", "idx", "unnamed:_0", "guid", "pair_id", "pairid", "split"}
sample = 100  # rows below the header that are looked at
few = 8  # rows without which what sets the first one apart means nothing


def usual_names(fields: Sequence[Field]) -> list[tuple[str, ...]]:
    """The usual names of each column, inputs first."""
    names = [field.headers for field in fields]
    if len(fields) == 3 and type(fields[0]) is type(fields[1]):
        names[:2] = pair
    return names


def all_usual_names() -> set[str]:
    """The usual names of columns of any kind."""
    known = [part("fields", name).headers for name in parts("fields")]
    return {name for some in (*known, *pair) for name in some}


def find(
    header: Sequence[str], fields: Sequence[Field], known: Sequence[Sequence[str]] = (), named: Sequence[str] = ()
) -> tuple[int, ...]:
    """The columns that are meant, the target last; empty if the names do not tell.

    `named` are those that the user named, "" for the others; `known` are sets of names that are taken whole.
    """
    chosen = [header.index(name) if name else -1 for name in named] or [-1] * len(fields)
    if not any(named):
        for names in known:
            if len(names) == len(fields) and set(names) <= set(header):
                return tuple(header.index(name) for name in names)
    there = [_plain(name) for name in header]
    if _are_places(there) and not any(named):
        chosen = [column for column, name in enumerate(header) if _is_number(name)]
        return tuple(chosen) if len(chosen) == len(fields) else ()
    pair_of_sides = next((one for one in sides if set(one) <= set(there)), None)
    if pair_of_sides and len(fields) == 2 and fields[1].words("") is not None and not any(named):
        return there.index(pair_of_sides[0]), there.index(pair_of_sides[1])
    for role, names in enumerate(usual_names(fields)):
        if chosen[role] < 0:
            free = [name for name in names if name in there and there.index(name) not in chosen]
            chosen[role] = there.index(free[0]) if free else -1
    left = [column for column in range(len(header)) if column not in chosen and there[column] not in beside]
    if len(left) == sum(one < 0 for one in chosen) and (
        any(named)
        or (len(fields) == 2 and fields[1].words("") is not None and all(there[one] in languages for one in left))
    ):
        chosen = [one if one >= 0 else left.pop(0) for one in chosen]
    return tuple(chosen) if min(chosen) >= 0 else ()


def is_header(rows: Sequence[Sequence[str]], fields: Sequence[Field], known: Sequence[Sequence[str]] = ()) -> bool:
    """Whether the first row names the columns of the others."""
    first, *others = rows
    below = [row for row in others[:sample] if len(row) == len(first)]
    if any(set(names) <= set(first) for names in known if len(names) == len(fields)):
        return True
    if _are_places([_plain(cell) for cell in first]):
        texts = [column for column, cell in enumerate(first) if cell == "0"]
        return len(first) > 1 and bool(below) and not any(_is_number(row[texts[0]]) for row in below)
    if not _are_names(first, below):
        return False
    columns = find(first, fields)
    there = {_plain(name) for name in first}
    if columns and (len(fields) > 1 or len(first) > 1 or there & {"text", "sentence", "content"}):
        return not there <= languages or _stands_out(first, below, range(len(first)))
    if len(below) < few:
        return False
    if any(all(map(_is_number, (row[column] for row in below))) for column in range(len(first)) if first[column]):
        return True
    if len(first) == len(fields) and any(
        not field.takes(first[column]) and all(field.takes(row[column]) for row in below)
        for column, field in enumerate(fields)
    ):
        return True
    usual_here = any(there & set(names) for names in usual_names(fields))
    if len(first) != len(fields) or len(fields) < 2:
        return usual_here and _stands_out(first, below, range(len(first)))
    inputs = range(len(fields) - 1)
    counts = Counter(row[-1] for row in below)
    labels = fields[-1].labels("") is not None and len(counts) <= len(below) / 3
    return (usual_here or labels) and _stands_out(first, below, inputs)


def _plain(name: str) -> str:
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


def _are_places(names: Sequence[str]) -> bool:
    """Whether columns are called 0, 1, …, as pandas calls them where they have no names."""
    own = [name for name in names if name not in ("", "unnamed:_0")]
    return own == [str(place) for place in range(len(own))] and len(names) - len(own) < 2


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _are_names(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Short, different, no numbers, and not found again in their columns."""
    names = [cell.strip() for cell in first]
    return (
        bool(any(names))
        and len({name.lower() for name in names}) == len(names)
        and all(len(name) <= 40 and len(name.split()) <= 4 and not _is_number(name) for name in names)
        and all(names[1:])  # the first may be without a name, as an index that pandas wrote
        and not any(cell.strip() == name for row in below for cell, name in zip(row, names, strict=True) if name)
    )


def _stands_out(first: Sequence[str], below: Sequence[Sequence[str]], columns: Sequence[int]) -> bool:
    """Whether the first row is far shorter than the texts below it."""
    return bool(below) and any(
        2 * len(first[column]) < median(len(row[column]) for row in below)
        and len(first[column]) < sorted(len(row[column]) for row in below)[len(below) // 20]
        and len(first[column].split()) <= 2
        for column in columns
    )
