"""Make or update .venv, the course's own Python. Standard library only.

    python3 helpers/tools/environment.py [--dev] [--this-python]

Does nothing when .venv already holds what requirements.txt and pyproject.toml ask for.
--dev adds what testing needs; --this-python uses the running interpreter and looks for no other.
Written so that an old Python can still read it and say in a line which one is needed.
"""

from __future__ import print_function

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 14)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
OFFLINE = (
    "NewConnectionError|NameResolutionError|ConnectTimeout|Name or service not known|getaddrinfo"
    "|Temporary failure in name resolution|Network is unreachable|Could not fetch URL"
    "|Connection refused|Connection reset|ProxyError|Read timed out|ReadTimeoutError"
)


class SetUpError(Exception):
    """What stands in the way, in one line."""


def supported(version):
    return OLDEST <= tuple(version[:2]) <= NEWEST


def written(version):
    return ".".join(str(part) for part in version[:2])


def find_python(this_only=False, version=None, ask=None):
    """Path of an interpreter that can make .venv: the running one, else one by its usual name.

    version, ask   the running interpreter's version, and what asks another one (for tests)
    Raises SetUpError when there is none, and when the only ones lack the venv module.
    """
    version = version or sys.version_info
    ask = ask or ask_python
    # Started from an activated .venv, that is about to be made anew: take the one beneath it.
    names = [[getattr(sys, "_base_executable", None) or sys.executable]]
    if not this_only:
        minors = range(OLDEST[1], NEWEST[1] + 1)
        names += [["python3.%d" % minor] for minor in minors] + [["python3"], ["python"]]
        if os.name == "nt":
            names += [["py", "-3.%d" % minor] for minor in minors]
    without_venv = None
    for command in names:
        found = ask(command)
        if found is None or not supported(found[1]):
            continue
        if found[2]:
            return found[0]
        without_venv = without_venv or found
    if without_venv:
        raise SetUpError(
            "%s (Python %s) has no venv module: install it (on Debian and Ubuntu: "
            "sudo apt install python%s-venv) and run this again."
            % (without_venv[0], written(without_venv[1]), written(without_venv[1]))
        )
    raise SetUpError(
        "This is Python %s. The course needs Python %s to %s: install one of these, or name it, "
        "as in `make lab PYTHON=python3.12`." % (written(version), written(OLDEST), written(NEWEST))
    )


def ask_python(command):
    """(path, version, has venv) of an interpreter, None if it doesn't run."""
    code = (
        "import sys, importlib.util as u; print(sys.executable); print(*sys.version_info[:3]); "
        "print(all(u.find_spec(m) for m in ('venv', 'ensurepip')))"
    )
    status, out = run(command + ["-c", code])
    lines = out.strip().splitlines()
    if status or len(lines) < 3:
        return None
    return lines[0], tuple(int(n) for n in lines[1].split()), lines[2] == "True"


def run(command, log=None):
    """(exit status, what was printed on stdout and stderr) of a command run in the root."""
    try:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
            env=dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1"),
        )
    except OSError:
        return 127, ""
    out = process.communicate()[0]
    return process.returncode, out


