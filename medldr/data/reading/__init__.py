"""Reading image files, and looking at them before anything long begins."""
