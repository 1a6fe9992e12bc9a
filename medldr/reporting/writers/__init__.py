"""A document as HTML, Markdown, LaTeX, CSV, or on the terminal."""
