#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the JSON reports of bench/compare_host.sh and prints how our host collectives stand.

usage: compare_host.py FOLDER     exit 0, or 2 when there is nothing to read

A report is a file PIECE-PASS.json, written by `ringside bench --format json`. Pieces: `peers*` and
`rewritten*` (`auto` beside other libraries), `limit*` (`auto` beside bare loops), `plans*` (plans
beside loops written by hand).

Every ratio is the median of same-round ratios (time of the other / ours). A block counts if the two
cache-line probes around it agree, two blocks of a round may be compared if their probes agree, and
rounds in which somebody else took the cores are left out. Where too few pairs remain, all are used,
and the cell is marked: ! the cores were shared, ? the cores moved.
"""
import collections
import dataclasses
import json
import math
import pathlib
import statistics
import sys

PROBES_AGREE = 1.25  # placements differ by a factor of 2 and more
FOREIGN_CPU = 0.15  # of the ranks' own processor time
ENOUGH_PAIRS = 3

TUNED = ("openmpi-tuned", "openmpi-nocma", "mpich", "gloo")
LIBRARIES = ("openmpi", *TUNED)
BANDS = ((2048, "to 2 KiB"), (131072, "8 to 128 KiB"), (8 << 20, "512 KiB to 8 MiB"), (math.inf, "32 MiB and up"))


@dataclasses.dataclass(frozen=True)
class Cell:
    """A call: what is compared with each other."""

    collective: str
    ranks: int
    placement: str
    size: int


@dataclasses.dataclass
class Block:
    """One round of one series: microseconds a call, and what the machine did meanwhile."""

    time: float
    before: float
    after: float
    foreign: float

    def stayed(self):
        return agree(self.before, self.after)

    def probe(self):
        return (self.before + self.after) / 2


@dataclasses.dataclass
class Ratio:
    value: float
    pairs: int
    mark: str = ""

    def text(self):
        return f"{number(self.value)}{self.mark}"


@dataclasses.dataclass
class Data:
    """blocks[piece][cell][series] is a list of rounds: (file, round number) -> Block."""

    blocks: dict
    machine: dict
    ops: dict  # (series, ranks) -> ops of all ranks
    libraries: dict  # series -> what exactly it is
    files: int = 0
    wrong: int = 0


def agree(a, b):
    """Both zero (nothing was probed) counts as agreement."""
    return max(a, b) <= PROBES_AGREE * min(a, b)


def number(value):
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


# ---------------------------------------------------------------- reading


def blocks_of(timing):
    times = timing["round_times_us"]
    probes = timing.get("round_probes_ns") or [[0, 0]] * len(times)
    foreign = timing.get("round_foreign_cpu") or [0] * len(times)
    return [Block(time, *pair, share) for time, pair, share in zip(times, probes, foreign)]


def read_report(path, data):
    report = json.loads(path.read_text())
    piece = path.stem.rsplit("-", 1)[0]
    data.files += 1
    data.machine = report["machine"]
    data.wrong += report["out_of_bounds"]["count"]
    for series in report["algorithms"]:
        data.libraries[series["algorithm"]] = series["library"]
        if "counted_from_plan" in series:
            data.ops[series["algorithm"], series["ranks"]] = series["counted_from_plan"]["ops"]
    for row in report["results"]:
        collective = row.get("collective") or report.get("collective", "all_reduce")
        for placement in ("in_place", "out_of_place"):
            if row[placement] is None:
                continue
            cell = Cell(collective, row["ranks"], placement.replace("_", " "), row.get("asked_size", row["size"]))
            rounds = data.blocks[piece][cell][row["algorithm"]]
            for index, block in enumerate(blocks_of(row[placement])):
                rounds[path.name, index] = block


def read_folder(folder):
    data = Data(collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict))), {}, {}, {})
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        read_report(path, data)
    return data


def pieces(data, prefix):
    """The cells of all pieces whose name begins so. Series of several pieces do not share rounds:
    a cell's entries are (piece's series) dictionaries."""
    cells = collections.defaultdict(list)
    for piece, found in data.blocks.items():
        if piece.startswith(prefix):
            for cell, series in found.items():
                cells[cell].append(series)
    return dict(sorted(cells.items(), key=lambda item: dataclasses.astuple(item[0])))


# ---------------------------------------------------------------- ratios


def usable(pairs):
    """Those to be used of (ours, other) pairs of the same round, and the mark they deserve."""
    same_place = [(a, b) for a, b in pairs if a.stayed() and b.stayed() and agree(a.probe(), b.probe())]
    quiet = [(a, b) for a, b in same_place if max(a.foreign, b.foreign) <= FOREIGN_CPU]
    if len(quiet) >= ENOUGH_PAIRS:
        return quiet, ""
    if len(same_place) >= ENOUGH_PAIRS:
        return same_place, "!"
    return pairs, "?"


def ratio_of(entries, ours, other):
    """other / ours over all rounds that have both; nothing if there are none."""
    pairs = [
        (series[ours][key], block)
        for series in entries
        if ours in series and other in series
        for key, block in series[other].items()
        if key in series[ours]
    ]
    if not pairs:
        return None
    used, mark = usable(pairs)
    return Ratio(statistics.median(b.time / a.time for a, b in used), len(used), mark)


def time_of(entries, series):
    blocks = [block for entry in entries for block in entry.get(series, {}).values()]
    return statistics.median(block.time for block in blocks) if blocks else None


def least(ratios):
    found = [ratio for ratio in ratios if ratio is not None]
    return min(found, key=lambda ratio: ratio.value) if found else None


def best_library(entries, ours="auto", names=LIBRARIES):
    """The ratio to the library that comes closest."""
    return least(ratio_of(entries, ours, name) for name in names)


# ---------------------------------------------------------------- printing


def print_table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  " + "  ".join(text.rjust(width) for text, width in zip(line, widths)).rstrip())
    print()


def cell_text(ratio):
    return ratio.text() if ratio else "-"


def print_comparison(cells):
    """A table per collective, ranks and placement: our time, the ratio to each library, the best."""
    groups = collections.defaultdict(list)
    for cell, entries in cells.items():
        groups[cell.collective, cell.ranks, cell.placement].append((cell, entries))
    for (collective, ranks, placement), rows in groups.items():
        names = [name for name in LIBRARIES if any(ratio_of(entries, "auto", name) for _, entries in rows)]
        if not names:
            continue
        print(f"{collective}, {ranks} ranks, {placement}: time of the library / time of ours")
        lines = [["size", "ours us", *names, "best"]]
        for cell, entries in rows:
            ratios = [ratio_of(entries, "auto", name) for name in names]
            if not any(ratios):
                continue
            time = time_of(entries, "auto")
            lines.append([size_text(cell.size), number(time), *map(cell_text, ratios), cell_text(least(ratios))])
        print_table(lines)


def print_bands(cells):
    """Geometric means per band of sizes, per library and of the best; and the worst cell."""
    for collective in dict.fromkeys(cell.collective for cell in cells):
        mine = {cell: entries for cell, entries in cells.items() if cell.collective == collective}
        lines = [["geometric mean", *LIBRARIES, "best", "worst", "worst cell"]]
        low = -1
        for high, name in (*BANDS, (None, "all sizes")):
            inside = {c: e for c, e in mine.items() if high is None or low < c.size <= high}
            low = high if high is not None else low
            best = {c: best_library(e) for c, e in inside.items()}
            best = {c: r for c, r in best.items() if r}
            if not best:
                continue
            line = [name]
            for library in LIBRARIES:
                found = [r.value for r in (ratio_of(e, "auto", library) for e in inside.values()) if r]
                line.append(number(geometric_mean(found)) if found else "-")
            worst = min(best, key=lambda c: best[c].value)
            line += [number(geometric_mean([r.value for r in best.values()])), best[worst].text(), where(worst)]
            lines.append(line)
        if len(lines) > 1:
            print(f"{collective}:")
            print_table(lines)


def where(cell):
    return f"{size_text(cell.size)}, {cell.ranks} ranks, {cell.placement}"


def print_goal(name, what, ratios, goal, at_least=True):
    """`ratios`: cell -> Ratio. Prints whether all keep the goal (OPEN: those that do not are doubtful), and
    those that do not."""
    ratios = {cell: ratio for cell, ratio in ratios.items() if ratio}
    if not ratios:
        print(f"{name}  {what}: not measured")
        return
    value = {cell: ratio.value for cell, ratio in ratios.items()}
    worst = (min if at_least else max)(value, key=value.get)
    missed = [cell for cell in value if (value[cell] < goal if at_least else value[cell] > goal)]
    verdict = "holds" if not missed else "OPEN" if all(ratios[cell].mark for cell in missed) else "MISSED"
    doubtful = sum(1 for ratio in ratios.values() if ratio.mark)
    print(
        f"{name}  {what} {'>=' if at_least else '<='} {goal:g}: {verdict}, kept"
        f" in {len(ratios) - len(missed)} of {len(ratios)} cells; worst {ratios[worst].text()} ({where(worst)}),"
        f" geometric mean {number(geometric_mean([ratio.value for ratio in ratios.values()]))}"
        + (f"; {doubtful} cells doubtful" if doubtful else "")
    )
    for cell in missed:
        print(f"      {ratios[cell].text():>8}  {where(cell)}")


# ---------------------------------------------------------------- the goals


def all_reduces(data, prefix):
    return {cell: entries for cell, entries in pieces(data, prefix).items() if cell.collective == "all_reduce"}


def inverse(ratio):
    return Ratio(1 / ratio.value, ratio.pairs, ratio.mark) if ratio else None


def ping_pong_ratio(entries):
    """Time of our call over the probes' one-way time around it."""
    blocks = [block for entry in entries for block in entry.get("auto", {}).values() if block.stayed() and block.probe() > 0]
    quiet = [block for block in blocks if block.foreign <= FOREIGN_CPU]
    mark = ""
    if len(quiet) < ENOUGH_PAIRS:
        quiet, mark = blocks, "!"
    if not quiet:
        return None
    return Ratio(statistics.median(1e3 * block.time / block.probe() for block in quiet), len(quiet), mark)


