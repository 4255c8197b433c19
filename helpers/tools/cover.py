"""The picture of the README, taken from where lesson 09 stores it.

    python helpers/tools/cover.py

`refresh` calls it, so that the two never differ.
"""

import base64
import re
from pathlib import Path

from helpers.tools.normal_form import compared, read

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSON, CELL = "09_one_head_on_real_text.ipynb", "triangles"
PICTURE = "three_triangles.png"


def cover(folder=NOTEBOOKS):
    """The PNG that the cell stores, as bytes. Raises ValueError when it stores none."""
    for cell in read(folder / LESSON)["cells"]:
        if cell.get("id") == CELL:
            for shown in compared(cell["outputs"], rules=[]).get("text/html", []):
                if found := re.search(r"data:image/png;base64,([A-Za-z0-9+/=]+)", shown):
                    return base64.b64decode(found[1])
    raise ValueError(f"{LESSON} stores no picture in its cell {CELL}: make refresh NB=09")


def store(folder=NOTEBOOKS):
    """Write the picture beside the lessons, if it is another."""
    path, now = folder / PICTURE, cover(folder)
    if not path.is_file() or path.read_bytes() != now:
        path.write_bytes(now)


if __name__ == "__main__":
    store()
