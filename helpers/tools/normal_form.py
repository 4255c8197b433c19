"""The one form in which a notebook is stored, and the one way to compare outputs.

`refresh` writes this form, a test holds every stored notebook to it, and JupyterLab keeps it
when it saves, so that a diff shows only what somebody meant. Standard library only.
"""

import json
import re
from pathlib import Path

METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
EXEMPT = "nbval-ignore-output"
RAISES = "raises-exception"
SANITIZE = Path(__file__).parents[1] / "tests" / "nbval-sanitize.cfg"

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LIBRARY_FRAME = re.compile(r"File (?!<)")


class NotebookError(ValueError):
    """A notebook that cannot be stored as it is; the message names the cell."""


def text(value):
    """Text of a source or output, stored as one string or as a list of lines."""
    return value if isinstance(value, str) else "".join(value)


def name(cell, number):
    """How messages call a cell: its place among all cells, from 1, and its id."""
    return f"cell {number} #{cell.get('id', '?')}"


def tags(cell):
    return cell.get("metadata", {}).get("tags", [])


def normal_form(notebook):
    """A new notebook (nested dicts, nbformat 4.5) in normal form; the given one is not changed.

    Kept: cell ids, sources, tags, outputs. Set: the notebook's metadata, execution counts
    1, 2, 3 … in order. Dropped: widget state and views, all other metadata, blank lines at a
    cell's end, ANSI colours, and the library's frames of a traceback (they hold paths).

    Raises NotebookError for another format, a missing or repeated cell id, and an attachment.
    """
    if notebook.get("nbformat") != 4:
        raise NotebookError(f"nbformat is {notebook.get('nbformat')}, expected 4")
    cells, seen, count = [], set(), 0
    for number, cell in enumerate(notebook["cells"], start=1):
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell.get("id", "")):
            raise NotebookError(f"cell {number} has no valid id: {cell.get('id')!r}")
        if cell["id"] in seen:
            raise NotebookError(f"{name(cell, number)}: the id is used twice")
        if cell.get("attachments"):
            raise NotebookError(f"{name(cell, number)}: a pasted picture (an attachment)")
        seen.add(cell["id"])
        source = text(cell["source"]).rstrip("\n")
        new = {
            "cell_type": cell["cell_type"],
            "id": cell["id"],
            "metadata": {"tags": list(tags(cell))} if tags(cell) else {},
            "source": _lines(source),
        }
        if cell["cell_type"] == "code":
            count += bool(source.strip())
            new["execution_count"] = count if source.strip() else None
            new["outputs"] = _outputs(cell.get("outputs", []), new["execution_count"])
        cells.append(new)
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def dumps(notebook):
    """The notebook as the text of its file: what JupyterLab itself writes."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read(path):
    """The notebook in a file. Raises NotebookError when the file holds none."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotebookError(f"{path} is not a notebook: {error}") from error


def compared(outputs, rules=None):
    """What strict replay compares of a cell's outputs: {kind: [values]}, sanitised.

    Kinds are MIME types, stream names, and `ename` and `evalue` of an error. Outputs are taken
    in normal form first, so that freshly run and stored ones can be compared.
    """
    rules = sanitize_rules() if rules is None else rules
    found = {}
    for output in _outputs(outputs, None):
        if output["output_type"] == "stream":
            values = {output["name"]: output["text"]}
        elif output["output_type"] == "error":
            values = {"ename": output["ename"], "evalue": output["evalue"]}
        else:
            values = output["data"]
        for kind, value in values.items():
            value = json.dumps(value) if isinstance(value, dict) else text(value)
            for pattern, replacement in rules:
                value = re.sub(pattern, replacement, value)
            found.setdefault(kind, []).append(value)
    return found


def sanitize_rules():
    """The replay's (pattern, replacement) pairs, from the file that nbval reads."""
    rules = SANITIZE.read_text(encoding="utf-8")
    return re.findall(r"^regex: (.*)$\n^replace: (.*)$", rules, flags=re.MULTILINE)


def _outputs(outputs, count):
    new, streams = [], {}
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            stream = output["name"]
            if stream in streams:
                streams[stream]["text"] += text(output["text"])
                continue
            streams[stream] = {"output_type": kind, "name": stream, "text": text(output["text"])}
            new.append(streams[stream])
        elif kind == "error":
            frames = [_ANSI.sub("", frame) for frame in output.get("traceback", [])]
            new.append(
                {
                    "output_type": kind,
                    "ename": output["ename"],
                    "evalue": _ANSI.sub("", output["evalue"]),
                    "traceback": [f for f in frames if not _LIBRARY_FRAME.match(f)],
                }
            )
        else:
            data = {
                mime: _lines(text(value)) if _is_text(value) else value
                for mime, value in output["data"].items()
                if mime != WIDGET_VIEW
            }
            shown = {"output_type": kind, "data": data, "metadata": {}}
            if kind == "execute_result":
                shown["execution_count"] = count
            new.append(shown)
    for stream in streams.values():
        stream["text"] = _lines(_as_a_terminal_shows(stream["text"]))
    return new


def _as_a_terminal_shows(stream):
    # A progress bar writes over its own line: only what is left of it counts, as in nbval.
    stream = stream.replace("\r\n", "\n")
    while (shorter := re.sub(r"[^\n]\x08", "", stream)) != stream:
        stream = shorter
    return re.sub(r"^.*\r(?=[^\n])", "", stream, flags=re.MULTILINE)


def _is_text(value):
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(line, str) for line in value)
    )


def _lines(value):
    return value.splitlines(keepends=True)