def print_library_goals(data):
    cores = data.machine["allowed_cores"]
    cells = all_reduces(data, "peers")
    best = {cell: best_library(entries) for cell, entries in cells.items()}
    print_goal("H1", "every size, best library / ours", best, 1.2)
    values = [ratio.value for ratio in best.values() if ratio]
    if values:
        print(f"H1  geometric mean over all cells >= 3: {'holds' if geometric_mean(values) >= 3 else 'MISSED'}, {number(geometric_mean(values))}")
    rewritten = all_reduces(data, "rewritten")
    for placement, goal in (("in place", 3), ("out of place", 2)):
        found = {c: ratio_of(e, "auto", "openmpi") for c, e in rewritten.items() if c.placement == placement}
        print_goal("H2", f"inputs rewritten, {placement}, default Open MPI / ours", found, goal)
    large = {cell: entries for cell, entries in cells.items() if cell.size >= 32 << 20}
    print_goal("H3", "32 MiB and up, tuned Open MPI / ours",
               {c: best_library(e, names=("openmpi-tuned", "openmpi-nocma")) for c, e in large.items()}, 2)
    print_goal("H3", "32 MiB and up, default Open MPI / ours", {c: ratio_of(e, "auto", "openmpi") for c, e in large.items()}, 4.5)
    print_goal("H4", "more ranks than cores, best library / ours", {c: r for c, r in best.items() if c.ranks > cores}, 1.5)


