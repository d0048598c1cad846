"""Made messages → short replies: invitations, requests, questions, thanks, news; mails and chat lines.

Each message is of a kind, and a kind allows some intents of reply (an invitation may be accepted, declined or put off),
each said in several ways. Some kinds get no reply (newsletters, notices) or one that nobody could have guessed (where
something is). Half of the messages are dressed as mails, with a greeting, a closing and sometimes a signature or quoted
text, so that there is something to clean.

**What is right is known**: `INTENT` has the intent of every short reply, `KINDS` the intents that suit a message.

    Conversations(train=5_000).splits().train[0]
    INTENT["I'd love to."]      # "accept"
"""

from random import Random
from typing import NamedTuple

from regard.data.builtin._builtin import DataSeed, Hashed, TestSize, TrainSize, ValidSize
from regard.data.splits import place
from regard.types import Example

__all__ = ["INTENT", "KINDS", "REPLIES", "Conversations", "Kind"]

WORDS = {
    "who": ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Iris", "Jonas", "Karen", "Leo"],
    "day": [
        "today",
        "tomorrow",
        "on Monday",
        "on Tuesday",
        "on Wednesday",
        "on Thursday",
        "on Friday",
        "next week",
        "this weekend",
    ],
    "doc": [
        "report",
        "slides",
        "contract",
        "budget",
        "draft",
        "agenda",
        "invoice",
        "minutes",
        "photos",
        "schedule",
        "proposal",
        "summary",
    ],
    "meal": ["lunch", "dinner", "coffee", "a walk", "a drink", "breakfast", "a game of tennis", "a film"],
    "event": ["the party", "the workshop", "the team meeting", "the concert", "the picnic", "the training", "the fair"],
    "thing": ["the keys", "the projector", "the red folder", "the spare cable", "the big room", "the old printer"],
    "place": ["the kitchen", "the hall", "room 12", "the second floor", "the office in Leeds", "the car park"],
    "idea": [
        "paint the wall blue",
        "start an hour earlier",
        "use the new logo",
        "order pizza",
        "hire a van",
        "skip the meeting",
        "invite the other team",
        "move the desks",
    ],
    "win": [
        "I passed my exam",
        "we won the match",
        "I got the job",
        "our offer was accepted",
        "my paper was printed",
        "we found a house",
    ],
    "slip": ["for being late", "for the mix-up", "that I missed your call", "for the noise", "that I forgot the cake"],
    "favour": [
        "your help",
        "the lift",
        "the flowers",
        "looking after the dog",
        "the quick answer",
        "the lovely evening",
    ],
    "product": ["running shoes", "garden chairs", "phone cases", "winter coats", "travel mugs"],
}
REPLIES = {
    "accept": "Yes, I'd love to.;Sure, count me in.;Sounds great!;Of course.;Yes, that works for me.;With pleasure.",
    "decline": "Sorry, I can't.;No, I can't make it.;Unfortunately I'm busy.;I'm afraid I can't.;No, thank you.",
    "postpone": "Maybe another time.;Can we reschedule?;Could we move it to next week?;Later, perhaps.",
    "do": "Will do.;I'll send it right away.;I'll take care of it.;Consider it done.;I'm on it.",
    "done": "It is ready.;I have just finished it.;It's all set.;I finished it this morning.",
    "not yet": "Not yet, I need one more day.;I'm still working on it.;It is almost ready.;Not yet.",
    "check": "Let me check.;I'll look into it.;I'll find out and let you know.;Let me see.",
    "welcome": "You're welcome!;My pleasure.;Don't mention it.;You are very welcome.",
    "forgive": "No problem at all.;No worries!;Don't worry about it.;It happens.",
    "congratulate": "Congratulations!;Well done!;Congratulations, that is wonderful news!;Good for you!",
    "agree": "I agree.;Good idea.;I think so too.;You're right, let's do it.",
    "disagree": "I don't think so.;I don't agree.;I'm not sure that is wise.;I would rather not.",
    "thank": "Thanks for letting me know.;Thank you for the information.;Thanks for telling me.",
    "greet": "Hello!;Hi there!;Good morning!;Hey, how are you?",
    "goodbye": "See you!;Goodbye!;Have a nice day!;Take care!",
}
INTENT = {reply: intent for intent, replies in REPLIES.items() for reply in replies.split(";")}
SAID = {intent: replies.split(";") for intent, replies in REPLIES.items()}


class Kind(NamedTuple):
    """Messages of one kind, and the intents of reply that suit them; none where no short reply does."""

    messages: tuple[str, ...]
    intents: tuple[str, ...]
    long: tuple[str, ...] = ()  # replies that nobody could have guessed


