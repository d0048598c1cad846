"""Histories: one device in each, its accessory next, and the link between them."""

from random import Random

from regard.data.builtin.histories import DEVICES, LONGEST, ORDINARY, SHORTEST, Histories


def test_the_device_is_the_cause() -> None:
    ids = [f"p{number:03d}" for number in range(2 * DEVICES + ORDINARY)]
    Random("1 products").shuffle(ids)
    accessory = dict(zip(ids[:DEVICES], ids[DEVICES : 2 * DEVICES], strict=True))
    for example in Histories(train=200, valid=1, test=1).splits().train:
        items = example.source.split()
        assert SHORTEST <= len(items) <= LONGEST
        assert len(set(items)) == len(items)
        [device] = [one for one in items if one in accessory]
        assert example.target == accessory[device]
        [link] = example.links
        assert example.source[link.source_start : link.source_end] == device
        assert not set(items) & set(accessory.values())


def test_parts_share_no_history() -> None:
    splits = Histories(train=300, valid=50, test=50).splits()
    parts = [{one.inputs for one in part} for part in (splits.train, splits.valid, splits.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 400
