"""Packaged runs and sweeps: what their configurations resolve to, and which runs a sweep has."""

from pathlib import Path

from frozen_adapter import packaged, plan, resolved
from frozen_text import digest, joined

HERE = Path(__file__).resolve().parent


def runs(_):
    """One line per packaged run: its hash, its protocol, and a digest of each section."""
    lines = []
    for name in packaged("run"):
        config, hash8 = resolved(name)
        lines.append(f"{name} {hash8} {config.label} {config.protocol} {sections(config)}")
    return {"runs.txt": joined(lines)}


def sections(config):
    """A digest of each section of a configuration, in the order of its keys and values."""
    values = config.model_dump(mode="json")
    # Digested with its order, which is that of `config.yaml`.
    return " ".join(f"{key}={digest(repr(value))[:6]}" for key, value in values.items())


LARGE = ("domainbed_swad", "domainbed_table", "search_domainbed_pacs", "search_pacs")
"""Sweeps of hundreds of runs, which take seconds."""


def sweeps(_):
    """A file per sweep: its layout, the order of its runs, and one line per label."""
    sources = {name: name for name in packaged("sweep") if name not in LARGE}
    sources |= {f"frozen-{path.stem}": path for path in sorted((HERE / "sweeps").glob("*.yaml"))}
    return {f"{name}.txt": joined(planned(source)) for name, source in sources.items()}


def large_sweeps(_):
    """The same of the large ones."""
    return {f"{name}.txt": joined(planned(name)) for name in LARGE}


def planned(source):
    """The lines of a sweep; seeds of a label share one where they differ in nothing else."""
    record, configs = plan(source)
    members = record["members"]
    yield f"{len(members)} runs, in this order {digest([member['run'] for member in members])}"
    for key, value in record["layout"].items():
        yield f"{key}: {value}"
    lines = {}
    for member, config in zip(members, configs, strict=True):
        hash8 = member["run"].removesuffix(f"-s{member['seed']}").rpartition("-")[2]
        place = {key: member[key] for key in ("row_values", "column_values", "drawn")}
        after = ",".join(member["after"]).replace(f"-s{member['seed']}", "")
        whole = config.model_dump(mode="json", exclude={"seed"})
        if member["after"]:
            whole["training"]["init_from"] = None  # a folder, whose name is in the hash
        line = (
            f"{member['label']} {hash8} config={digest(repr(whole))[:6]} "
            f"place={digest(repr(place))[:6]}{f' after={after}' if after else ''} "
            f"| {member['row']} | {member['column']}"
        )
        lines.setdefault(line, []).append(str(member["seed"]))
    for line, seeds in lines.items():
        yield f"{line} | seeds {','.join(seeds)}"


CASES = {"runs": runs, "plans": sweeps, "large_plans": large_sweeps}
