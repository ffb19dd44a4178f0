"""The tables of docs/peers.md from what was measured."""

from ..measure import markdown


def text(found: dict) -> str:
    """Three tables in Markdown."""
    return "\n".join(table(found) for table in (costs, shifts, more))


def costs(found) -> str:
    """Size, time and memory."""
    rows = []
    for name, one in found.items():
        if "error" in one:
            rows.append([f"{name} {one['version']}", "fails", *[""] * 7])
            continue
        serve = one["serve"]
        served = (
            ["fails"] * 3
            if "error" in serve
            else [
                f"{serve['bytes'] / 1e6:.2f} MB",
                f"{serve['first']:.1f} s",
                f"{1e3 * serve['second']:.0f} ms",
            ]
        )
        rows.append(
            [
                f"{name} {one['version']}",
                f"{one['installed_bytes'] / 1e6:,.0f} MB",
                f"{one['import']:.1f} s",
                f"{one['prepare']:.1f} s",
                f"{1e3 * one['seconds_a_batch']:.0f} ms",
                f"{one['memory']} MB",
                *served,
            ]
        )
    return markdown(
        [
            "library",
            "installed",
            "import",
            "prepare",
            "a batch",
            "peak memory",
            "stored",
            "new process, first answer",
            "next answer",
        ],
        rows,
    )


def shifts(found) -> str:
    """Verdicts."""
    names = list(next(one for one in found.values() if "error" not in one)["shifts"])
    rows = []
    for name, one in found.items():
        if "error" not in one:
            rows.append(
                [
                    name,
                    f"{one['false_alarms']} of {one['num_unshifted']}",
                    f"{one['falsely_named']:.2f}",
                    *(_verdicts(one["shifts"][shift]) for shift in names),
                ]
            )
    return markdown(
        ["library", "false alarms", "columns named, of an unshifted batch", *names], rows
    )


def _verdicts(one) -> str:
    """How many batches were found, and the columns named in the first."""
    return f"{one['found']} of {one['of']}" + (
        f": {', '.join(one['named'])}" if one["named"] else ""
    )


def more(found) -> str:
    """Reports, segments, streams."""
    rows = []
    for name, one in found.items():
        if "error" in one:
            continue
        cells = [name]
        for job in ("report", "segments", "stream"):
            got = one.get(job)
            if got is None:
                cells.append("none: " + one["missing"].get(job, ""))
            elif "error" in got:
                cells.append("fails: " + got["error"].split("\n")[0][:80])
            else:
                what = {
                    "report": f"{one.get('page_bytes', 0) / 1e6:.2f} MB",
                    "segments": ", ".join(got["result"] or []) or "no day"
                    if job == "segments"
                    else "",
                    "stream": f"alarm at row {got['result']}" if got["result"] else "no alarm",
                }[job]
                cells.append(f"{what}, {got['seconds']:.1f} s")
        rows.append(cells)
    return markdown(["library", "report", "days called shifted", "stream"], rows)
