"""The live page: it asks the service that gave it, says what went wrong in one line, and shows what changed."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browser import Visit, launched, location, role

from regard.look.attention_map import AttentionMap
from regard.look.page import page
from regard.look.scene import item, scene
from regard.regions import Token
from regard.types import Prediction

address = "http://regard.test"
runs: list[dict[str, Any]] = [
    {"name": "first run", "task": "translate", "roles": [role("text")], "searches": True, "badge": None},
    {
        "name": "pairs",
        "task": "entail",
        "roles": [role("premise"), role("hypothesis")],
        "searches": False,
        "badge": None,
    },
    {"name": "deep", "task": "translate", "roles": [role("text")], "searches": True, "layers": 3, "features": False},
    {"name": "wide", "task": "classify", "roles": [role("text")], "searches": False, "layers": 0, "features": True},
    {"name": "score", "task": "relate", "roles": [role("text")], "searches": False},
    {"name": "digits", "task": "classify", "roles": [role("image", "image")], "searches": False},
    {"name": "basket", "task": "classify", "roles": [role("items", "items")], "searches": False},
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


class Service:
    """Answers as the real one would: words are tokens, the answer is the input in capitals."""

    def __init__(self, browser: Any) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.trouble: tuple[int, dict[str, str], Any] | None = None
        self.visit = Visit(browser)
        self.page = self.visit.page
        self.page.route(f"{address}/**", self._answer)

    def open(self, hash: str = "") -> Any:
        self.page.goto(f"{address}/" + (f"#{hash}" if hash else ""))
        return self.page

    def _answer(self, route: Any) -> None:
        url = route.request.url
        if not url.startswith(f"{address}/api"):
            html = page(scene([], runs, "regard", live="api"))
            return route.fulfill(body=html, content_type="text/html; charset=utf-8")
        self.headers.append(route.request.headers)
        if self.trouble:
            status, headers, body = self.trouble
            text = body if isinstance(body, str) else json.dumps(body)
            return route.fulfill(status=status, headers=headers, body=text, content_type="application/json")
        question = route.request.post_data_json
        self.asked.append({"run": url.rsplit("/", 2)[1], **question})
        return route.fulfill(json={"items": [self._item(question, row) for row in range(len(question["inputs"]))]})

    def _item(self, question: dict[str, Any], row: int) -> dict[str, Any]:
        inputs = question["inputs"][row]
        drop_tokens = question["drop_tokens"][row] if question["drop_tokens"] else [[] for _ in inputs]
        tokens: list[Token] = []
        breaks = []
        for text, gone in zip(inputs, drop_tokens, strict=True):
            place = 0
            if tokens:
                breaks.append(len(tokens))
            for number, word in enumerate(text.split(" ")):
                if number not in gone:
                    tokens.append(Token(word, place, place + len(word)))
                place += len(word) + 1
        answer = " ".join(token.text for token in tokens).upper()
        rows = tuple(map(Token, answer.split(" "))) if len(inputs) == 1 else (Token("yes"),)
        weights = np.random.default_rng(len(answer)).dirichlet(np.ones(len(tokens)), len(rows))
        attention_map = AttentionMap(weights, rows, tuple(tokens), breaks=tuple(breaks))
        return item(0, inputs, Prediction(answer, -0.5, attention_map), drop_tokens)

    def close(self) -> None:
        if self.trouble:  # the browser itself notes an answer of 4xx or 5xx
            self.visit.troubles = [one for one in self.visit.troubles if "Failed to load resource" not in one]
        self.visit.close((address,))


@pytest.fixture
def service(browser: Any) -> Iterator[Service]:
    one = Service(browser)
    yield one
    one.close()


def ask(tab: Any, *texts: str) -> None:
    for number, text in enumerate(texts):
        tab.locator("textarea").nth(number).fill(text)
    tab.get_by_role("button", name="Look", exact=True).click()


def test_a_text_is_asked_and_answered(service: Service) -> None:
    tab = service.open()
    assert tab.locator("figure").count() == 0
    tab.get_by_label("beam width").fill("4")
    ask(tab, "the cat sat")
    tab.locator("strong", has_text="THE CAT SAT").wait_for()
    (asked,) = service.asked
    assert asked == {
        "run": "first%20run",
        "inputs": [["the cat sat"]],
        "look": True,
        "trace": True,
        "beam": 4,
        "drop_tokens": None,
        "layers": None,
        "features": None,
    }
    assert "authorization" not in service.headers[0]
    ask(tab, " ")
    assert tab.locator(".trouble").text_content() == "Write something first."


def test_a_pair_has_two_boxes(service: Service) -> None:
    tab = service.open()
    tab.get_by_label("Run").select_option("1")
    assert tab.locator(".fields label").all_text_contents() == ["premise", "hypothesis"]
    assert not tab.get_by_label("beam width").is_visible()
    tab.locator("textarea").first.fill("a b")
    tab.locator("textarea").last.fill("c d")
    tab.locator("textarea").last.press("Control+Enter")
    tab.locator("figure").wait_for()
    assert (service.asked[0]["run"], service.asked[0]["inputs"]) == ("pairs", [["a b", "c d"]])
    assert service.asked[0]["trace"] is False
    assert tab.locator(".role").all_text_contents() == ["premise", "hypothesis"]


@pytest.mark.sweep
def test_layers_and_features_are_asked_for_where_there_are_some(service: Service, browser: Any) -> None:
    tab = service.open("view=text")
    layers, features = tab.get_by_label("Layers"), tab.get_by_label("how many single features")
    assert not layers.is_visible()
    assert not features.is_visible()
    tab.get_by_label("Run").select_option("2")
    assert layers.locator("option").all_text_contents() == ["as trained", "1", "2", "3", "mean", "all"]
    layers.select_option("3")
    ask(tab, "the old cat")
    tab.locator("figure").wait_for()
    assert layers.input_value() == "3"
    tab.locator('[data-key="columns-1"]').click()
    tab.get_by_role("button", name="Leave out \u2068“old”\u2069").click()
    tab.locator(".changes").wait_for()
    tab.get_by_label("Run").select_option("3")
    assert not layers.is_visible()
    features.fill("4")
    ask(tab, "the dog")
    tab.locator("strong", has_text="THE DOG").wait_for()
    found = [(asked["run"], asked["layers"], asked["features"]) for asked in service.asked]
    assert found == [("deep", "3", None), ("deep", "3", None), ("wide", None, 4)]
    other = Service(browser)
    tab = other.open(location(tab).split("#")[1])
    tab.locator("strong", has_text="THE DOG").wait_for()
    assert (other.asked[0]["layers"], other.asked[0]["features"]) == (None, 4)
    other.close()


def test_a_score_stands_before_the_steps_of_its_scale(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tuple(Prediction(text, math.log(p)) for text, p in (("3", 0.5), ("4", 0.3), ("5", 0.2)))
    attention_map = AttentionMap(np.ones((1, 1)), (Token("3.7000"),), (Token("a"),))
    said = [
        Prediction("3.7000", None, attention_map, others=steps),
        Prediction("3", math.log(0.5), attention_map, others=steps[1:]),
    ]
    monkeypatch.setattr(service, "_item", lambda question, row: item(0, ["a"], said[len(service.asked) - 1]))
    tab = service.open()
    tab.get_by_label("Run").select_option("4")
    for label, summary, note, shown in (
        ("3.7000", "3 steps of the scale", 0, ["350%", "430%", "520%"]),
        ("3", "3 labels", 1, ["350%", "430%", "520%"]),
    ):
        ask(tab, "a")
        tab.locator("strong").get_by_text(label, exact=True).wait_for()
        assert tab.locator(".others summary").text_content() == summary
        assert tab.locator(".said-answer .note").count() == note
        assert tab.locator(".others li").all_text_contents() == shown


def test_the_sum_and_the_mean_of_an_answer_each_have_a_name(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the exponent of a mean is shown nowhere, for it is no probability."""
    attention_map = AttentionMap(np.ones((1, 1)), (Token("x"),), (Token("a"),))
    others = (Prediction("an other", -12.0, log_prob_per_token=-1.5), Prediction("impossible", -math.inf))
    said = Prediction("an answer", -8.435, attention_map, others=others, log_prob_per_token=-0.767)
    monkeypatch.setattr(service, "_item", lambda question, row: item(0, ["a"], said))
    tab = service.open()
    ask(tab, "a")
    tab.locator("strong").get_by_text("an answer", exact=True).wait_for()
    assert tab.locator(".said-answer .note").text_content() == "log-probability −8.44 (−0.77 per token)"
    assert tab.locator(".others li").all_text_contents() == [
        "an answer−8.44 (−0.77 per token)",
        "an other−12.00 (−1.50 per token)",
        "impossible",
    ]
    assert "46%" not in (tab.locator("main").text_content() or "")  # exp(−0.767)


