"""Cleaning, step by step; what is sensitive and what unsuitable; intents, polarity; the choice of three."""

from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.messages.allowed import AllowedReply, made, read_replies, write_replies
from regard.messages.choose import choose
from regard.messages.clean import STEPS, Cleaning
from regard.messages.entities import placeholders
from regard.messages.intents import clustered, intents, polarity
from regard.messages.language import language
from regard.messages.normal import key, normal
from regard.messages.quoted import without_quoted
from regard.messages.salutation import without_closing, without_greeting
from regard.messages.sensitive import Terms, sensitive
from regard.messages.signature import without_signature
from regard.messages.unsuitable import unsuitable

MAIL = """Hi Ann,

is the report of March 3 ready? Call Mr. Brown at 555-0123 before 5 pm.

Best regards,
Ben Miller
--
Miller & Sons
+44 20 7946 0000

On Mon, Mar 4, Ann Smith wrote:
> When do you need it?
"""


def test_one_form_for_what_was_typed_in_several() -> None:
    assert normal("Well , I ’ m  fine .") == "Well, I'm fine."
    assert key("I'm fine.") == key("i ' m fine !") == "i'm fine"
    assert key("Really?") != key("Really.")
    assert key(" ... ") == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Fine.\n\nOn Mon, Mar 4, Ann wrote:\n> Shall we?", "Fine."),
        ("Fine.\nOn Monday the fourth of March 2024,\nAnn Smith wrote:\n> Shall we?", "Fine."),
        ("Ok\n-----Original Message-----\nFrom: x", "Ok"),
        ("See below.\n\nFrom: Ann\nSent: Monday\nTo: Ben\nSubject: x\nHello", "See below."),
        ("> Shall we?\nYes.\n> And then?\nLater.", "Yes.\nLater."),
        ("On Monday we wrote it.", "On Monday we wrote it."),
        ("From: here to there", "From: here to there"),
    ],
)
def test_quoted_text(text: str, left: str) -> None:
    assert without_quoted(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See you.\n-- \nAnn\nPhone: 1", "See you."),
        ("See you.\n\nAnn Miller\n+44 20 7946 0000", "See you."),
        ("See you.\nSent from my phone", "See you."),
        ("Write to ann@x.org", "Write to ann@x.org"),
        ("--\nAnn", "--\nAnn"),
    ],
)
def test_signatures(text: str, left: str) -> None:
    assert without_signature(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi Ann,\ncan you come?", "can you come?"),
        ("Dear Mr. Brown,\n\nplease call.", "please call."),
        ("Good morning!\nAny news?", "Any news?"),
        ("Hello!", "Hello!"),
        ("High time we met.", "High time we met."),
        ("Hi there", "Hi there"),
    ],
)
def test_greetings(text: str, left: str) -> None:
    assert without_greeting(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Can you come?\nBest regards,\nBen", "Can you come?"),
        ("Can you come? Thanks, Ben", "Can you come?"),
        ("Can you come?\nBen", "Can you come?"),
        ("Thanks!", "Thanks!"),
        ("I give my best", "I give my best"),
    ],
)
def test_closings(text: str, left: str) -> None:
    assert without_closing(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https://a.org/x?y=1 now", "see _url_ now"),
        ("mail a.b@c.org", "mail _email_"),
        ("it costs $5,000 or 20 euros", "it costs _money_ or _money_"),
        ("on March 3, 2024 or 5/6/24", "on _date_ or _date_"),
        ("at 5:30 pm or 7 pm", "at _time_ or _time_"),
        ("call 555-0123 or +44 20 7946 0000", "call _phone_ or _phone_"),
        ("3 people, 20%", "_number_ people, _number_"),
        ("ask Anna Smith and Mr. Brown", "ask _name_ and _name_"),
        ("Anna came. I saw Monday", "Anna came. I saw Monday"),
        ("yes How are you", "yes How are you"),
    ],
)
def test_entities(text: str, left: str) -> None:
    assert placeholders(text) == left


def test_all_steps_and_each_can_be_off() -> None:
    assert Cleaning()(MAIL) == "is the report of _date_ ready? Call _name_ at _phone_ before _time_."
    names = [name for name, _ in Cleaning().steps(MAIL)]
    assert names == ["as it came", *STEPS, "one line"]
    only = {
        "quoted": ("Yes.\n> need it?", "need it"),
        "signature": ("Yes.\n-- \nMiller & Sons", "Sons"),
        "greeting": ("Hi Ann,\nyes.", "Hi"),
        "closing": ("Yes.\nBest regards,\nBen", "regards"),
        "entities": ("On March 3.", "March"),
    }
    assert only.keys() == STEPS.keys()
    for name, (text, mark) in only.items():
        off = Cleaning(**{name: False})
        assert (mark in Cleaning()(text), mark in off(text)) == (False, True)
        assert name not in [step for step, _ in off.steps(MAIL)]
    assert Cleaning(characters=5)("abcdefgh") == "abcde"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Can you send me the report?", "en"),
        ("Kannst du mir bitte den Bericht schicken?", "de"),
        ("Peux-tu m'envoyer le rapport avant la fin de la semaine ?", "fr"),
        ("Me puedes enviar el informe por la tarde, por favor", "es"),
        ("Привет, как дела?", "ru"),
        ("明日会えますか", "ja"),
        ("ok", ""),
        ("", ""),
    ],
)
def test_languages(text: str, told: str) -> None:
    assert language(text) == told


