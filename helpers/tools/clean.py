"""Remove .venv and everything that was built. A reader's work/ and data/ stay."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = (".venv", "build", ".pytest_cache", ".ruff_cache", "*.egg-info")
CACHES = ("__pycache__", ".ipynb_checkpoints")


def clean(root=ROOT):
    """Remove the folders; returns their names, in order."""
    folders = [folder for pattern in BUILT for folder in root.glob(pattern)]
    for place in ("helpers", "notebooks"):
        folders += [folder for name in CACHES for folder in (root / place).rglob(name)]
    for folder in folders:
        shutil.rmtree(folder)
    return sorted(folder.relative_to(root).as_posix() for folder in folders)


if __name__ == "__main__":
    print("removed:", ", ".join(clean()) or "nothing, all is clean")
