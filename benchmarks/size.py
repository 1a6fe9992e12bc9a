"""How large the package is, and how its parts depend on each other.

Counts lines of code: lines with anything but comments and docstrings. A file counts as small under
40 such lines, unless it is an `__init__.py`. JSON files and templates are counted apart, by lines.
A circle is a set of modules that import each other, directly or through others: when they are
imported, or with imports inside functions and for types alone, which cannot fail but tie the
modules together all the same. Nothing is imported, so any revision can be read from git.

    python benchmarks/size.py                        # the working tree, by folder of medldr
    python benchmarks/size.py --folder tests
    python benchmarks/size.py --against v0.1.0       # before and after
    python benchmarks/size.py --draw imports.svg     # which package imports which

There is no limit to pass: the figures are for people who ask whether a change made it simpler.
"""

import argparse
import ast
import io
import subprocess
import tarfile
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]
SMALL = 40
APART = (".json", ".jinja")
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


@dataclass
class Size:
    """Lines and files of one folder."""

    lines: int = 0
    files: int = 0
    small: int = 0
    apart: Counter = field(default_factory=Counter)  # lines by ending


def working_tree(folder):
    """Text of each file below a folder of the checkout."""
    paths = (p for end in (".py", *APART) for p in (ROOT / folder).rglob(f"*{end}"))
    return {PurePosixPath(p.relative_to(ROOT).as_posix()): p.read_text("utf-8") for p in paths}


def revision(name, folder):
    """The same of a commit, a tag or a branch."""
    command = ["git", "-C", ROOT, "archive", "--format=tar", name, folder]
    packed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = [m for m in archive if m.isfile() and m.name.endswith((".py", *APART))]
        return {PurePosixPath(m.name): archive.extractfile(m).read().decode() for m in members}


def code_lines(text):
    """Number of lines of code: not blank, and neither comment nor docstring."""
    documented = set()
    for node in ast.walk(ast.parse(text)):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def sizes(sources, depth):
    """Size of each folder, down to a depth below the one that was asked for."""
    found = defaultdict(Size)
    for path, text in sources.items():
        size = found["/".join(path.parts[:-1][: depth + 1])]
        if path.suffix != ".py":
            size.apart[path.suffix] += text.count("\n")
            continue
        lines = code_lines(text)
        size.lines += lines
        size.files += 1
        size.small += lines < SMALL and path.name != "__init__.py"
    return dict(sorted(found.items()))


def imports_of(sources, every):
    """The modules that each module imports.

    Args:
        sources: The files.
        every: Whether imports inside functions and for types alone count too.
    """
    modules = {module_name(path): text for path, text in sources.items() if path.suffix == ".py"}
    return {name: set(_imported(name, text, modules, every)) for name, text in modules.items()}


