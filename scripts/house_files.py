"""Finds the files of a checkout."""

import os
from pathlib import Path

# Folders that tools fill.
SKIPPED = {"target", "node_modules", "dist", ".git", "__pycache__"}


def walk(folder, suffixes):
    """The files below a folder with one of these suffixes, in order."""
    found = []
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        found += [Path(base, name) for name in names if name.endswith(suffixes)]
    return sorted(found)
