"""The table of docs/faithful.md, made from what `faithful.py` kept."""

from collections.abc import Callable, Mapping
from typing import Any

Results = Mapping[str, Mapping[str, Any]]


def faithful(results: Results) -> str:
    """A row a run: what each test found, and the verdict."""
    lines = [
        "| run | test score | τ, gradients | p < .05 | τ, leaving one out | p < .05 | shuffled, median TV | the same, "
        "largest weight ≥ .75 | adversarial, median JS | verdict |",
        "|" + "---|" * 10,
    ]
    for row in results.get("faithful", {}).get("figures", {}).get("rows", ()):
        summary, encoder = row["summary"], row["encoder"]
        taus = [summary[key] for key in ("tau_gradient", "tau_leave_one_out")]
        agree = [cell for tau in taus for cell in (_tau(tau), f"{tau['share_significant']:.0%}")]
        peaked = summary["shuffled"]["by_largest"][-1]
        name = encoder if isinstance(encoder, str) else encoder["name"]
        cells = [
            f"{row['name']} (`{row['task']}`, {name})",
            f"{row['best'].replace('_', ' ')} {row['test']:.3f}",
            *agree,
            f"{summary['shuffled']['median_tv']:.2f}",
            f"{peaked['median_tv']:.2f}" if peaked["cases"] else "–",
            f"{summary['adversarial']['median_js']:.2f}",
            f"**{summary['level']}**",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _tau(tau: Mapping[str, float]) -> str:
    return f"{tau['mean']:.2f} ± {tau['std']:.2f}"


tables: dict[str, Callable[[Results], str]] = {"faithful": faithful}