class Environment(object):
    """The folder .venv below `root`, and the stamp in it that says what it holds."""

    def __init__(self, root=ROOT):
        self.root = root
        self.folder = os.path.join(root, ".venv")
        inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        self.python = os.path.join(self.folder, *inside)
        self.stamp = os.path.join(self.folder, "course-stamp")
        self.marker = os.path.join(self.folder, "being-made")
        self.log = os.path.join(self.folder, "install.log")

    def fingerprint(self):
        """Changes with the packages asked for and with the place of the checkout."""
        text = self.read("requirements.txt")
        # What follows configures tools, which an installed environment doesn't notice.
        text += self.read("pyproject.toml").split("\n[tool.pytest")[0]
        return hashlib.sha256((text + os.path.realpath(self.root)).encode("utf-8")).hexdigest()

    def read(self, name):
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read().decode("utf-8").replace("\r\n", "\n")

    def is_ready(self, dev):
        try:
            with open(self.stamp) as file:
                stamp = file.read().split()
        except (IOError, OSError):
            return False
        fits = stamp[:1] == [self.fingerprint()] and (not dev or "dev" in stamp)
        return fits and os.path.exists(self.python) and not os.path.exists(self.marker)

    def write_stamp(self, dev):
        with open(self.stamp, "w") as file:
            file.write("%s%s\n" % (self.fingerprint(), " dev" if dev else ""))

    def had_dev(self):
        try:
            with open(self.stamp) as file:
                return "dev" in file.read().split()
        except (IOError, OSError):
            return False

    def make(self, dev=False, this_only=False):
        """Bring .venv to what is asked for; a set-up that was interrupted starts afresh."""
        if self.is_ready(dev):
            return
        dev = dev or self.had_dev()
        self.discard_unfit(this_only)
        chosen = None if os.path.exists(self.python) else find_python(this_only)
        if not os.path.isdir(self.folder):
            os.mkdir(self.folder)
        with open(self.marker, "w") as file:
            file.write(str(os.getpid()))
        try:
            if chosen:
                say("Making .venv with Python %s" % written(ask_python([chosen])[1]))
                status, out = run([chosen, "-m", "venv", self.folder])
                if status:
                    raise SetUpError("python -m venv failed: %s" % last_line(out))
            self.install(dev)
        except SetUpError:  # pip undoes what it could not finish: nothing is half-made
            os.remove(self.marker)
            raise
        os.remove(self.marker)
        self.write_stamp(dev)
        say("Ready")

    def discard_unfit(self, this_only):
        """Remove a .venv that was left half-made, doesn't run, or is of another Python."""
        if os.path.exists(self.marker):
            with open(self.marker) as file:
                other = file.read()
            if other.isdigit() and is_running(int(other)):
                raise SetUpError("Another set-up is running (process %s): wait for it." % other)
            say("The last set-up was interrupted: starting afresh")
            shutil.rmtree(self.folder)
        elif os.path.exists(self.folder):
            found = ask_python([self.python])
            has_pip = found and run([self.python, "-m", "pip", "--version"])[0] == 0
            other = found and this_only and found[1][:2] != tuple(sys.version_info[:2])
            if not has_pip or other or not supported(found[1]):
                say("The .venv that is here does not serve: starting afresh")
                shutil.rmtree(self.folder)

    def install(self, dev):
        torch = re.search(r"^torch==\S+", self.read("requirements.txt"), re.M).group()
        build = re.search(r"setuptools==[\d.]+", self.read("pyproject.toml")).group()
        from_folder = []
        if has_wheels(os.path.join(self.root, "wheels")):
            from_folder = ["--no-index", "--find-links", os.path.join(self.root, "wheels")]
            say("Installing from the folder wheels/, without network")
        elif not self.has(torch):
            self.install_torch(torch)
        if not from_folder:
            say("Installing JupyterLab, matplotlib and the rest (once, some minutes)")
        self.pip([build] + from_folder)
        what = ".[dev]" if dev else "."
        self.pip(["--no-build-isolation", "-e", what] + from_folder)

    def install_torch(self, torch):
        # On Linux the usual index gives a CUDA build of several GB. Whoever has configured pip
        # (a mirror, a folder of wheels) has made their own choice.
        if platform.system() == "Linux" and not self.pip_is_configured():
            say("Installing %s, the CPU build (once, about 200 MB)" % torch)
            try:
                return self.pip([torch, "--index-url", CPU_INDEX])
            except SetUpError as error:
                say("No CPU build to be had (%s)" % str(error).split(":")[0].rstrip("."))
                say("Installing %s from the usual index: on Linux this may be several GB" % torch)
        else:
            say("Installing %s (once)" % torch)
        self.pip([torch])

    def has(self, pin):
        name, version = pin.split("==")
        code = "import importlib.metadata as m; print(m.version(%r))" % name
        return run([self.python, "-c", code])[1].strip().split("+")[0] == version

    def pip_is_configured(self):
        out = run([self.python, "-m", "pip", "config", "list"])[1]
        return re.search(r"\.(extra-index-url|index-url|find-links|no-index)=", out) is not None

    def pip(self, arguments, what="install"):
        command = [self.python, "-m", "pip", what, "--quiet", "--retries", "3"]
        status, out = run(command + ["--log", self.log] + arguments)
        if not status:
            return
        place = os.path.relpath(self.log, self.root)
        if re.search(OFFLINE, out) and "--no-index" not in arguments:
            raise SetUpError(
                "No network: the first set-up needs one, once. Connect and run this again, or put "
                "the folder wheels/ here, from `make wheels` elsewhere (details: %s)." % place
            )
        raise SetUpError("pip failed: %s (details: %s)" % (last_line(out), place))


def has_wheels(folder):
    return os.path.isdir(folder) and any(n.endswith(".whl") for n in os.listdir(folder))


def is_running(process):
    if os.name == "nt":  # there os.kill(process, 0) would end it
        return False
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def last_line(out):
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no reason given"])[-1]


def say(line):
    print("set-up: " + line)
    sys.stdout.flush()


def main(arguments):
    try:
        Environment().make("--dev" in arguments, "--this-python" in arguments)
    except SetUpError as error:
        sys.stderr.write("set-up: %s\n" % error)
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nset-up: interrupted; the same command starts afresh.\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