def print_limit_goals(data):
    cores = data.machine["allowed_cores"]
    small = {c: ping_pong_ratio(e) for c, e in all_reduces(data, "peers").items() if c.size == 8 and c.ranks <= cores}
    print_goal("H5", "8 B, ours / one-way ping-pong", small, 1.25, at_least=False)
    loops = ("baseline:stream", "baseline:stream-nt", "baseline:fused", "baseline:fused-nt")
    cells = all_reduces(data, "limit")
    print_goal("H5", "2 MiB and up, the best bare loop / ours", {c: best_library(e, names=loops) for c, e in cells.items()}, 0.9)


def print_plan_goals(data):
    cells = all_reduces(data, "plans")
    ring = {c: inverse(ratio_of(e, "ring", "baseline:ring")) for c, e in cells.items() if c.size >= 32768 and c.ranks <= 4}
    print_goal("H6", "ring from 32 KiB, ours / by hand", ring, 1.1, at_least=False)
    hand = ("baseline:two_shot", "baseline:two_shot-nt")
    two_shot = {c: inverse(best_library(e, "two_shot", hand)) for c, e in cells.items()}
    print_goal("H6", "two_shot from 32 KiB, ours / by hand", {c: r for c, r in two_shot.items() if c.size >= 32768}, 1.1, at_least=False)
    print_goal("H6", "two_shot below, ours / by hand", {c: r for c, r in two_shot.items() if c.size < 32768}, 1.25, at_least=False)
    costs = {}
    for cell, entries in cells.items():
        ops = data.ops.get(("ring", cell.ranks))
        if cell.ranks == 2 and cell.size <= 2048 and ops:
            pairs = [(e["ring"][k], b) for e in entries for k, b in e.get("baseline:ring", {}).items() if k in e.get("ring", {})]
            if pairs:
                used, mark = usable(pairs)
                each = statistics.median(1e3 * (a.time - b.time) for a, b in used) / (ops / cell.ranks)
                costs[cell] = (each, mark)
    for cell, (each, mark) in costs.items():
        print(f"H6  an op above the ring by hand <= 50 ns: {'holds' if each <= 50 else 'MISSED'}, {each:.0f} ns{mark} ({where(cell)})")
    if not costs:
        print("H6  cost of an op: not measured")


