"""Plots and tables of docs/performance.md. Run by scripts/plots: plots.py FILE DOCS"""

import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

# The same input gives the same bytes.
plt.rcParams.update({"svg.hashsalt": "forebay", "svg.fonttype": "none", "font.size": 9, "figure.figsize": (7, 3.2)})
ORDER = ["floor", "accept", "drain", "calls", "mixed", "latency", "fairness", "backlog", "in-flight", "idle"]
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
COLORS = {"sqlite": "#2a7fb8", "postgres": "#d1603d", "peer": "#8a8f98", "floor": "#c9ccd1"}


def shown(value):
    """With as many digits as mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def figures(store):
    """All figures of a store: (scenario, name) to median, least and most."""
    scenarios = sorted(store["scenarios"].items(), key=lambda item: ORDER.index(item[0]))
    return {(scenario, name): value for scenario, found in scenarios for name, value in found["figures"].items()}


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    print(folder / f"{name}.svg")


def bars(axes, rows):
    """Horizontal bars, first row on top: label, figure, color. The line shows least and most."""
    for nth, (_, value, color) in enumerate(rows):
        middle, least, most = (value[member] for member in ("median", "least", "most"))
        axes.barh(nth, middle, color=color, xerr=[[max(middle - least, 0)], [max(most - middle, 0)]], error_kw={"lw": 0.8})
        axes.text(most, nth, f"  {shown(middle)}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def throughput(stores, folder):
    """What goes through in a second, beside the floor of the same run."""
    wanted = [("accept", "per_second", "accepted over HTTP"), ("drain", "per_second", "drained, no HTTP"),
              ("calls", "per_second", "worked off by calls"), ("mixed", "per_second", "accepted and worked at once")]
    floors = [("floor", "single_inserts_per_second", "floor: single INSERTs"),
              ("floor", "accepts_per_second", "floor: rows over HTTP"), ("floor", "cycles_per_second", "floor: rows drained")]
    figure, all_axes = plt.subplots(1, len(stores), figsize=(3.8 * len(stores), 3.2), squeeze=False)
    for axes, (name, store) in zip(all_axes[0], stores.items()):
        found = figures(store)
        rows = [(label, found[scenario, value], COLORS["floor" if scenario == "floor" else name])
                for scenario, value, label in floors + wanted if (scenario, value) in found]
        bars(axes, rows)
        axes.set_title(f"{NAMES[name]}, a second")
    save(figure, folder, "throughput")


def curves(stores, folder):
    """Within which time which share was over."""
    scenarios = [("accept", "accept, open load"), ("latency", "submit to call, 20/s"), ("fairness", "beside a crowd, calls of 100 ms")]
    figure, all_axes = plt.subplots(1, len(scenarios), figsize=(9, 3.2))
    for axes, (scenario, title) in zip(all_axes, scenarios):
        for name, store in stores.items():
            curve = store["scenarios"].get(scenario, {}).get("curve_ms")
            if curve:
                # Nines at even distances.
                points = [(1 / max(1 - share, 1e-5), millis) for share, millis in curve]
                axes.plot(*zip(*points), color=COLORS[name], label=NAMES[name])
        axes.set_xscale("log")
        axes.set_xticks([2, 10, 100, 1_000, 10_000], ["50", "90", "99", "99.9", "99.99"])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set(title=title, xlabel="percentile", ylabel="ms")
        axes.grid(alpha=0.3)
    all_axes[0].legend()
    save(figure, folder, "latency")


def claims(stores, folder):
    """What a claimed job costs by what waits."""
    figure, all_axes = plt.subplots(1, 2)
    for axes, by, title in zip(all_axes, ("waiting", "tenants"), ("jobs waiting", "tenants with jobs")):
        for name, store in stores.items():
            pattern = re.compile(rf"claim_us_(\d+)_{by}")
            points = sorted((int(match[1]), value) for (scenario, figure_name), value in figures(store).items()
                            if scenario == "backlog" and (match := pattern.fullmatch(figure_name)))
            axes.plot([size for size, _ in points], [value["median"] for _, value in points], "o-",
                      color=COLORS[name], label=NAMES[name])
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set(xlabel=title, ylabel="us a claimed job")
        axes.grid(alpha=0.3)
    all_axes[0].legend()
    save(figure, folder, "claims")


# What is compared with whom: title, our scenario and figure, the peers' figure.
COMPARED = [("drained a second, no calls", "drain", "per_second", "drain_per_second"),
            ("worked off by HTTP calls a second", "calls", "per_second", "calls_per_second"),
            ("enqueued or accepted a second", "accept", "per_second", "enqueue_per_second"),
            ("submit to start at 20/s, p50 ms", "latency", "p50_ms", "start_p50_ms")]


def peers(result, folder):
    """Ours and others' in one run."""
    ours = figures(result["stores"]["postgres"])
    figure, all_axes = plt.subplots(2, 2, figsize=(9, 5))
    for axes, (title, scenario, name, theirs) in zip(all_axes.flat, COMPARED):
        rows = [("Forebay", ours[scenario, name], COLORS["postgres"])] if (scenario, name) in ours else []
        rows += [(peer["peer"], peer, COLORS["peer"]) for peer in result["peers"] if peer["figure"] == theirs]
        bars(axes, rows)
        axes.set_title(title)
    save(figure, folder, "peers")


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)] + rows
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def figures_table(stores):
    all_of = {name: figures(store) for name, store in stores.items()}
    rows = []
    for key in dict.fromkeys(key for found in all_of.values() for key in found):
        cells = [f"`{key[0]}` {key[1]}"]
        for found in all_of.values():
            value = found.get(key)
            cells += [shown(value["median"]), f"{shown(value['least'])} to {shown(value['most'])}"] if value else ["", ""]
        rows.append(cells)
    return table(["figure"] + [head for name in stores for head in (NAMES[name], "least to most")], rows)


