"""Which of many scored replies are suggested: few, likely, and of different meaning.

From the likeliest on, at most one of each intent, none that is much less likely than the first. Where all say yes and a
no is nearly as likely (or the other way round), it takes the last place (Kannan et al. 2016, "Smart Reply", section 5).

    choose([-1.0, -1.2, -2.0, -2.5, -3.0], replies)      # numbers of the replies, the likeliest first
"""

from collections.abc import Mapping, Sequence

from regard.messages.allowed import AllowedReply

__all__ = ["choose"]


def choose(
    order: Sequence[int],
    scores: Sequence[float] | Mapping[int, float],
    replies: Sequence[AllowedReply],
    count: int = 3,
    within: float = 3.0,
    opposite: float = 3.0,
) -> list[int]:
    """The replies to suggest. `order` has replies by falling score; a suggestion is at most `within` nats below the
    first, and one of the opposite polarity at most `opposite`."""
    chosen: list[int] = []
    near = [one for one in order if scores[one] >= scores[order[0]] - within] if order else []
    for one in near:
        if len(chosen) < count and all(replies[one].intent != replies[other].intent for other in chosen):
            chosen.append(one)
    sides = {replies[one].polarity for one in chosen}
    for mine, other in (("positive", "negative"), ("negative", "positive")):
        if mine in sides and other not in sides:
            found = next((one for one in near if replies[one].polarity == other), None)
            if found is not None and scores[found] >= scores[order[0]] - opposite:
                others = [one for one in chosen if replies[one].intent != replies[found].intent]
                chosen = [*others[: count - 1], found]
    return chosen
