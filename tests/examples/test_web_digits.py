"""The digits net in a headless Chromium: its numbers on the held-out digits, and a digit drawn with the mouse.

GLUONX_NODE_MODULES names the folder into which npm has put onnxruntime-web.
"""

import functools
import http.server
import os
import pathlib
import shutil
import threading
from typing import ClassVar

import numpy as np
import pytest

from examples import digits
from examples.web_digits.__main__ import build

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def net():
    made = digits.Digits()
    digits.train(made, digits.load_data()[0], 8)
    return made


@pytest.fixture(scope="module")
def page(net, tmp_path_factory):
    modules = os.environ.get("GLUONX_NODE_MODULES", "node_modules")
    if not (pathlib.Path(modules) / "onnxruntime-web").is_dir():
        pytest.skip("onnxruntime-web is not there: npm install onnxruntime-web@1.30, GLUONX_NODE_MODULES")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    browser_path = shutil.which("chromium") or pytest.skip("there is no Chromium")
    site = tmp_path_factory.mktemp("web") / "site"
    build(net, site, pathlib.Path(modules))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 800, "height": 640})
        shown.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        shown.wait_for_function("document.getElementById('status').textContent == 'ready'", timeout=60_000)
        yield shown
        browser.close()
    server.shutdown()
    server.server_close()


def test_the_browser_predicts_as_python_does(net, page):
    images, labels = digits.load_data()[1]
    expected = net(digits.mx.np.array(images)).asnumpy()
    flat = page.evaluate("([images, count]) => window.predict(images, count)", [images.ravel().tolist(), len(images)])
    found = np.array(flat, "float32").reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found.argmax(1), expected.argmax(1))
    assert (found.argmax(1) == labels).mean() > 0.95


def test_a_digit_drawn_with_the_mouse_is_read(page, tmp_path):
    box = page.locator("#paper").bounding_box()

    def stroke(*points):
        page.mouse.move(box["x"] + points[0][0], box["y"] + points[0][1])
        page.mouse.down()
        for x, y in points[1:]:
            page.mouse.move(box["x"] + x, box["y"] + y, steps=5)
        page.mouse.up()

    turns = np.linspace(0, 2 * np.pi, 25)
    stroke(*[(128 + 62 * np.sin(t), 128 - 92 * np.cos(t)) for t in turns])
    page.wait_for_function("document.getElementById('answer').textContent == '0'", timeout=10_000)
    page.screenshot(path=os.environ.get("GLUONX_SCREENSHOT", str(tmp_path / "page.png")))
    page.click("#clear")
    assert page.inner_text("#answer") == "–"
