"""JupyterLab on a free port of this machine, and a real Chromium that looks at it."""

import os
import secrets
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from helpers.tools.lab import command
from helpers.tools.replay import surroundings

HOW_TO_GET = (
    "Chromium is missing: on Debian or Ubuntu `apt-get install chromium`, elsewhere "
    "`.venv/bin/python -m playwright install chromium`; or name one, CHROMIUM=/path make "
    "test-browser"
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # What is asked of another machine is noted, and does not leave this one.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
# What Lab's own debugger notes when the kernel is restarted before it has answered.
RESTARTED = "Could not restore the debugger state: Canceled future for debug_request message"
START_SECONDS, RUN_SECONDS, LOOK_SECONDS = 60, 240, 8


def chromium():
    """The path of a Chromium, or None: CHROMIUM, Debian's, another on the path, Playwright's."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if found := shutil.which(name):
            return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


@contextmanager
def lab(folder, port):
    """A server with `folder` as its root; yields its address and its token."""
    token = secrets.token_hex(16)
    state = folder / ".jupyter"
    start = [
        *command(folder / "any.ipynb", port, folder),
        "--ServerApp.open_browser=False",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",
        f"--LabApp.user_settings_dir={state / 'settings'}",
        f"--LabApp.workspaces_dir={state / 'workspaces'}",
    ]
    with surroundings() as environ:
        environ |= {"JUPYTER_CONFIG_DIR": str(state), "JUPYTER_RUNTIME_DIR": str(state / "run")}
        state.mkdir(exist_ok=True)
        with open(state / "log", "wb") as log:
            server = subprocess.Popen(start, cwd=folder, env=environ, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(server, f"{address}/api?token={token}", state / "log")
            yield address, token
        finally:
            server.terminate()  # its kernels end with it
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_for(server, address, log):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(errors='replace')[-2000:]}")


class Sheet:
    """One notebook open in Lab: `page` is Playwright's, `complaints` what should not happen."""

    def __init__(self, context, address, token, name, mode="lab"):
        self.address, self.name, self.complaints = address, name, []
        self.page = context.new_page()
        self.page.set_default_timeout(1000 * LOOK_SECONDS)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.on("request", self._request)
        self.page.on("websocket", lambda socket: self._request(socket))
        path = "doc" if mode == "doc" else f"lab/workspaces/{Path(name).stem}"
        fresh = "" if mode == "doc" else "reset&"
        self.page.goto(f"{address}/{path}/tree/{quote(name)}?{fresh}token={token}")
        self.idle()

    def _console(self, message):
        if message.type == "error" and not message.text.startswith(RESTARTED):
            self.complaints.append(f"console: {message.text}")

    def _request(self, request):
        url = urlsplit(request.url)
        here = urlsplit(self.address)
        if url.scheme not in ("data", "blob") and url.netloc != here.netloc:
            self.complaints.append(f"request to {request.url}")

    def idle(self):
        """Wait until the notebook is there and its kernel has answered that it is idle."""
        self.page.wait_for_function(
            """() => {
              const context = window.jupyterapp?.shell?.currentWidget?.sessionContext;
              return context?.isReady && context.session?.kernel?.status === 'idle';
            }""",
            timeout=1000 * START_SECONDS,
        )

    def run_all(self):
        """Run → Restart Kernel and Run All Cells, as a reader would, until the last cell is done.

        Returns the names of cells that raised and may not, and the number of code cells run.
        """
        self.page.evaluate(  # stored counts look like those of a run that is done
            """() => {
              window.statuses = [];
              jupyterapp.shell.currentWidget.sessionContext.statusChanged.connect(
                (_, status) => window.statuses.push(status));
            }"""
        )
        self.page.locator(".lm-MenuBar-item", has_text="Run").first.click()
        self.page.locator('.lm-Menu-item[data-command="runmenu:restart-and-run-all"]').click()
        self.page.locator(".jp-Dialog button.jp-mod-accept").click()
        # A cell that raises is the last that runs.
        self.page.wait_for_function(
            """() => {
              const widget = jupyterapp.shell.currentWidget;
              const cells = [...widget.content.model.cells];
              const code = cells.filter(c => c.type === 'code' && c.sharedModel.source.trim());
              const counts = code.map(c => c.executionCount);
              const anew = window.statuses.indexOf('restarting');
              const may = c => (c.getMetadata('tags') ?? []).includes('raises-exception');
              const raised = code.some(c => !may(c)
                && c.outputs.toJSON().some(o => o.output_type === 'error'));
              return anew >= 0 && window.statuses.includes('busy', anew)
                && (raised || counts.every((count, i) => count === i + 1))
                && code.every(c => (c.executionState ?? 'idle') === 'idle')
                && widget.sessionContext.session?.kernel?.status === 'idle';
            }""",
            timeout=1000 * RUN_SECONDS,
        )
        return self.page.evaluate(
            """() => {
              const cells = [...jupyterapp.shell.currentWidget.content.model.cells];
              const code = cells.filter(c => c.type === 'code');
              const may = c => (c.getMetadata('tags') ?? []).includes('raises-exception');
              const raised = code.filter(c => !may(c)
                && c.outputs.toJSON().some(o => o.output_type === 'error'));
              return [raised.map(c => c.id), code.length];
            }"""
        )

    def run_again(self):
        """Run all cells in the kernel as it is, and wait for the new explorers."""
        self.page.evaluate(
            """async () => {
              for (const box of document.querySelectorAll('.explorer')) box.dataset.old = 'yes';
              await jupyterapp.commands.execute('notebook:run-all-cells');
            }"""
        )
        self.page.wait_for_function("!document.querySelector('.explorer[data-old]')")
        self.idle()

    def explorers(self):
        """The explorers on the page, in order, brought into view one by one."""
        self.page.evaluate(
            """() => {
              const notebook = jupyterapp.shell.currentWidget.content;
              const index = notebook.widgets.findIndex(
                w => /^\\s*explore_/m.test(w.model.sharedModel.source));
              notebook.activeCellIndex = index;
              notebook.scrollToItem(index, 'start');
            }"""
        )
        self.page.wait_for_selector(".explorer svg")
        return self.page.locator(".explorer")

    def close(self):
        """Close the page, and its kernel, which would hold its memory until the server ends."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.close()
