"""`medldr new`: what a folder or table of scans says about itself, and a sweep file made of it."""