def peers_table(result):
    ours = figures(result["stores"]["postgres"])
    rows = []
    for title, scenario, name, theirs in COMPARED:
        mine = ours.get((scenario, name))
        for peer in result["peers"]:
            if peer["figure"] == theirs and mine:
                ratio = mine["median"] / peer["median"]
                rows.append([f"{peer['peer']} {peer['version']}", title, shown(peer["median"]), shown(mine["median"]), f"{ratio:.2f}"])
    return table(["peer", "what", "it", "Forebay", "ratio"], rows)


# What is wanted: what, which store's, its scenario and figure (or two, for their ratio), and the least or most it may be.
WANTED = [
    ("accept, of rows over HTTP", "sqlite", "accept of_floor", ">=", 0.5),
    ("p99 of an accept at 64 connections, ms", "sqlite", "accept p99_ms", "<=", 10),
    ("drain, of rows claimed and completed", "sqlite", "drain of_floor", ">=", 0.4),
    ("submit to call at 20/s, p50, ms", "sqlite", "latency p50_ms", "<=", 1.5),
    ("2,000 calls of 5 s in flight, MB", "sqlite", "in-flight calls_of_5_s_peak_mb", "<=", 100),
    ("idle, MB", "sqlite", "idle memory_mb", "<=", 15),
    ("accept, of rows inserted one by one", "postgres", "accept of_single_inserts", ">=", 1),
    ("p99 of an accept at 64 connections, ms", "postgres", "accept p99_ms", "<=", 10),
    ("accepted and worked on at once by 16 callers, a second", "postgres", "mixed per_second", ">=", 4_700),
    ("submit to call at 20/s, p50, ms", "postgres", "latency p50_ms", "<=", 1.6),
    ("submit to call at 20/s, p95, ms", "postgres", "latency p95_ms", "<=", 2.5),
    ("a claim with 1,000,000 jobs waiting, of one with 1,000", "postgres",
     "backlog claim_us_1000000_waiting / backlog claim_us_1000_waiting", "<=", 1.15),
    ("a claim over 1,000 tenants, of one over 1", "postgres",
     "backlog claim_us_1000_tenants / backlog claim_us_1_tenants", "<=", 1.5),
    ("claims and reports beside 100,000 jobs behind one ordering key, of those without", "postgres",
     "backlog key_work_ratio", "<=", 1.1),
    ("drain beside an old snapshot, of one without", "postgres", "backlog snapshot_ratio", ">=", 0.7),
    ("jobs beside a crowd that wait longer than one call and 100 ms", "postgres", "fairness late_jobs", "<=", 0),
    ("idle, MB", "postgres", "idle memory_mb", "<=", 15),
    ("idle, % of a processor", "postgres", "idle cpu_percent", "<=", 0.5),
    ("20 jobs a second, % of a processor", "postgres", "idle cpu_percent_at_20_per_second", "<=", 3),
    ("after 100,000 jobs, MB", "postgres", "idle memory_after_jobs_mb", "<=", 40),
]
WANTED_OF_PEERS = [("drain, of graphile_worker's", "drain per_second", "graphile_worker", "drain_per_second", 0.6),
                   ("calls, of fusillade's", "calls per_second", "fusillade", "calls_per_second", 10)]


