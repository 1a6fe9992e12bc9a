"""Every row of a pack is in one of its blocks."""

from medldr.data.packs.blocks import Blocks


def test_every_row_is_in_one_block():
    for rows in (1, 3, 4, 10):
        blocks = Blocks(rows=rows, each=3)
        numbers = [n for k in range(len(blocks)) for n in range(rows)[blocks[k]]]
        assert numbers == list(range(rows))
        assert sum(blocks.size(k) for k in range(len(blocks))) == rows


def test_blocks_are_never_empty_however_large_an_image_is():
    assert Blocks.of((5, 3, 10_000, 10_000)).each == 1
    assert Blocks.of((455_954, 3, 96, 96)).each == 606