def test_terms_are_whole_words_with_gaps_and_ends() -> None:
    there = Terms(["kill*", "lost my ... mother", "icu"])
    assert all(map(there, ["They killed it.", "I lost my mother", "I lost my dear old mother", "in the ICU."]))
    assert not any(map(there, ["skill", "I lost my keys", "I lost my one two three four five mother", "icus"]))


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("My father passed away last night.", "death"),
        ("I want to end my life.", "self-harm"),
        ("The biopsy is on Monday.", "health"),
        ("I was fired today.", "dismissal"),
        ("What is your password?", "credentials and payment"),
        ("You are an idiot.", "insult"),
        ("See you on Friday at the station.", ""),
        ("How is your skill set?", ""),
    ],
)
def test_sensitive_subjects(text: str, subject: str) -> None:
    assert sensitive(text) == subject


@pytest.mark.parametrize(
    ("reply", "why"),
    [("Shut up.", "rude"), ("At _time_.", "placeholder"), ("!!!", "no words"), ("I love you", "intimate"), ("Sure!", "")],
)
def test_unsuitable_replies(reply: str, why: str) -> None:
    assert unsuitable(reply) == why


def test_polarity_and_intents() -> None:
    assert [polarity(one) for one in ("Yes, sure.", "No, sorry.", "No problem.", "It is on the table.")] == [
        "positive", "negative", "positive", "neutral",
    ]  # fmt: skip
    replies = ["Yes, I can.", "Sure!", "No, sorry.", "It is on the table.", "On the table.", "You're welcome."]
    assert intents(replies) == ["accept", "accept", "decline", "it is on the table", "it is on the table", "welcome"]
    assert intents(replies) == intents(replies)


def test_clusters_are_led_by_their_first_and_do_not_depend_on_chance() -> None:
    texts = ["the blue car", "a red house", "blue car", "red house here", "seven apples"]
    assert clustered(texts) == [0, 1, 0, 1, 4]
    assert clustered([]) == []


def test_allowed_replies_are_the_frequent_suitable_ones(tmp_path: Path) -> None:
    data = ["Sure!", "sure", "Sure!", "No, sorry.", "At _time_.", "Shut up.", "a b c d e f g h i j k", "  "]
    found = made(data)
    assert [(one.text, one.intent, one.polarity, one.count) for one in found] == [
        ("Sure!", "accept", "positive", 3), ("No, sorry.", "decline", "negative", 1),
    ]  # fmt: skip
    assert [one.text for one in made(data, most=1)] == ["Sure!"]
    assert [one.text for one in made(data, min_count=2)] == ["Sure!"]
    path = write_replies(tmp_path / "replies.tsv", found)
    assert read_replies(path) == found
    path.write_text("Maybe later.\nYes.\tagree\n")
    assert [(one.text, one.intent) for one in read_replies(path)] == [("Maybe later.", "postpone"), ("Yes.", "agree")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no replies"),
        ("Yes.\na\tb\tc\td\te", "2: 5 fields"),
        ("Yes.\tx\thappy", "polarity 'happy'; expected positive"),
        ("Yes.\tx\tpositive\tmany", "count 'many'"),
        ("Yes.\nyes!", "stands in line 1 too"),
        ("...", "without words"),
    ],
)
def test_a_file_of_replies_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "replies.tsv"
    path.write_text(text)
    with pytest.raises(RegardError, match=said):
        read_replies(path)


def test_three_that_differ() -> None:
    def reply(text: str, intent: str, side: str) -> AllowedReply:
        return AllowedReply(text, intent, side, 1)  # type: ignore[arg-type]

    replies = [
        reply("Yes.", "accept", "positive"), reply("Sure.", "accept", "positive"), reply("Great!", "praise", "positive"),
        reply("Thanks!", "thank", "positive"), reply("No.", "decline", "negative"), reply("Where?", "where", "neutral"),
    ]  # fmt: skip
    scores = [-1.0, -1.1, -1.5, -1.6, -2.0, -9.0]
    order = [0, 1, 2, 3, 4, 5]
    assert choose(order, scores, replies) == [0, 2, 4]  # one of each intent, and a no in the last place
    assert choose(order, scores, replies, opposite=0.5) == [0, 2, 3]
    assert choose(order, scores, replies, within=0.3, opposite=0.3) == [0]
    assert choose(order, scores, replies, count=2) == [0, 4]
    assert choose([], [], []) == []
    assert choose([4, 5], scores, replies) == [4]
