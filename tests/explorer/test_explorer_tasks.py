"""What people come to the explorer for, each done twice: by keyboard alone and by mouse, in a real headless Chromium."""

import pytest
from explorer_pages import counts, element, settle, typed
from tiers import sweep_but

pytest.importorskip("selenium", reason="the browser tests need selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

TILE, SWIZZLED = "(16,64):(64,1)", "Sw<3,3,3> o (16,64):(64,1)"
both = pytest.mark.parametrize("how", sweep_but(["keyboard"], ["keyboard", "mouse"]))


def press(page, how, css):
    """Presses a button: by a click, or by the keyboard, which must be able to reach it."""
    part = page.find_element(By.CSS_SELECTOR, css)
    if how == "mouse":
        ActionChains(page).move_to_element(part).click().perform()
    elif part.get_dom_attribute("role") == "tab":        # arrows go from one to the next
        for _ in page.find_elements(By.CSS_SELECTOR, "[role=tab]"):
            if part.get_dom_attribute("aria-selected") != "true":
                page.find_element(By.CSS_SELECTOR, "[role=tab][aria-selected=true]").send_keys(Keys.ARROW_LEFT)
        assert part.get_dom_attribute("aria-selected") == "true"
    else:
        assert page.execute_script("arguments[0].focus(); return document.activeElement === arguments[0]", part)
        assert part.get_property("tabIndex") >= 0
        part.send_keys(Keys.ENTER)
    settle(page)


def choose(page, how, name, text):
    """Chooses of a list: with the mouse, or by typing its text until it is the chosen one."""
    field = Select(element(page, name))
    if how == "mouse":
        field.select_by_visible_text(text)
    else:
        element(page, name).send_keys(text)
        assert Select(element(page, name)).first_selected_option.text == text
    settle(page)


def add(page, how, op):
    """Adds an access to the tile."""
    choose(page, how, "add-access", op)
    press(page, how, "#add")
    until(page, "state.accesses.length === answer.accesses.length && !busy")


def until(page, script):
    return WebDriverWait(page, 120).until(lambda d: d.execute_script(f"return {script}"))


def fixed(page, how):
    press(page, how, "#fix")
    until(page, "!byId('fix').disabled && document.querySelector('[data-fix]')")


@both
def test_two_layouts_are_compared(page, how):
    press(page, how, "#pin")
    typed(page, "layout", SWIZZLED)
    row = page.find_element(By.CSS_SELECTOR, "#accesses tbody tr").text
    assert "16 16 0" in row and "112" in row and "\u2212112" in row
    assert "before" in element(page, "before-title").text
    assert len(page.find_elements(By.CSS_SELECTOR, "#grid-before [data-cell]")) == 32
    assert page.execute_script("return moved.length") == 896
    press(page, how, "#pin")
    assert not element(page, "before-box").is_displayed()


@both
@pytest.mark.slow
def test_one_layout_is_found_for_three_accesses(page, how):
    for op in ("st.shared.b128", "ld.shared.b128"):
        add(page, how, op)
    fixed(page, how)
    assert "no excess (112 when" in element(page, "fixes").text
    press(page, how, "[data-fix='0']")
    until(page, "answer.layout !== '(16,64):(64,1)'")
    assert page.execute_script("return answer.accesses.map((a) => a.excess)") == [0, 0, 0]
    assert page.execute_script("return answer.accesses.map((a) => a.before.excess)") == [112, 0, 0]
    claims = element(page, "fixes").find_element(By.TAG_NAME, "li").get_property("textContent")
    assert claims == "one-to-one on its 1024 coordinates"


@both
@pytest.mark.slow
def test_no_layout_is_told_with_its_reason(page, how):
    typed(page, "layout", "(64,64):(64,1)")
    typed(page, "op", "ld.shared.b32")
    typed(page, "domain", "k=32")
    typed(page, "lanes", "tid, 2*k")
    add(page, how, "st.shared.b128")
    fixed(page, how)
    assert "None ends all conflicts" in element(page, "fixes").text
    assert "no layout has less that keeps chunks of 16 bytes whole" in element(page, "fixes").text


@both
@pytest.mark.slow
def test_cuda_is_copied_and_what_a_language_lacks_is_refused_by_name(page, how):
    typed(page, "layout", SWIZZLED)
    for language, wanted in (("CUDA C++", "__device__ __forceinline__"), ("Numba", "@cuda.jit(device=True)"),
                             ("CuTe", "Sw<3,3,3>"), ("Triton", "perPhase = 1"), ("Python (simlayout)", "natural_access")):
        choose(page, how, "copy-as", language)
        page.execute_script("document.body.dataset.copied = ''")
        press(page, how, "#copy")
        assert wanted in until(page, "document.body.dataset.copied")
    typed(page, "layout", "(16,64):(72,1)")
    choose(page, how, "copy-as", "Triton")
    press(page, how, "#copy")
    until(page, "byId('told').textContent.startsWith('Triton cannot say this')")


@both
@pytest.mark.slow
def test_the_code_tab_is_written_when_it_is_opened_and_follows_the_layout(page, how):
    assert page.execute_script("return byId('codes').childElementCount") == 0
    press(page, how, "#tab-code")
    until(page, "byId('code-cuda') && byId('code-cuda').textContent.includes('excess: 28 wavefronts')")
    typed(page, "layout", SWIZZLED)
    until(page, "byId('code-cuda').textContent.includes(' ^ (tid & 7)')")
    assert element(page, "code-cute").text == SWIZZLED and "check" in element(page, "command").text


@both
def test_an_address_is_inspected(page, how):
    for text, said in (("3, 8", "row 3, column 8: offset 200, byte 400, bank 4"),
                       ("@130", "row 1, column 1: offset 65, byte 130, bank 0")):
        field = element(page, "inspect")
        if how == "mouse":
            field.click()
        field.clear()
        field.send_keys(text, Keys.ENTER)
        assert said in element(page, "about").text
    field.clear()
    field.send_keys("@99999", Keys.ENTER)
    assert "no element that is drawn lies there" in element(page, "about").text


@both
@pytest.mark.slow
def test_a_conflict_is_stepped_through_and_played(page, how):
    press(page, how, "[data-step='step'][data-by='1']")
    press(page, how, "[data-step='step'][data-by='1']")
    assert element(page, "step-now").text == "1 of 32, phase 0"
    press(page, how, "#play")
    until(page, "view.step > 3")
    press(page, how, "#play")
    now = page.execute_script("return view.step")
    assert element(page, "play").text == "Play" and page.execute_script("return playing") == 0 and now > 3


@both
@pytest.mark.slow
def test_the_accesses_of_a_kernel_are_shown_by_name(page, how):
    choose(page, how, "kernel", "mma_permuted")
    until(page, "answer.name === 'copy A' && !busy")
    press(page, how, "[data-plan='0-2']")
    until(page, "answer.name === 'load A' && !busy")
    assert counts(page) == [4, 4, 0, 0] and element(page, "op").get_property("value") == "ldmatrix.x4"
    press(page, how, "#tab-tile")
    element(page, "inspect").send_keys("5, 33", Keys.ENTER)
    assert "coordinate (5, 1, 1), row 5, column 33" in element(page, "about").text
    choose(page, how, "kernel", "wgmma_tma")
    until(page, "byId('plan').textContent.includes('wgmma_tma')")
    assert "the tensor core reads both operands itself" in element(page, "plan").text
    choose(page, how, "kernel", "wgmma_tma")
    until(page, "document.body.dataset.pictured === 'multiply'")
    press(page, how, "[data-picture='load A, B']")
    until(page, "document.body.dataset.pictured === 'load A, B'")
    assert page.execute_script("return document.querySelectorAll('#plan-pictures svg rect').length") == 128


@both
@pytest.mark.slow
def test_a_line_of_a_report_shows_its_banks(page, how):
    press(page, how, "#tab-report")
    press(page, how, "[data-line='9']")
    until(page, "answer.name === 'prog.py:9' && !busy")
    assert counts(page)[0] == 31 and "excess" in element(page, "report").text
    press(page, how, "#fix")
    until(page, "byId('fixes').textContent.includes('a report keeps addresses')")


@both
def test_what_was_done_is_undone_and_done_again(page, how):
    typed(page, "layout", SWIZZLED)
    typed(page, "op", "ldmatrix.x2")
    assert page.execute_script("return [state.layout, state.accesses[0].op]") == [SWIZZLED, "ldmatrix.x2"]
    press(page, how, "#undo")
    until(page, "state.accesses[0].op === 'ldmatrix.x4' && !busy")
    press(page, how, "#undo")
    until(page, f"state.layout === '{TILE}' && !busy")
    assert counts(page)[2] == 28 and not element(page, "undo").is_enabled()
    press(page, how, "#redo")
    until(page, f"state.layout === '{SWIZZLED}' && !busy")
    assert counts(page)[2] == 0


@both
@pytest.mark.slow
def test_a_link_holds_the_whole_bench(page, how):
    press(page, how, "#pin")
    typed(page, "layout", SWIZZLED)
    add(page, how, "st.shared.b128")
    choose(page, how, "copy-as", "link")
    press(page, how, "#copy")
    link, shown = until(page, "document.body.dataset.copied"), page.execute_script("return [state, view]")
    page.get("about:blank")
    page.get(link)
    settle(page)
    assert page.execute_script("return [state, view]") == shown
    assert page.execute_script("return answer.accesses.map((a) => a.before.excess)") == [112, 0]


@both
@pytest.mark.slow
def test_an_exported_bench_shows_all_its_accesses_without_python(page, how, downloads):
    press(page, how, "#pin")
    typed(page, "layout", SWIZZLED)
    add(page, how, "st.shared.b128")
    for old in downloads.iterdir():
        old.unlink()
    press(page, how, "#export-html")
    path = downloads / "simlayout.html"
    WebDriverWait(page, 120).until(lambda _: path.exists() and path.stat().st_size and not [*downloads.glob("*.crdownload")])
    page.get(path.as_uri())
    settle(page)
    assert page.execute_script("return answer.op") == "st.shared.b128"
    press(page, how, "[data-access='0']")
    assert page.execute_script("return [answer.op, answer.before.instruction.excess]") == ["ldmatrix.x4", 28]
    choose(page, how, "copy-as", "CUDA C++")
    press(page, how, "#copy")
    assert "__device__" in until(page, "document.body.dataset.copied")
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.slow
def test_the_tab_key_alone_reaches_every_control(page):
    controls = """[...document.querySelectorAll('button, input, select, textarea, summary, [tabindex="0"]')]
        .filter(e => e.offsetParent && !e.disabled && e.tabIndex >= 0)"""
    for tab in ("fix", "tile"):                          # the others have nothing to press here
        press(page, "mouse", f"#tab-{tab}")
        count = page.execute_script(f"""const all = {controls};
            all.forEach((e, i) => {{ e.dataset.nth = i; }});
            all[0].focus();
            return all.length""")
        reached = set()
        for _ in range(count + 2):
            reached.add(page.execute_script("return document.activeElement.dataset.nth"))
            page.switch_to.active_element.send_keys(Keys.TAB)
        assert count > 25 and {str(n) for n in range(count)} <= reached


def test_controls_and_result_fit_on_one_screen_and_counts_stay_in_sight_on_a_phone(page):
    try:
        for width, height, mobile in ((1280, 800, False), (390, 844, True)):
            page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                 {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
            page.refresh()
            settle(page)
            assert page.execute_script("return document.documentElement.scrollWidth") == width
            if mobile:
                page.execute_script("byId('s').scrollIntoView({block: 'end'})")
                element(page, "s").send_keys(Keys.ARROW_RIGHT)
            every = ("layout", "lanes", "domain", "count-excess", "grid", "tile", "fix", "about")
            for name in ("count-excess", "s") if mobile else every:
                box = page.execute_script("const b = byId(arguments[0]).getBoundingClientRect(); return [b.top, b.bottom]",
                                          name)
                assert box[0] >= 0 and (name == "tile" or box[1] <= height), name
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_the_bits_are_dragged(page):
    typed(page, "layout", SWIZZLED)
    wide = page.execute_script("return document.querySelector('#bits svg').getBoundingClientRect().width / 184 * 18")

    def dragged(name, bits):
        handle = page.find_element(By.CSS_SELECTOR, f"#bits [data-drag='{name}']")
        moves = ActionChains(page).move_to_element(handle).click_and_hold()
        moves.move_by_offset(-round(bits * wide), 0).release().perform()
        settle(page)
        return page.execute_script("return state.layout")

    assert dragged("b", -3) == TILE and dragged("b", 2) == "Sw<2,3,3> o (16,64):(64,1)"
    assert dragged("b", 1) == SWIZZLED
    assert dragged("s", 1) == "Sw<3,3,4> o (16,64):(64,1)"


@pytest.mark.slow
def test_a_fault_fades_what_it_does_not_describe(page):
    typed(page, "layout", "(16,64")
    assert page.execute_script("return Number(getComputedStyle(byId('pictures')).opacity)") < 0.5
    typed(page, "layout", TILE)
    assert page.execute_script("return Number(getComputedStyle(byId('pictures')).opacity)") == 1
