"""What a dataset plug-in offers: a `Config`, `load(config) -> ImageTable` and `present(config)`.

A dataset describes its content (images, labels, ids, domains, groups, its own splits); it does not
split, sample, augment or move anything. Those belong to `medldr.data` and are the same for all.
`present` says in a few words where the files are, or that they are absent. A dataset of files also
offers `require(config)`, which raises the `InputError` that `load` would raise for an absent one,
without reading any: a whole sweep is refused before its first run starts.

`load_again(config, bad_files)` returns what `load` does without checking each file again: the
unusable ones are already known from making a pack.

`checksums(config)` returns the checksum of each file by its name, where these files hold all that
is read: whether a finished run's data has changed is then known without reading them.

Two more are for the sets of a benchmark: `examine(config, seen)` compares what is found with what
was published, for `medldr data check`, and passes each image to `seen`, which avoids reading it
twice; `submission(config, predictions, seed)` returns the files that the benchmark asks for.
"""

from medldr.data.config import DatasetConfig as DatasetConfig
from medldr.data.config import check_held_out as check_held_out
from medldr.data.image_table import BadFile as BadFile
from medldr.data.image_table import Images as Images
from medldr.data.image_table import ImageTable as ImageTable
from medldr.data.image_table import LazyImages as LazyImages
from medldr.data.image_table import Seen as Seen