def module_name(path):
    """``medldr/a/b.py`` is ``medldr.a.b``, and ``medldr/a/__init__.py`` is ``medldr.a``."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(module, text, modules, every):
    waiting = list(ast.parse(text).body)
    while waiting:
        node = waiting.pop()
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        waits = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (for_types or waits) and not every:
            continue
        waiting += ast.iter_child_nodes(node)
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in inner]
        yield from (name for name in names if name in modules and name != module)


def circles(imports):
    """Sets of modules that import each other, the largest first."""
    names = sorted(imports)
    place = {name: i for i, name in enumerate(names)}
    edges = [(place[one], place[other]) for one, others in imports.items() for other in others]
    rows, columns = np.array(edges, dtype=int).reshape(-1, 2).T
    graph = csr_matrix((np.ones(len(edges)), (rows, columns)), (len(names), len(names)))
    _, label = connected_components(graph, connection="strong")
    members = defaultdict(list)
    for name, number in zip(names, label.tolist(), strict=True):
        members[number].append(name)
    return sorted((m for m in members.values() if len(m) > 1), key=len, reverse=True)


def between_packages(imports):
    """How many imports lead from one part of the package (``medldr.data``) to another."""
    count = Counter()
    for module, others in imports.items():
        for other in others:
            one, two = (".".join(name.split(".")[:2]) for name in (module, other))
            if one != two and "." in one and "." in two:
                count[one.split(".")[1], two.split(".")[1]] += 1
    return count


def ranks(edges):
    """For each part, the length of the longest way down to one that imports no other."""
    below = defaultdict(set)
    for one, two in edges:
        below[one].add(two)
        below.setdefault(two, set())
    rank = dict.fromkeys(below, 0)
    for _ in rank:  # more rounds than parts would only follow a circle
        for one, parts in below.items():
            rank[one] = max((min(rank[two] + 1, len(rank)) for two in parts), default=0)
    order = sorted(set(rank.values()))
    return {name: order.index(value) for name, value in rank.items()}


def draw(imports, to):
    """Draw which part imports which: arrows point down to what is imported."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    edges = between_packages(imports)
    rank = ranks(edges)
    rows = defaultdict(list)
    for name in sorted(rank, key=lambda n: (rank[n], n)):
        rows[rank[name]].append(name)
    at = {n: ((i + 1) / (len(row) + 1), r) for r, row in rows.items() for i, n in enumerate(row)}
    figure, axes = plt.subplots(figsize=(12, 0.8 * len(rows) + 1))
    for (one, two), count in edges.items():
        up = at[two][1] >= at[one][1]
        arrow = {
            "arrowstyle": "->", "connectionstyle": "arc3,rad=0.08", "shrinkA": 12, "shrinkB": 12,
            "lw": 0.4 + count**0.5 / 6, "color": "tab:red" if up else "0.6",
        }  # fmt: skip
        axes.annotate("", xy=at[two], xytext=at[one], arrowprops=arrow)
    box = {"boxstyle": "round", "fc": "white", "ec": "0.3"}
    for name, (x, y) in at.items():
        axes.text(x, y, name, ha="center", va="center", bbox=box)
    axes.set(xlim=(0, 1), ylim=(-0.6, len(rows) - 0.4))
    axes.axis("off")
    figure.savefig(to, bbox_inches="tight")


def total(found):
    """All folders together."""
    whole = Size()
    for size in found.values():
        whole.lines, whole.files = whole.lines + size.lines, whole.files + size.files
        whole.small, whole.apart = whole.small + size.small, whole.apart + size.apart
    return whole


def report(now, before, depth):
    """Print a line per folder and the circles: of now, or of before and now.

    Args:
        now: Files of the working tree.
        before: Those of the revision to compare with; None where there is none.
        depth: Folders below the one that was asked for to tell apart.
    """
    trees = [now] if before is None else [before, now]
    counted = [sizes(sources, depth) for sources in trees]
    print(f"{'':<34}{'lines':>18}{'files':>14}{f'under {SMALL}':>14}")
    for name in [*sorted(set().union(*counted)), "total"]:
        row = [total(found) if name == "total" else found.get(name, Size()) for found in counted]
        columns = zip((18, 14, 14), ("lines", "files", "small"), strict=True)
        cells = [f"{_change(getattr(s, key) for s in row):>{wide}}" for wide, key in columns]
        print(f"{name:<34}{''.join(cells)}")
    for ending in APART:
        print(f"lines of *{ending}: {_change(total(found).apart[ending] for found in counted)}")
    for every, where in ((False, "on import"), (True, "in functions and for types too")):
        found = [circles(imports_of(sources, every)) for sources in trees]
        print(f"circles {where}: {_change(map(len, found))}")
        for members in found[-1]:
            more = f" and {len(members) - 6} more" if len(members) > 6 else ""
            print(f"  {', '.join(members[:6])}{more}")


def _change(numbers):
    return " -> ".join(f"{number:,}" for number in numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folder", default="medldr", help="folder of the checkout")
    parser.add_argument("--depth", type=int, default=1, help="folders below it to tell apart")
    parser.add_argument("--against", metavar="REV", help="a revision of git to compare with")
    parser.add_argument("--draw", type=Path, metavar="FILE.svg", help="draw the imports")
    parser.add_argument("--quick", action="store_true", help="only medldr/latent")
    options = parser.parse_args()
    folder = "medldr/latent" if options.quick else options.folder
    sources = working_tree(folder)
    before = revision(options.against, folder) if options.against else None
    report(sources, before, options.depth)
    if options.draw:
        draw(imports_of(sources, every=True), options.draw)
        print(options.draw)


if __name__ == "__main__":
    main()
