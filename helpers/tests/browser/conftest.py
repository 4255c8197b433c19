"""Browser tests run when they are asked for, `-m browser`; otherwise they show as skipped."""

import pytest
from driver import FLAGS, HOW_TO_GET, chromium


def pytest_collection_modifyitems(config, items):
    ours = [item for item in items if item.get_closest_marker("browser")]
    if "browser" not in (config.option.markexpr or ""):
        for item in ours:
            item.add_marker(pytest.mark.skip(reason="in a real browser: make test-browser"))
    elif ours and chromium() is None:
        pytest.exit(HOW_TO_GET, returncode=1)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all files: Playwright allows one at a time in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield found
        found.close()
