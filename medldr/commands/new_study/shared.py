"""Patients whose names occur in several domains: the same people, or a numbering of each hospital.

Source:
    Our choice. Nothing in a table can tell the two apart, so it is asked. Unasked, they are the
    same people, for that can only cost images, and never lets a patient train and test.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from medldr.commands.new_study.ask import Asker
from medldr.commands.new_study.finding import Finding
from medldr.data.image_table import ImageTable

_SAME: Final = "same"
_OWN: Final = "own"


def held_out_keys(table: ImageTable, asker: Asker) -> list[Finding]:
    """Keys that say what is tested of a held-out domain, and who a patient is.

    Args:
        table: All images.
        asker: Who knows whether patients of two domains are the same.

    Returns:
        Nothing where every domain has patients of its own and the data have no splits.
    """
    domains = set(table.domains.tolist()) - {""}
    if len(domains) < 2:
        return []
    own = bool((table.splits != "").any())
    tested = set(table.domains[table.splits == "test"].tolist())
    shared, total = shared_groups(table)
    if shared:
        question = (
            "Are patients with equal names in two domains the same, or numbered by each (own)"
        )
        answer = asker.choose(question, (_SAME, _OWN), _SAME)
        counts = f"{shared:,} of {total:,} names of patients occur in several domains."
        if answer.value == _OWN:
            why = f"{counts} They are other patients there. {answer.why}"
            return [Finding("group_scope", "domain", why)]
        why = (
            f"{counts} They are taken for the same patients, so a held-out domain is tested "
            f"only on those who do not train. {answer.why} If each hospital numbers its own "
            "patients, set group_scope: domain in place of this line."
        )
        return [Finding("held_out_rows", "test", why)]
    if not own:
        return []
    if domains <= tested:
        why = "A held-out domain is tested on its own test rows; uncomment to test on all of them."
        return [Finding("held_out_rows", "all", why, used=False)]
    why = "Not every domain has test rows, so a held-out domain is tested on all of its rows."
    return [Finding("held_out_rows", "all", why)]


def shared_groups(table: ImageTable) -> tuple[int, int]:
    """How many names of patients occur in several domains, and how many there are.

    Args:
        table: All images.
    """
    named = table.groups != ""
    folded = [name.casefold() for name in table.groups[named].tolist()]
    pairs = set(zip(folded, table.domains[named].tolist(), strict=True))
    domains_of = Counter(name for name, _ in pairs)
    return sum(count > 1 for count in domains_of.values()), len(domains_of)
