"""What a dataset plug-in offers: a `Config`, `load(config) -> ImageTable` and `present(config)`.

A dataset says what there is (images, labels, ids, domains, groups, its own splits); it does not
split, sample, augment or move anything. Those belong to `medldr.data` and are the same for all.
`present` tells a person in a few words where the files are, or that they are absent. A dataset of
files also offers `require(config)`, which raises the `InputError` that `load` would raise for an
absent one, without reading any: many runs are refused at once before the first of them starts.

`load_again(config, bad_files)` gives what `load` does without looking at each file once more: those
that cannot be used are known, because a pack was made since.

Two more are for sets that a benchmark is about: `examine(config, seen)` compares what is there with
what was published, for `medldr data check`, and shows each image to `seen` so that none is read
twice; `submission(config, predictions, seed)` gives the files that
the benchmark asks for.
"""

from medldr.data.config import DatasetConfig, check_held_out
from medldr.data.image_table import BadFile, Images, ImageTable, LazyImages, Seen

__all__ = [
    "BadFile",
    "DatasetConfig",
    "ImageTable",
    "Images",
    "LazyImages",
    "Seen",
    "check_held_out",
]