def test_a_word_is_left_out_and_put_back(service: Service) -> None:
    tab = service.open("view=text")
    ask(tab, "the old cat sat")
    for place, word in ((1, "old"), (1, "cat")):  # the second stands where the first stood
        tab.locator("figure").last.locator(f'[data-key="columns-{place}"]').click()
        if word == "cat":
            tab.locator('[data-key="item"]').select_option("1")
            tab.get_by_role("button", name="Text", exact=True).click()
            tab.locator('[data-key="columns-1"]').first.click()
        tab.get_by_role("button", name=f"Leave out \u2068“{word}”\u2069").click()
        tab.locator(".changes").wait_for()
    assert [asked["drop_tokens"] for asked in service.asked] == [None, [[[1]]], [[[1, 2]]]]
    tab.locator(".said-answer", has_text="THE SAT").wait_for()
    assert tab.locator(".gone").all_text_contents() == [
        "without \u2068“old”\u2069",
        "without \u2068“old”\u2069, \u2068“cat”\u2069",
    ]
    assert tab.locator("figure").count() == 2
    tab.get_by_role("button", name="Put all back").click()
    tab.locator(".changes", has_text="THE OLD CAT SAT").wait_for()
    assert service.asked[-1]["drop_tokens"] is None


def test_a_word_is_replaced_and_what_changed_is_shown(service: Service) -> None:
    tab = service.open("view=text")
    ask(tab, "😀 old cat sat")
    tab.locator('[data-key="columns-2"]').click()
    tab.get_by_label("or write instead").fill("horse")
    tab.get_by_role("button", name="Replace", exact=True).click()
    changed = tab.locator(".changes")
    changed.wait_for()
    assert service.asked[-1]["inputs"] == [["😀 old horse sat"]]
    assert "from \u2068“😀 OLD CAT SAT”\u2069 to \u2068“😀 OLD HORSE SAT”\u2069" in changed.text_content()
    assert "became" in changed.text_content()


