"""What two or more lessons need. What teaches stays visible in the lessons.

Names are looked up on first use, so `import helpers` loads neither pyplot nor ipywidgets.
"""

from importlib import import_module

_HOME = {
    "Eye": "handsized",
    "ShapeError": "named_axes",
    "shapes": "named_axes",
    "matrix": "matrices",
    "heatmap": "pictures",
    "figure": "pictures",
    "one_head": "anatomy",
    "Head": "head",
    "last_vowel": "jobs",
    "one_hot": "jobs",
    "previous": "jobs",
    "random_strings": "jobs",
    "try_job": "jobs",
    "influence_grid": "influence",
    "profiled": "profiling",
    "progress": "waiting",
    "running_x": "running",
    "batch": "text",
    "decode": "text",
    "encode": "text",
    "load_head": "saved",
    "load_scene": "text",
    "load_shakespeare": "text",
    "split": "text",
    "tokens": "text",
    "vocabulary": "text",
    "windows": "text",
    "check": "checker",
    "Sheet": "sheet",
    "drill": "drills",
    "ten_questions": "quiz",
    "explore_average": "explorers.average",
    "explore_head": "explorers.head",
    "explore_masking": "explorers.masking",
    "explore_scaling": "explorers.scaling",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"helpers has no {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
