"""The language of a message, where there is enough to tell."""

import pytest

from regard.messages.language import language


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
