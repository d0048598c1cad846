"""All steps of cleaning, and each switched off."""

from regard.messages.clean import STEPS, Cleaning

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