def wanted_table(result):
    def of(store, name):
        found = [figures(result["stores"].get(store, {"scenarios": {}})).get(tuple(part.split(" "))) for part in name.split(" / ")]
        if None in found:
            return None
        middles = [value["median"] for value in found]
        return middles[0] / middles[1] if len(middles) == 2 else middles[0]

    rows = []
    for what, store, name, relation, bound in WANTED:
        rows.append((what, store, of(store, name), relation, bound))
    for what, name, who, theirs, bound in WANTED_OF_PEERS:
        peer = [peer["median"] for peer in result["peers"] if (peer["peer"], peer["figure"]) == (who, theirs)]
        mine = of("postgres", name)
        rows.append((what, "postgres", mine / peer[0] if peer and mine else None, ">=", bound))
    cells = []
    for what, store, value, relation, bound in rows:
        if value is not None:
            is_reached = value >= bound if relation == ">=" else value <= bound
            limit = f"{'at least' if relation == '>=' else 'at most'} {bound:,}"
            cells.append([f"{NAMES[store]}: {what}", limit, shown(value), "reached" if is_reached else "falls short"])
    return table(["what", "wanted", "here", ""], cells)


def about(result):
    store = next(iter(result["stores"].values()))["about"]
    machine, settings = store["machine"], store["settings"]
    server = result["stores"].get("postgres", {}).get("about", {}).get("store", {}).get("server") or {}
    text = (f"Measured on {result['day']} at revision `{result['revision']}`: {machine['cpus']} processors"
            f" ({machine['cpu']}), {machine['memory']}, Linux {machine['system']}; {settings['rounds']} rounds of"
            f" {settings['seconds']} s, {settings['connections']} connections, seed {settings['seed']}.")
    if result["note"]:
        text += f" {result['note']}"
    if server:
        text += f" PostgreSQL {server['server_version']}, synchronous_commit {server['synchronous_commit']}, fsync {server['fsync']}."
    return text


def fill(document, parts):
    """Puts texts between their markers; one without a marker is an error, as is a marker without a text."""
    text = document.read_text()
    for name, part in parts.items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(lambda match: f"{match[1]}{part}\n{match[2]}", text)
        if count != 1:
            sys.exit(f"plots: {document} has {count} places for the table `{name}`")
    document.write_text(text)


def main():
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if result["format"] != 1:
        sys.exit(f"plots: {sys.argv[1]} has format {result['format']}, and 1 is what this script reads")
    docs = pathlib.Path(sys.argv[2])
    folder = docs / "performance"
    folder.mkdir(exist_ok=True)
    stores = result["stores"]
    throughput(stores, folder)
    curves(stores, folder)
    claims(stores, folder)
    parts = {"about": about(result), "figures": figures_table(stores), "wanted": wanted_table(result)}
    if result["peers"]:
        peers(result, folder)
        parts["peers"] = peers_table(result)
    fill(docs / "performance.md", parts)


main()