def test_a_link_asks_again(service: Service, browser: Any) -> None:
    tab = service.open()
    ask(tab, "a & b = <c>")
    tab.locator("figure").wait_for()
    tab.get_by_role("button", name="Text", exact=True).click()
    tab.locator('[data-key="rows-1"]').click()
    shared = location(tab).split("#")[1]
    other = Service(browser)
    tab = other.open(shared)
    tab.locator("strong", has_text="A & B = <C>").wait_for()
    assert tab.locator(".token.chosen").text_content() == "&"
    assert tab.locator("textarea").input_value() == "a & b = <c>"
    other.close()


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (
            413,
            {},
            {"detail": "at most 2,000 characters"},
            "more than this service takes. at most 2,000 characters",
        ),
        (422, {}, {"detail": "input 1: empty <b>"}, "The service cannot answer that. input 1: empty <b>"),
        (422, {}, {"detail": [{"loc": ["body"]}]}, "The service cannot answer that."),
        (429, {"Retry-After": "7"}, {}, "Too many questions at once; try again in 7 seconds."),
        (429, {}, "no", "Too many questions at once; try again in a moment."),
        (503, {}, {}, "The service is busy; try again in a moment."),
        (500, {}, "<h1>no</h1>", "The service answered with an error (500)."),
        (200, {}, "<h1>no</h1>", "The service answered with something that is not JSON."),
        (200, {}, {"items": []}, "The service gave no answer."),
    ],
)
def test_trouble_is_one_friendly_line(service: Service, status: int, headers: Any, body: Any, said: str) -> None:
    tab = service.open()
    service.trouble = (status, headers, body)
    ask(tab, "hello")
    tab.locator(".trouble", has_text=said).wait_for()
    assert tab.locator(".trouble b, .trouble h1").count() == 0
    assert tab.get_by_role("button", name="Look", exact=True).is_enabled()


def test_a_token_is_asked_for_and_kept_for_the_session(service: Service) -> None:
    tab = service.open()
    service.trouble = (401, {}, {})
    ask(tab, "hello")
    tab.get_by_label("Token").fill("s3cret")
    service.trouble = None
    tab.get_by_role("button", name="Use", exact=True).click()
    tab.locator("figure").wait_for()
    assert service.headers[-1]["authorization"] == "Bearer s3cret"
    assert "s3cret" not in location(tab)
    assert tab.evaluate("localStorage.length") == 0
    tab.reload()
    ask(tab, "again")
    tab.locator("strong", has_text="AGAIN").wait_for()
    assert service.headers[-1]["authorization"] == "Bearer s3cret"
    service.trouble = (401, {}, {})  # so that what the browser noted of the first answer is let pass


def test_a_service_may_keep_its_runs_to_those_who_have_the_token(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = list(runs)
    service = Service(browser)
    monkeypatch.setattr("test_page_live.runs", [])
    service.trouble = (401, {}, {})
    tab = service.open()
    tab.locator(".trouble", has_text="This service needs a token.").wait_for()
    assert tab.locator("textarea").count() == 0
    tab.get_by_label("Token").fill("s3cret")
    service.trouble = (200, {}, {"runs": known})
    tab.get_by_role("button", name="Use", exact=True).click()
    tab.locator("textarea").wait_for()
    assert service.headers[-1]["authorization"] == "Bearer s3cret"
    service.close()