KINDS = {
    "invitation": Kind(
        (
            "Would you like to have {meal} {day}?",
            "Do you want to join us for {meal} {day}?",
            "Can you come to {event} {day}?",
            "We are having {meal} {day}, are you in?",
            "Are you free for {meal} {day}?",
            "Will you be at {event} {day}?",
        ),
        ("accept", "decline", "postpone"),
    ),
    "request": Kind(
        (
            "Could you send me the {doc} {day}?",
            "Please send the {doc} to {who} {day}.",
            "Can you bring {thing} {day}?",
            "I need the {doc} {day}, can you help?",
            "Please have a look at the {doc} before we meet {day}.",
        ),
        ("do", "decline", "check"),
    ),
    "question": Kind(
        (
            "Is the {doc} ready?",
            "Have you finished the {doc} for {who}?",
            "How far are you with the {doc}?",
            "Did you get the {doc} done that {who} asked for?",
        ),
        ("done", "not yet", "check"),
    ),
    "proposal": Kind(
        (
            "I think we should {idea}.",
            "Shall we {idea} {day}?",
            "What if we {idea}?",
            "{who} wants to {idea}, do you agree?",
        ),
        ("agree", "disagree"),
    ),
    "thanks": Kind(
        (
            "Thank you so much for {favour}!",
            "Thanks again for {favour}, {who} was delighted.",
            "Many thanks for {favour}.",
        ),
        ("welcome",),
    ),
    "apology": Kind(
        ("Sorry {slip}.", "I want to apologise {slip}.", "I am so sorry {slip}, it won't happen again."), ("forgive",)
    ),
    "news": Kind(("Guess what, {win}!", "I am so happy, {win}!", "Good news: {win}."), ("congratulate",)),
    "notice": Kind(
        (
            "{event} is moved to {day}.",
            "{who} will be away {day}.",
            "{thing} can be found in {place} now.",
            "The lift is out of order {day}.",
        ),
        ("thank",),
    ),
    "hello": Kind(("Good morning {who}!", "Hi, it's {who}.", "Hello from {who}!"), ("greet",)),
    "parting": Kind(
        ("I have to go now, bye!", "See you {day}!", "That's all for now, talk to you {day}."), ("goodbye",)
    ),
    "where": Kind(
        (
            "Where did you put {thing}?",
            "Where is {event} {day}?",
            "Who has {thing}?",
            "What should I write to {who} about the {doc}?",
        ),
        (),
        (
            "Look behind the door of {place}, {who} left it there after the last time we used it.",
            "Ask {who}, who moved it to {place} when the painters came, and tell me if it is not there.",
        ),
    ),
    "newsletter": Kind(
        (
            "New {product} in our shop: 20% off {day}. Click www.shop.example to order.",
            "Your weekly digest: {event}, {meal} and more. Unsubscribe at www.news.example.",
            "This is an automatic message. The {doc} was uploaded {day}. Do not answer this mail.",
            "Backup finished {day}. 312 files were copied.",
        ),
        (),
    ),
}
SHARES = {"invitation": 4, "request": 4, "question": 3, "proposal": 2, "where": 3, "newsletter": 3}  # of 25; others 1
GREETINGS = ("Hi {who},\n", "Dear {who},\n\n", "Hello {who},\n", "Good morning,\n\n")
CLOSINGS = ("\n\nBest regards,\n{who}", "\nThanks,\n{who}", "\n\nCheers\n{who}", "\n{who}")
BELOW = (
    "\n-- \n{who}\nPhone: +44 20 7946 0000",
    "\n\nOn Mon, Mar 4, {who} wrote:\n> I have to think about it.",
    "\n\nSent from my phone",
)


def fill(template: str, rng: Random) -> str:
    """The template with a word in each blank."""
    return template.format(**{kind: rng.choice(words) for kind, words in WORDS.items()})


def dressed(message: str, rng: Random) -> str:
    """The message as a mail."""
    mail = fill(rng.choice(GREETINGS), rng) + message
    if rng.random() < 0.7:
        mail += fill(rng.choice(CLOSINGS), rng)
    return mail + fill(rng.choice(BELOW), rng) * (rng.random() < 0.3)


class Conversations(Hashed):
    """Messages → short replies (reply)."""

    def __init__(
        self, train: TrainSize = 6_000, valid: ValidSize = 500, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        """A message's own hash says to which part it belongs, before it is dressed as a mail."""
        rng = Random(f"{self.seed} conversations {split}")
        kinds = [name for name in KINDS for _ in range(SHARES.get(name, 1))]
        made: list[Example] = []
        while len(made) < size:
            kind = KINDS[rng.choice(kinds)]
            message = fill(rng.choice(kind.messages), rng)
            message = message[0].upper() + message[1:]
            if not first <= place((message,), self.seed) < last:
                continue
            reply = ""
            if kind.intents:
                reply = rng.choice(SAID[rng.choice(kind.intents)])
            elif kind.long:
                reply = fill(rng.choice(kind.long), rng)
            mail = dressed(message, rng) if rng.random() < 0.5 else message
            made.append(Example((mail,), reply, "builtin:conversations"))
        return made
