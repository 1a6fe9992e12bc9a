"""Images decoded once and kept on the disk as one memory-mapped array: packs, and kept scans.

`medldr data pack` makes a pack, which holds all of a data set and can be moved to another machine.
Scans are kept by themselves, in the cache, once a run has read them. Both are written by
`medldr.data.store.array`: with the same checksums, and resumed in the same way.
"""

from medldr.data.store.kept import stored
from medldr.data.store.pack import (
    Pack,
    find_pack,
    open_pack,
    pack_of_latents,
    pack_of_views,
    usual_place,
)
from medldr.data.store.packing import make_pack, verify

__all__ = [
    "Pack",
    "find_pack",
    "make_pack",
    "open_pack",
    "pack_of_latents",
    "pack_of_views",
    "stored",
    "usual_place",
    "verify",
]