def print_machine(data):
    machine = data.machine
    print(f"# ringside {machine['version']} ({machine['source_commit']}), measured on {machine['processor']}, "
          f"{machine['allowed_cores']} of {machine['cores']} cores, {machine['kernel']}, {machine['reduction_kernels']} kernels")
    print("# Ratios of same-round blocks: time of the other / time of ours, above 1 ours is faster. Our ranks are")
    print("# threads, those of MPI are processes: not like for like. ! the cores were shared, ? the cores moved.")
    for name in LIBRARIES:
        if name in data.libraries:
            print(f"# {name}: {data.libraries[name]}")
    blocks = [b for cells in data.blocks.values() for series in cells.values() for rounds in series.values() for b in rounds.values()]
    moved = sum(1 for block in blocks if not block.stayed())
    shared = sum(1 for block in blocks if block.foreign > FOREIGN_CPU)
    probes = sorted(block.probe() for block in blocks)
    print(f"# {data.files} reports, {len(blocks)} blocks: in {moved} the cores moved, in rounds of {shared} somebody else used them;")
    print("# one-way ping-pong " + ", ".join(
        f"{name} {probes[int(share * (len(probes) - 1))]:.0f} ns" for name, share in (("least", 0), ("median", 0.5), ("most", 1))))
    print(f"# checks that failed: {data.wrong}\n")


def main(arguments):
    usage = __doc__.split("\n\n")[1]
    if arguments in (["-h"], ["--help"]):
        print(usage)
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(usage, file=sys.stderr)
        return 2
    try:
        data = read_folder(arguments[0])
    except (OSError, ValueError, KeyError) as error:
        print(f"compare_host.py: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if not data.files or not data.blocks:
        print(f"compare_host.py: no reports in {arguments[0]}", file=sys.stderr)
        return 2
    print_machine(data)
    cells = pieces(data, "peers")
    print_comparison(cells)
    print_bands(cells)
    print_library_goals(data)
    print_limit_goals(data)
    print_plan_goals(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
