"""Stories with questions: every answer is where it is said to be, and its sentence too."""

from random import Random

from regard.data.builtin.questions import Questions, story


def test_every_answer_is_a_part_of_its_story() -> None:
    splits = Questions(train=200, valid=20, test=30).splits()
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [200, 20, 30]
    for one in (*splits.train, *splits.valid, *splits.test):
        [(start, end)], [(first, last)] = one.spans, one.evidence
        assert one.source[start:end] == one.target
        assert first <= start < end <= last
        assert one.source[last - 1] == "."
        assert one.inputs[1].endswith("?")


def test_no_story_is_in_two_parts() -> None:
    splits = Questions(train=300, valid=30, test=30).splits()
    parts = [{one.source for one in part} for part in (splits.train, splits.valid, splits.test)]
    assert len(set.union(*parts)) == 360


def test_the_same_seed_gives_the_same_stories() -> None:
    assert Questions(train=5, valid=1, test=1).splits().train == Questions(train=5, valid=1, test=1).splits().train
    assert Questions(5, 1, 1, seed=2).splits().train != Questions(5, 1, 1).splits().train


def test_a_question_has_one_answer() -> None:
    for seed in range(50):
        _, questions = story(Random(seed))
        assert len({question for question, *_ in questions}) == len(questions)
