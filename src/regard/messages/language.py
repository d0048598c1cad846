"""Which language a text is in, by its commonest words and letters.

    language("Can you send me the report?")     # "en"
    language("ok")                              # "": too little to tell

Small words make up half of any running text and hardly overlap between languages. A language is told when its words
clearly outnumber those of every other one; letters of other scripts tell at once. Lists: the most frequent function
words of each language.
"""

import re

__all__ = ["LANGUAGES", "SMALL_WORDS", "language"]

WORDS = {
    "en": "the of and to in is you that it he was for on are as with his they at be this have from or had by not but what"
    " all were we when your can said there use an each which she do how their if will would about them my me so no yes"
    " please thanks could i'm it's don't did has been just get know like who why where some any good",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat"
    " dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr"
    " durch man sein wurde sei ich du wir ihr mich dir uns bitte danke kannst können ja nein was wann wo",
    "fr": "le la les de des et à un une est en que qui dans ce il pas plus pour sur se au par je vous nous avec ne son ont"
    " mais ou comme être sont cette aux était du tout fait leur elle si ces même merci bonjour oui non mon ma votre où"
    " quand peux pouvez c'est j'ai tu te toi moi s'il plaît d'un d'une qu'il n'est l'on",
    "es": "el la de que y a en un ser se no haber por con su para como estar tener le lo todo pero más hacer o poder este"
    " ir otro ese si me ya ver porque dar cuando él muy sin vez mucho saber qué sobre mi alguno mismo yo también hasta los"
    " las una es del al gracias hola sí puedes está",
    "it": "il di che e la a un in non per è una sono mi ho lo ha le si ti con cosa se io come da ci no questo qui hai sei"
    " del bene tu sì me più al mio perché lei solo te era gli tutto della così mia ne questa grazie ciao puoi sono",
    "nl": "de het een en van ik te dat die in is je niet zijn op aan met als voor er maar om hem dan zou of wat mijn men dit"
    " zo door over ze zich bij ook tot mij uit der daar haar naar heb hoe heeft hebben deze u want nog zal me zij nu ge"
    " geen omdat iets worden toch al waren veel meer doen bedankt kun",
    "pt": "o a de que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou"
    " ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter seus obrigado"
    " você olá sim pode",
}
LANGUAGES = frozenset(WORDS) | {"el", "ru", "zh", "ja", "ko", "ar", "he", "hi"}
SMALL_WORDS = {name: frozenset(words.split()) for name, words in WORDS.items()}
SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
}
LEAST = 2  # words of a language that must be there
LEAD = 1.5  # how many times those of the next one


def language(text: str) -> str:
    """The language as two letters; "" where there is too little to tell."""
    letters = sum(map(str.isalpha, text))
    for name, pattern in SCRIPTS.items():
        if letters and len(pattern.findall(text)) > 0.3 * letters:
            return name
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    counts = sorted(((sum(word in known for word in words), name) for name, known in SMALL_WORDS.items()), reverse=True)
    (first, name), (second, _) = counts[:2]
    return name if first >= LEAST and first >= LEAD * second else ""
