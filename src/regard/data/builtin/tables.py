"""Made weather records → what a forecast says of them: `day[Monday], place[Oslo], sky[cloudy], rain[70]` → "On Monday
it will be cloudy in Oslo. The chance of rain is 70 percent, so take an umbrella."

**A record has one text**, however many there are for its values: the order of the fields decides how it is put. What
comes first of place, day and sky opens the text; wind, rain and warmth are told in the order they are given in, each if
it is given; what is high may come before what is low, or after it. Some of it has to be understood rather than copied:
an umbrella goes with rain of 60 or more, "hot" with 28 degrees or more, frost with a night below zero.

**Places of valid and test are never met in training**, so they have to be copied: `source.delexicalise=["place"]` of
the task `describe` shows how. The alignment of every value is known.

    Tables(train=8_000).splits().train[0]
    say({"place": "Oslo", "day": "Monday", "sky": "cloudy"})
"""

from collections.abc import Mapping
from random import Random

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.builtin.headlines import Spans, fill
from regard.data.splits import Splits
from regard.records import RecordField, write
from regard.types import Example, Link

__all__ = ["Tables", "say"]

PLACES = """
Aachen Aarhus Adelaide Ankara Antwerp Athens Auckland Baku Basel Beirut Bergen Berlin Bilbao Bogota Bologna Boston
Bremen Bristol Brno Bruges Cadiz Cairo Calgary Cardiff Chicago Cologne Cork Dakar Dallas Delhi Denver Dresden Dublin
Durban Florence Galway Geneva Genoa Ghent Glasgow Graz Hamburg Hanoi Havana Helsinki Houston Istanbul Jakarta Kiel
Krakow Kyoto Lagos Leeds Leipzig Lima Lisbon London Lyon Madrid Malaga Malmo Manila Miami Milan Montreal Munich Nairobi
Nantes Naples Odense Osaka Oslo Ottawa Oxford Palermo Paris Perth Pisa Porto Prague Quito Riga Rome Rotterdam Santiago
Seattle Seoul Seville Sofia Stockholm Sydney Tallinn Tirana Tokyo Toronto Toulouse Trieste Turin Utrecht Valencia Venice
Verona Vienna Vilnius Warsaw York Zagreb Zurich
""".split()  # noqa: SIM905
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SKIES = ("sunny", "cloudy", "foggy", "stormy", "clear", "grey", "bright")
WINDS = ("north", "east", "south", "west")
OPENINGS = {
    "place": "In {place} it will be {sky} on {day}.",
    "day": "On {day} it will be {sky} in {place}.",
    "sky": "A {sky} day is expected in {place} on {day}.",
}


def sentence(first: str, there: Mapping[str, str]) -> str:
    """What is said of rain, wind or warmth, by the field that comes first of it."""
    if first == "wind":
        return "The wind comes from the {wind}."
    if first == "rain":
        return "The chance of rain is {rain} percent" + (", so take an umbrella." if int(there["rain"]) >= 60 else ".")
    high, low = int(there["high"]), int(there["low"])
    day = "a hot {high}" if high >= 28 else "{high}"
    night = "a frosty {low}" if low < 0 else "{low}"
    if first == "high":
        return f"By day it will be {day} degree{'s' * (high != 1)}, at night {night}."
    return f"At night it will be {night} degree{'s' * (low != 1)}, by day {day}."


def say(record: Mapping[str, str]) -> tuple[str, Spans]:
    """The text of a record, whose fields are in order, and where each value stands in it."""
    order = list(record)
    opening = next(name for name in order if name in OPENINGS)
    parts = [OPENINGS[opening]]
    told = set(OPENINGS)
    for name in order:
        if name not in told:
            parts.append(sentence(name, record))
            told |= {"high", "low"} if name in ("high", "low") else {name}
    return fill(" ".join(parts), record)


def draw(rng: Random, places: list[str]) -> dict[str, str]:
    """A record with its fields in random order."""
    fields = {"place": rng.choice(places), "day": rng.choice(DAYS), "sky": rng.choice(SKIES)}
    if rng.random() < 0.7:
        low = rng.randrange(-9, 26)
        fields |= {"high": str(low + rng.randrange(1, 11)), "low": str(low)}
    if rng.random() < 0.6:
        fields["rain"] = str(rng.randrange(0, 101, 10))
    if rng.random() < 0.6:
        fields["wind"] = rng.choice(WINDS)
    return {name: fields[name] for name in rng.sample(list(fields), len(fields))}


def example(record: Mapping[str, str]) -> Example:
    target, there = say(record)
    links, place, fields = [], 0, [RecordField(*field) for field in record.items()]
    for field in fields:
        place += len(field.name) + 1
        links.append(Link(*there[field.name], place, place + len(field.value)))
        place += len(field.value) + len("], ")
    return Example((write(fields),), target, "builtin:tables", tuple(links))


class Tables(Builtin):
    """Weather records → short forecasts (describe)."""

    def __init__(
        self, train: TrainSize = 8_000, valid: ValidSize = 500, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def splits(self) -> Splits:
        places = Random(f"{self.seed} tables").sample(PLACES, len(PLACES))
        valid, test = len(places) * 80 // 100, len(places) * 88 // 100
        return Splits(
            train=self._make("train", self.train, places[:valid]),
            valid=self._make("valid", self.valid, places[valid:test]),
            test=self._make("test", self.test, places[test:]),
        )

    def _make(self, split: str, size: int, places: list[str]) -> list[Example]:
        rng = Random(f"{self.seed} tables {split}")
        return [example(draw(rng, places)) for _ in range(size)]
