"""JupyterLab itself on a copy of the notebooks, and a browser in front of it.

A test of another chapter needs a few lines:

    def test_chapter_04(lab):
        with lab.open("04_pipeline_throughput.ipynb") as chapter:
            chapter.run_all()
            picture = chapter.picture("slider-buffer")
            assert min(picture.move("Buffer", "ArrowRight", "ArrowLeft")) < 1.0
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import sync_playwright

from labutils import processes, server

REPO = Path(__file__).resolve().parents[2]
IN_PAGE = Path(__file__).parent / "in_page.js"
SCREENSHOTS = Path(__file__).parent / "screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = "No Chromium was found on this machine, so JupyterLab itself is not tested: install `chromium`."
OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{what}" for what in OFF)]
VIEWPORT = {"width": 1280, "height": 800}
PATIENCE = 60  # s that the page may take for anything but running cells; a busy machine is slow
RUN = 380  # s for all cells of a notebook, where other programs keep every core busy
ERROR, STDERR = "application/vnd.jupyter.error", "application/vnd.jupyter.stderr"

# All cells in the page at once, however far it is scrolled; and no questions asked.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False, "confirmClosingDocument": False},
}


def has_run(prompt):
    """Whether the brackets left of a cell hold a number: [3]: and neither [*]: nor [ ]:"""
    return re.fullmatch(r"\[\d+\]:", prompt.strip()) is not None


class Notebook:
    """A notebook open in JupyterLab: run it, and look at its cells by their ids."""

    def __init__(self, page, path):
        self.page, self.name = page, path.stem
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        self.places = {cell["id"]: place for place, cell in enumerate(cells)}
        self.code = [cell["id"] for cell in cells if cell["cell_type"] == "code"]

    def cell(self, name):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(self.places[name])

    def output(self, name):
        """The text below a cell."""
        return self.cell(name).locator(".jp-Cell-outputWrapper").inner_text()

    def picture(self, name):
        return Picture(self, name)

    def card(self, name):
        return Card(self, name)

    def menu(self, menu, item):
        self.page.get_by_role("menuitem", name=menu, exact=True).click()
        self.page.get_by_role("menuitem", name=re.compile(f"^{item}")).first.click()

    def wait_until_idle(self, seconds=PATIENCE):
        """As the status bar says: the sign in the toolbar says so before there is a connection."""
        self.page.get_by_text(re.compile(r"\| Idle$")).wait_for(timeout=seconds * 1000)

    def clear(self):
        """Clear all outputs, so that no stored one is taken for a new one."""
        self.menu("Edit", "Clear Outputs of All Cells")
        self.wait_for(lambda: not any(map(has_run, self.prompts().values())), PATIENCE, "outputs are still there")

    def run_all(self):
        self.menu("Run", "Run All Cells$")
        self._wait_until_run(self.code)

    def run(self, first, last=None):
        """Run a cell, or those from `first` to `last`, by keyboard."""
        place = self.code.index
        for name in self.code[place(first) : place(last or first) + 1]:
            self.cell(name).locator(".jp-InputPrompt").click()
            self.page.keyboard.press("Control+Enter")
            self._wait_until_run([name])

    def _wait_until_run(self, names):
        """Until each of these cells has its number and the kernel rests; an error in a cell stops the rest."""

        def settled():
            prompts = self.prompts()
            return all(has_run(prompts[name]) for name in names) or self.page.evaluate("inPage.failed()")

        self.wait_for(settled, RUN, "not all cells have run")
        self.wait_until_idle()

    def wait_for(self, condition, seconds, otherwise):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                self.screenshot("timeout")
                pytest.fail(f"{self.name}, after {seconds} s: {otherwise}. The prompts: {self.prompts()}")
            self.page.wait_for_timeout(500)  # looking costs time that the kernel may need

    def prompts(self):
        """{id: what stands left of the code}: [3]: for a cell that has run, [*]: for one that waits."""
        return dict(zip(self.code, self.page.evaluate("inPage.prompts()"), strict=True))

    def errors(self):
        """What the page shows of exceptions, of stderr, and of widgets that could not be shown."""
        outputs = self.page.locator(".jp-Notebook .jp-OutputArea")
        bad = outputs.locator(f'[data-mime-type="{ERROR}"], [data-mime-type="{STDERR}"]')
        broken = outputs.get_by_text(re.compile("Error displaying widget|Error creating widget|Loading widget"))
        return bad.all_inner_texts() + broken.all_inner_texts()

    def too_wide(self):
        """The cells below which a learner must scroll sideways."""
        return [name for name in self.code if self.cell(name).evaluate("cell => inPage.tooWide(cell)")]

    def show(self, name):
        """Scroll until the cell stands at the top."""
        self.cell(name).evaluate("cell => cell.scrollIntoView({block: 'start'})")

    def screenshot(self, stage):
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{self.name}_{stage}.png")

    def picture_for_readme(self, name, path):
        """The page from this cell on, without the panel of files, in a window that is narrow enough for small print."""
        self.menu("View", "File Browser")
        self.page.set_viewport_size({"width": 1060, "height": 930})
        self.page.mouse.move(0, 0)  # what the mouse is over shows more than it does to a reader
        self.show(name)
        self.page.screenshot(path=path)


class Picture:
    """An Explorer in the page: its controls, its line for errors, and its picture."""

    shown = "img.widget-image"

    def __init__(self, notebook, name):
        self.page, self.cell = notebook.page, notebook.cell(name)
        self.image = self.cell.locator(self.shown)
        self.image.scroll_into_view_if_needed()

    @property
    def message(self):
        return self.cell.locator(".widget-html-content").inner_text()

    def readout(self, label):
        return self._slider(label).locator(".widget-readout").inner_text()

    def move(self, label, *keys):
        """Move a slider by these keys; for each the seconds from the key press to the new picture."""
        self._slider(label).locator(".noUi-handle").focus()
        return [self._answer(lambda key=key: self.page.keyboard.press(key)) for key in keys]

    def press(self, label, key):
        """Move a slider by a key, where no new picture is expected."""
        self._slider(label).locator(".noUi-handle").focus()
        self.page.keyboard.press(key)
        self.page.wait_for_timeout(1000)

    def click(self, *texts):
        """Click buttons with these texts; for each the seconds from the click to the new picture."""
        buttons = [self.cell.get_by_role("button", name=text, exact=True) for text in texts]
        return [self._answer(button.click) for button in buttons]

    def _slider(self, label):
        return self.cell.locator(".widget-hslider", has=self.page.get_by_text(label, exact=True))

    def _answer(self, act):
        self.image.evaluate("(img, patience) => inPage.watch(img, patience)", PATIENCE * 1000)
        act()
        return self.page.evaluate("inPage.answered") / 1000


class Card(Picture):
    """An Explorer that shows a card, made of HTML, where others show a picture."""

    shown = ".widget-html-content >> nth=-1"

    @property
    def message(self):
        return self.cell.locator(".widget-html-content").first.inner_text()


class Course:
    """JupyterLab as the course starts it, on a copy of the notebooks, and a browser."""

    def __init__(self, root, browser):
        self.root, self.browser, self.token = root, browser, secrets.token_hex(24)
        self.originals = {}  # of each notebook that was opened: the repository's file, and what was in it
        for folder in ("notebooks", "figures"):
            shutil.copytree(REPO / folder, root / folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        settings = server.settings_folder(root) / "lab" / "user-settings" / "@jupyterlab"
        for plugin, values in SETTINGS.items():
            file = settings / f"{plugin}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        self.port = free_port()
        self.address = f"http://{server.HOST}:{self.port}"

    @contextlib.contextmanager
    def running(self):
        process, log = server.launch(self.root, self.port, self.token)
        try:
            server.wait_until_ready(process, self.port, self.token, log)
            yield self
        finally:
            processes.stop(process)

    @contextlib.contextmanager
    def open(self, path):
        """A notebook, its outputs cleared, in a page of its own; its kernel ends with it."""
        original = REPO / "notebooks" / path
        if original.exists():
            self.originals.setdefault(original, original.read_bytes())
        page, foreign = self.browser.new_page(), []
        page.on("request", lambda request: foreign.append(request.url) if self._is_foreign(request) else None)
        page.set_default_timeout(PATIENCE * 1000)
        page.add_init_script(path=IN_PAGE)
        try:
            page.goto(f"{self.address}/lab/tree/notebooks/{path}?reset&token={self.token}")
            notebook = Notebook(page, self.root / "notebooks" / path)
            notebook.wait_until_idle()
            notebook.screenshot("opened")
            notebook.clear()
            yield notebook
        finally:
            page.close()
            for session in self._ask("GET", "sessions"):
                self._ask("DELETE", f"sessions/{session['id']}")
        assert not foreign, "the course works offline, yet the page asked another machine"

    def _is_foreign(self, request):
        """Whether the course asks another machine. What TensorBoard asks in its frame is not the course's."""
        ours = request.url.startswith((f"{self.address}/", self.address.replace("http", "ws"), "blob:", "data:"))
        framed = not request.is_navigation_request() and request.frame.parent_frame is not None
        board = request.url.startswith(f"http://{server.HOST}:")
        return not (ours or framed or board)

    def _ask(self, method, path):
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.address}/api/{path}", method=method, headers=headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or "null")


