"""One headless Chromium for all browser tests of the explorer, and pages of it."""

import shutil
import threading

import pytest
from explorer_pages import settle

from simlayout.cli import registry
from simlayout.explorer.report import report_lines
from simlayout.explorer.server import Server
from simlayout.explorer.sources import Sources
from simlayout.explorer.state import single

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = ("--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1400,1000").split()
REPORT = {"kernels": [{"name": "transpose", "lines": [
    {"file": "prog.py", "line": 7, "source": "tile[y, x] = a[y, x]", "instructions": 32, "wavefronts": 32, "ideal": 32,
     "worst": {"instruction": "st.shared.b32", "wavefronts": 1, "addresses": [4 * i for i in range(32)]}},
    {"file": "prog.py", "line": 9, "source": "b[y, x] = tile[x, y]", "instructions": 32, "wavefronts": 1024, "ideal": 32,
     "worst": {"instruction": "ld.shared.b32", "wavefronts": 32, "addresses": [128 * i for i in range(31)] + [None]}}]}]}


@pytest.fixture(scope="session")
def explorer():
    """A server with a tile, the kernels that there are and a report."""
    sources = Sources(registry.KERNELS, report_lines(REPORT), "report.json")
    with Server(state=single("(16,64):(64,1)"), sources=sources) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def driver(downloads, tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="the browser tests need selenium")
    if not (CHROMIUM and DRIVER):
        pytest.skip("the browser tests need chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield made
    made.quit()


@pytest.fixture
def page(driver, explorer):
    """A fresh page; at the end of a test its console must be silent, but for the refusals that the test asked for."""
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(f"{explorer.url}#layout=(16,64):(64,1)&dtype=f16&arch=sm_90&op=ldmatrix.x4")
    settle(driver)
    yield driver
    complaints = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert [text for text in complaints if "status of 422" not in text] == []
