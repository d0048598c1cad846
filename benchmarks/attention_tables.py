"""The tables of docs/attention.md, made from what `attention.py` kept."""

from collections.abc import Callable, Mapping
from typing import Any

Results = Mapping[str, Mapping[str, Any]]
Row = Mapping[str, Any]


def _rows(results: Results, name: str) -> list[Row]:
    return list(results.get(name, {}).get("figures", {}).get("rows", ()))


def _digits(value: float) -> str:
    """Three of them."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ms(row: Row, way: str) -> str:
    if f"{way}_ms" in row:
        return f"{_digits(row[f'{way}_ms'])} ms"
    return "out of memory" if row.get(f"{way}_error") == "OutOfMemoryError" else "–"


def _memory(row: Row, way: str) -> str:
    value = row.get(f"{way}_mib")
    if value is None:
        return ""
    return f"{value / 1024:.1f} GiB" if value >= 1024 else f"{_digits(value)} MiB"


def _both(row: Row, way: str) -> str:
    return ", ".join(filter(None, (_ms(row, way), _memory(row, way))))


def _times(row: Row, key: str) -> str:
    value = row.get(key)
    return "–" if value is None else f"{_digits(value)}×"


def _case(row: Row) -> str:
    short = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[row["dtype"]]
    return f"{row['score']} {row['passes']}, B{row['batch']} T{row['length']} D{row['width']} {short}"


def _reach(row: Row) -> str:
    goals = [(row.get("reach_ms"), row.get("regard_ms"), "ms"), (row.get("reach_mib"), row.get("regard_mib"), "MiB")]
    told = [f"≤ {goal:g} {unit} {'✓' if got is not None and got <= goal else '✗'}" for goal, got, unit in goals if goal]
    return ", ".join(told)


def _table(head: str, lines: list[list[str]]) -> str:
    titles = head.split("|")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *lines])


def _where(results: Results, name: str) -> str:
    """Below a table: on what, with what, how fast a tanh is there."""
    record = results[name]
    hardware, versions, speeds = record["hardware"], record["versions"], record["figures"]["floor"]
    machine = hardware["gpu"] if name.endswith("_gpu") else f"{record['figures']['threads']} threads, {hardware['cpu']}"
    software = ", ".join(f"{what} {versions[what]}" for what in ("torch", "triton") if what in versions)
    names = {"tanh": "tanh/s", "tanh_exp": "(tanh and exp)/s"}
    speed = ", ".join(f"{_digits(speeds[what] / 1e9)} G {name}" for what, name in names.items() if what in speeds)
    return f"\n\n{machine}; {software}; {speed}; {record['date']}; [record](../benchmarks/results/{name}.json)."


def _unless_missing(name: str, command: str, table: Callable[[list[Row]], str]) -> Callable[[Results], str]:
    def made(results: Results) -> str:
        rows = _rows(results, name)
        return table(rows) + _where(results, name) if rows else f"Not measured yet: `{command}`."

    return made


def _targets(rows: list[Row]) -> str:
    head = (
        "case|PyTorch eager|torch.compile|regard|replayed as a graph|eager / regard|compile / regard|regard / floor|"
        "to reach"
    )
    lines = [
        [
            _case(row), _both(row, "eager"), _both(row, "compile"), f"**{_both(row, 'regard')}**",
            _ms(row, "regard_device"), _times(row, "to_eager"), _times(row, "to_compile"), _times(row, "to_floor"),
            _reach(row),
        ]
        for row in rows if not row["score"].startswith("selected")
    ]  # fmt: skip
    return _table(head, lines)


def _selected(rows: list[Row]) -> str:
    lines = [
        [_case(row), _both(row, "eager"), _both(row, "dense"), f"**{_both(row, 'regard')}**", _times(row, "to_dense")]
        for row in rows if row["score"].startswith("selected")
    ]  # fmt: skip
    return _table("case|PyTorch eager|all tokens, fused|a quarter chosen, fused|all / chosen", lines)


def _cpu(rows: list[Row]) -> str:
    head = "case|PyTorch eager|torch.compile|regard|eager / regard|compile / regard|regard / floor"
    lines = [
        [
            _case(row), _both(row, "eager"), _both(row, "compile"), f"**{_both(row, 'regard')}**",
            _times(row, "to_eager"), _times(row, "to_compile"), _times(row, "to_floor"),
        ]
        for row in rows
    ]  # fmt: skip
    return _table(head, lines)


def _lengths(rows: list[Row]) -> str:
    """A line a score and length: forward, then forward and backward."""
    keys = list(dict.fromkeys((row["score"], row["length"]) for row in rows))
    found = {(row["score"], row["length"], row["passes"]): row for row in rows}
    compiled = any("to_compile" in row for row in rows)
    ratios = ["to_eager", *["to_compile"] * compiled, "to_floor"]
    names = {"to_eager": "eager / regard", "to_compile": "compile / regard", "to_floor": "regard / floor"}
    head = ["score", "length"]
    for passes in ("forward", "forward + backward"):
        head += [passes, *(names[ratio] for ratio in ratios)]
    lines = []
    for score, length in keys:
        line = [score, str(length)]
        for passes in ("forward", "forward + backward"):
            row = found.get((score, length, passes), {})
            line += [_both(row, "regard"), *(_times(row, ratio) for ratio in ratios)]
        lines.append(line)
    return _table("|".join(head), lines)


attention: dict[str, Callable[[Results], str]] = {
    f"attention_{what}": _unless_missing(f"attention_{name}", f"python benchmarks/attention.py --set {option}", table)
    for what, name, option, table in (
        ("targets", "targets_gpu", "targets", _targets),
        ("selected", "targets_gpu", "targets", _selected),
        ("cpu", "cpu", "cpu", _cpu),
        ("lengths_gpu", "lengths_gpu", "lengths", _lengths),
        ("lengths_cpu", "lengths_cpu", "lengths", _lengths),
    )
}