def free_port():
    with socket.socket() as probe:
        probe.bind((server.HOST, 0))
        return probe.getsockname()[1]


def give_up(environment):
    """Without a browser: skip on somebody's laptop, but fail where CI is set, since there a skip would go unseen."""
    in_ci = environment.get("CI", "").lower() not in ("", "0", "false")
    (pytest.fail if in_ci else pytest.skip)(NO_BROWSER)


def living(folder):
    """Processes below this one, and all others that work in this folder or name it."""
    found = processes.descendants(os.getpid())
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if str(folder) in " ".join([process.cwd(), *process.cmdline()]):
                found.append(process)
    return {process for process in found if processes.alive(process)}


@contextlib.contextmanager
def leaving_nothing(folder):
    """Whatever starts inside has ended soon after: the server, its kernels, the browser."""
    before = living(folder)
    yield
    deadline = time.monotonic() + 20
    while (left := living(folder) - before) and time.monotonic() < deadline:
        time.sleep(0.2)
    described = [f"{process.pid} {process.name()}" for process in left]
    processes.kill(left)
    assert not left, f"still running: {described}"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        give_up(os.environ)
    folder = tmp_path_factory.mktemp("browser")
    with leaving_nothing(folder), pytest.MonkeyPatch.context() as variables:
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            variables.setenv(name, str(folder / name.lower()))
        for name in ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR"):  # they stand below the configuration
            variables.delenv(name, raising=False)
        options = {"executable_path": executable, "headless": True, "args": FLAGS, "viewport": VIEWPORT}
        options["reduced_motion"] = "reduce"  # a busy kernel needs no animation
        options["env"] = os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}  # crash reports and caches
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch_persistent_context(folder / "profile", **options)
            with contextlib.closing(browser), Course(folder / "course", browser).running() as course:
                yield course
    changed = [str(path) for path, before in course.originals.items() if path.read_bytes() != before]
    assert not changed, "the page worked on a copy, yet the repository's own notebooks have changed"


@pytest.fixture
def without_browser():
    return give_up
