"""The explorer in a real headless Chromium: load, type, hover, step, slide, export, bad input, two tabs, a phone's width."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from explorer_pages import counts, element, lit, settle, slid, typed

from simlayout.explorer.model import answer
from simlayout.explorer.pack import ints_of
from simlayout.explorer.state import single

pytest.importorskip("selenium", reason="the browser tests need selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

pytestmark = pytest.mark.slow
TILE, SWIZZLED = "(16,64):(64,1)", "Sw<3,3,3> o (16,64):(64,1)"


def test_it_loads_with_the_counts_of_its_layout(page):
    assert element(page, "layout").get_attribute("value") == TILE
    assert counts(page) == [32, 4, 28, 28]
    assert len(page.find_elements(By.CSS_SELECTOR, "#grid [data-cell]")) == 32
    assert "banks 0-3: words 0-3 (lane 0)" in element(page, "explanation").get_property("textContent")
    offsets, banks = page.execute_script("return [answer.tile.offsets, answer.tile.banks]")
    assert offsets == ints_of(answer(single(TILE))["tile"]["offsets"])
    assert banks == [offset * 2 // 4 % 32 for offset in offsets]


@pytest.mark.parametrize("size", [(1024, 768), (1366, 768), (1600, 1000)])
def test_on_a_projector_each_cell_names_its_lane_each_button_holds_its_label_and_what_is_said_is_in_sight(page, size):
    page.set_window_size(*size)
    page.get(page.current_url)
    WebDriverWait(page, 10).until(lambda _: len(page.find_elements(By.CSS_SELECTOR, "#grid [data-cell]")) == 32)
    named = page.execute_script("return [...document.querySelectorAll('#grid [data-cell]')].map((c) => c.textContent)")
    assert sorted(named, key=int) == [str(lane) for lane in range(32)]
    assert page.execute_script("return [...document.querySelectorAll('.stepper button')].every("
                               "(b) => b.scrollWidth <= b.clientWidth)")
    assert page.execute_script("return document.getElementById('about').getBoundingClientRect().bottom <= innerHeight")
    page.set_window_size(1400, 1000)


def test_what_is_typed_is_answered(page):
    typed(page, "layout", SWIZZLED)
    assert counts(page) == [4, 4, 0, 0]
    typed(page, "layout", "(32,32):(32,1)")
    Select(element(page, "dtype")).select_by_value("f32")
    typed(page, "op", "ld.shared.b32")
    typed(page, "domain", "")
    typed(page, "lanes", "tid, 1")
    assert counts(page) == [32, 1, 31, 31]
    typed(page, "lanes", "1, tid")
    assert counts(page) == [1, 1, 0, 0]


def test_an_example_can_be_picked(page):
    Select(element(page, "preset")).select_by_visible_text("32x32 f32, by columns")
    settle(page)
    assert counts(page) == [32, 1, 31, 31]
    assert element(page, "lanes").get_attribute("value") == "tid, k"


def test_hovering_a_lane_lights_its_element_its_banks_and_whom_it_waits_for(page):
    ActionChains(page).move_to_element(page.find_element(By.CSS_SELECTOR, "[data-lane='3']")).perform()
    assert lit(page, "lane") == ({3}, {0, 1, 2, 4, 5, 6, 7})
    assert lit(page, "bank")[0] == {0, 1, 2, 3}
    cells = page.execute_script("return cells.filter(c => c.lanes.includes(3)).map(c => c.id)")
    assert lit(page, "cell")[0] == set(cells) and len(lit(page, "cell")[1]) == 7
    assert "lane 3: row 3, column 0" in element(page, "about").text
    assert "in the same banks: lanes 0–2, 4–7" in element(page, "about").text
    ActionChains(page).move_to_element(element(page, "counts-title")).perform()
    assert lit(page, "lane") == (set(), set())


def test_lanes_that_share_a_word_are_partners(page):
    typed(page, "op", "ld.shared.b128")
    typed(page, "lanes", "0, 8*(tid // 4)")
    ActionChains(page).move_to_element(page.find_element(By.CSS_SELECTOR, "[data-lane='5']")).perform()
    assert lit(page, "lane") == ({5}, {4, 6, 7})


def test_hovering_a_bank_lights_the_lanes_that_want_it(page):
    ActionChains(page).move_to_element(page.find_element(By.CSS_SELECTOR, "#grid [data-bank='5']")).perform()
    assert lit(page, "lane")[0] == set(range(16, 32))
    assert "bank 5: wanted by lanes 16–31" in element(page, "about").text
    held = page.execute_script("return [...partners({kind: 'bank', id: 5}, answer, cells).nearElements]")
    offsets = ints_of(answer(single(TILE))["tile"]["offsets"])
    assert sorted(held) == [e for e, offset in enumerate(offsets) if offset // 2 % 32 == 5]


def test_hovering_an_element_lights_its_lane_and_its_bank(page):
    page.execute_script("document.getElementById('tile').scrollIntoView({block: 'center'})")
    x, y = page.execute_script("""const b = byId('tile').getBoundingClientRect();
        return [Math.round(b.left + MARGIN.left + 11.5 * size.cw), Math.round(b.top + MARGIN.top + 2.5 * size.ch)]""")
    mouse = ActionChains(page)
    mouse.w3c_actions.pointer_action.move_to_location(x, y)
    mouse.perform()
    assert "row 2, column 11: offset 139, byte 278, bank 5, moved by lane 18" in element(page, "about").text
    assert lit(page, "lane")[0] == {18} and lit(page, "bank")[0] >= {5}


def test_the_keyboard_alone_reaches_lanes_elements_and_steps(page):
    page.find_element(By.CSS_SELECTOR, "[data-lane='0']").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert lit(page, "lane")[0] == {9}
    page.switch_to.active_element.send_keys(Keys.ENTER)
    page.switch_to.active_element.send_keys(Keys.TAB)
    assert page.switch_to.active_element.get_dom_attribute("data-bank") == "0"
    element(page, "tile").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert "row 1, column 1: offset 65, byte 130, bank 0, moved by lane 1" in element(page, "about").text
    element(page, "tile").send_keys(Keys.ESCAPE)
    element(page, "grid").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert element(page, "step-now").text == "1 of 32, phase 0"
    element(page, "grid").send_keys(Keys.PAGE_DOWN)
    settle(page)
    assert element(page, "index-now").text == "k = 1"


def test_stepping_goes_through_every_wavefront_and_every_instruction(page):
    forward = page.find_element(By.CSS_SELECTOR, "[data-step='step'][data-by='1']")
    phases = []
    for row in range(32):
        forward.click()
        phases.append(element(page, "step-now").text.split(", ")[1])
        bright = page.execute_script("""return [...document.querySelectorAll('#grid [data-cell]')]
            .filter(g => g.getAttribute('opacity') === '1').map(g => cells[g.dataset.cell].row)""")
        assert bright == [row]
    assert phases == [f"phase {row // 8}" for row in range(32)] and not forward.is_enabled()
    following = page.find_element(By.CSS_SELECTOR, "[data-step='index'][data-by='1']")
    for k in (1, 2, 3):
        following.click()
        settle(page)
        assert element(page, "index-now").text == f"k = {k}"
    assert not following.is_enabled()


def test_the_sliders_write_the_swizzle_and_show_the_one_that_is_typed(page):
    slid(page, "b", 3)
    assert element(page, "layout").get_attribute("value") == f"Sw<3,3,3> o {TILE}" and counts(page)[2] == 0
    slid(page, "s", 2)
    assert "source and target overlap" in element(page, "error-layout").text
    slid(page, "s", 4)
    assert element(page, "error-layout").text == "" and counts(page) == [8, 4, 4, 4]
    slid(page, "b", 0)
    assert element(page, "layout").get_attribute("value") == TILE and counts(page)[2] == 28
    typed(page, "layout", "Sw<2,3,4> o Sw<1,3,5> o (16,64):(64,1)")
    assert [element(page, f"{name}-now").text for name in "bms"] == ["2", "3", "4"]
    slid(page, "b", 0)
    assert element(page, "layout").get_attribute("value") == f"Sw<1,3,5> o {TILE}"
    slid(page, "b", 2)
    assert element(page, "layout").get_attribute("value") == f"Sw<2,3,4> o Sw<1,3,5> o {TILE}"


def test_a_link_reproduces_the_state_and_the_view(page):
    typed(page, "layout", "(16,64):(72,1)")
    slid(page, "index", 2)
    slid(page, "step", 3)
    Select(element(page, "colour")).select_by_value("lane")
    page.find_element(By.CSS_SELECTOR, "[data-lane='7']").click()
    link, shown = page.current_url, page.execute_script("return [state, view, byId('tile').toDataURL()]")
    page.get("about:blank")
    page.get(link)
    settle(page)
    ActionChains(page).move_to_element(element(page, "counts-title")).perform()
    assert page.execute_script("return [state, view]") == shown[:2]
    assert shown[0] == single("(16,64):(72,1)", index=2).as_dict()
    assert element(page, "index-now").text == "k = 2" and lit(page, "lane")[0] == {7}


@pytest.mark.parametrize("name, text, message, shown", [
    ("layout", "(16,64", "column 7: expected ',' or ')', found the end of the text", "(16,64\n      ^"),
    ("layout", "(16,64):(0,1)", "is not one-to-one", ""), ("op", "ldmatrix.x3", "did you mean ldmatrix.x", ""),
    ("lanes", "tid ** 2", "a power is no integer arithmetic", "tid ** 2\n    ^"),
    ("layout", "<img src=x onerror=alert(1)>", "column 1", "<img src=x o\n^"),
    ("op", "<img src=x>", "unknown shared-memory instruction '<img src=x>'", "")])
def test_a_fault_stands_under_its_field_and_goes_when_it_is_mended(page, name, text, message, shown):
    before = counts(page)
    typed(page, name, text)
    place = element(page, f"error-{name}")
    assert message in place.text and element(page, name).get_dom_attribute("aria-invalid") == "true"
    assert [pre.get_property("textContent") for pre in place.find_elements(By.TAG_NAME, "pre")] == ([shown] if shown else [])
    assert place.find_elements(By.TAG_NAME, "img") == [] and counts(page) == before
    typed(page, name, {"layout": TILE, "op": "ldmatrix.x4", "lanes": ""}[name])
    assert place.text == "" and element(page, name).get_dom_attribute("aria-invalid") is None


def exported(page, downloads, button, name):
    for old in downloads.iterdir():
        old.unlink()
    element(page, button).click()
    path = downloads / name
    WebDriverWait(page, 300).until(lambda _: path.exists() and path.stat().st_size and not [*downloads.glob("*.crdownload")])
    return path


def test_the_svg_is_a_file_of_its_own(page, downloads):
    root = ElementTree.fromstring(exported(page, downloads, "export-svg", "simlayout.svg").read_text("utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg" and len(root.findall(f".//{space}g[@data-cell]")) == 32
    texts = ["".join(t.itertext()) for t in root.iter(f"{space}text")]
    assert any(f"{TILE}: 32 wavefronts, ideal 4" in text for text in texts)
    assert not any(name.endswith("href") or name == "style" for node in root.iter() for name in node.attrib)


def test_the_exported_page_works_without_the_server(page, downloads):
    typed(page, "layout", "(32,64):(64,1)")
    path = exported(page, downloads, "export-html", "simlayout.html")
    assert "127.0.0.1" not in path.read_text("utf-8").replace("on 127.0.0.1", "")
    page.get(Path(path).as_uri())
    settle(page)
    assert counts(page) == [32, 4, 28, 28]
    for _ in range(5):
        page.find_element(By.CSS_SELECTOR, "[data-step='index'][data-by='1']").click()
    assert element(page, "index-now").text == "i = 1, k = 1"
    wanted = answer(single("(32,64):(64,1)", index=5))["instruction"]["lanes"][3]
    assert page.execute_script("return answer.instruction.lanes[3]") == wanted
    page.find_element(By.CSS_SELECTOR, "[data-lane='3']").click()
    assert lit(page, "lane")[0] == {3} and "row 19, column 16" in element(page, "about").text
    element(page, "fix").click()
    page.find_element(By.CSS_SELECTOR, "[data-fix='0']").click()
    assert counts(page) == [4, 4, 0, 0] and element(page, "layout").get_property("value") == "Sw<3,3,3> o (32,64):(64,1)"
    element(page, "undo").click()
    WebDriverWait(page, 60).until(lambda _: counts(page) == [32, 4, 28, 28])
    element(page, "pin").click()
    slid(page, "b", 3)
    assert counts(page) == [4, 4, 0, 0] and page.execute_script("return answer.before.instruction.excess") == 28
    slid(page, "m", 2)
    assert "chunks whole" in element(page, "error-layout").text and counts(page) == [4, 4, 0, 0]
    slid(page, "m", 3)
    slid(page, "s", 4)
    assert counts(page) == [8, 4, 4, 4] and element(page, "error-layout").text == ""
    page.execute_script("history.back()")
    WebDriverWait(page, 60).until(lambda _: counts(page) == [4, 4, 0, 0])
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_what_is_lit_is_drawn_as_rectangles_that_cover_it_once(page):
    made = page.execute_script("""const seen = {x: 0, y: 0, w: 9999, h: 9999}, one = {cw: 1, ch: 1};
        const drawn = (set) => rectangles(new Set(set), answer.tile, one, seen);
        return [[0, 1, 2, 64, 65, 66, 130, 200], [63, 64], [5], []].map((set) =>
          drawn(set).map(([x, y, ...size]) => [x - MARGIN.left, y - MARGIN.top, ...size]))""")
    assert made == [[[0, 0, 3, 2], [2, 2, 1, 1], [8, 3, 1, 1]], [[63, 0, 1, 1], [0, 1, 1, 1]], [[5, 0, 1, 1]], []]


def test_a_hover_over_a_large_tile_takes_less_than_30_ms_of_the_page(page, explorer):
    page.get(f"{explorer.url}#layout=(512,256):(256,1)&dtype=s8&arch=sm_90&op=st.shared.b128")
    settle(page)
    page.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})        # the thread's own time, at any load

    def busy():
        metrics = page.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    for kind in ("bank", "lane", "element", "cell"):
        before = busy()
        page.execute_script("""for (let id = 0; id < 16; id++) { hover = {kind: arguments[0], id}; light(); }
                               hover = null; light();""", kind)
        assert (busy() - before) / 17 < 0.03, kind


def test_two_tabs_do_not_mix(page, explorer):
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    try:
        page.get(explorer.url)
        settle(page)
        typed(page, "layout", SWIZZLED)
        second = page.current_window_handle
        page.switch_to.window(first)
        assert counts(page) == [32, 4, 28, 28] and element(page, "layout").get_attribute("value") == TILE
        typed(page, "layout", "(16,64):(72,1)")
        page.switch_to.window(second)
        assert counts(page) == [4, 4, 0, 0] and element(page, "layout").get_attribute("value") == SWIZZLED
    finally:
        page.close()
        page.switch_to.window(first)


def test_at_a_phones_width_nothing_is_cut_and_all_is_in_reach(page):
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page.refresh()
        settle(page)
        assert page.execute_script("return [document.documentElement.scrollWidth, innerWidth]") == [360, 360]
        outside = page.execute_script("""return [...document.querySelectorAll('button, input, select, textarea')]
            .filter(e => e.offsetParent).map(e => e.getBoundingClientRect())
            .filter(b => b.left < 0 || b.right > innerWidth || b.width < 24 || b.height < 24).length""")
        assert outside == 0
        assert page.execute_script("return byId('grid').clientHeight >= svg.clientHeight && svg.clientHeight > 100")
        page.find_element(By.CSS_SELECTOR, "[data-lane='3']").click()
        assert lit(page, "lane")[0] == {3}
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_what_is_printed_in_the_dark_is_drawn_for_paper(page):
    try:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        row = "return document.querySelector('#grid [data-row]').getAttribute('fill')"
        WebDriverWait(page, 60).until(lambda _: page.execute_script(row) != "#fff")
        page.execute_script("dispatchEvent(new Event('beforeprint'))")
        assert page.execute_script(row) == "#fff" and page.execute_script("return svg.viewBox.baseVal.width < 700")
        page.execute_script("dispatchEvent(new Event('afterprint'))")
        assert page.execute_script(row) != "#fff"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_field_has_a_name_and_the_order_of_tabs_is_that_of_the_page(page):
    nameless = page.execute_script("""return [...document.querySelectorAll('button, input, select, textarea, canvas')]
        .filter(e => !(e.labels && e.labels.length) && !e.getAttribute('aria-label') && !e.textContent.trim())
        .map(e => e.id)""")
    assert nameless == []
    assert page.execute_script("return [...document.querySelectorAll('[tabindex]')].filter(e => e.tabIndex > 0).length") == 0
    element(page, "kernel").send_keys(Keys.TAB)
    reached = [page.switch_to.active_element.get_dom_attribute("id")]
    for _ in range(5):
        page.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(page.switch_to.active_element.get_dom_attribute("id"))
    assert reached == ["layout", "b", "m", "s", "dtype", "arch"]


def test_a_server_that_is_gone_is_told(page):
    page.execute_script("window.fetch = () => Promise.reject(new TypeError('gone'))")
    typed(page, "lanes", "tid, 0")
    assert "is `simlayout explore` still running?" in element(page, "error-request").text


def test_json_in_the_page_is_the_models(page):
    assert page.execute_script("return JSON.stringify(answer.counts)") == json.dumps(
        answer(single(TILE))["counts"], separators=(",", ":"))
