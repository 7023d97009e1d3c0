"""What the browser tests of the explorer do with a page, and read of it."""

try:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:                     # the fixtures then skip these tests
    pass


def settle(driver):
    """Waits until what was asked is answered."""
    WebDriverWait(driver, 300).until(lambda d: d.execute_script(
        "return typeof busy !== 'undefined' && !busy && Number(document.body.dataset.asked || exported) > 0"))


def element(driver, name):
    return driver.find_element(By.ID, name)


def typed(driver, name, text):
    field = element(driver, name)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.DELETE, text)
    settle(driver)


def slid(driver, name, value):
    """Moves a range input as its keys do: from its start to the value."""
    field = element(driver, name)
    field.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * (value - int(field.get_attribute("min"))))
    settle(driver)


def counts(driver):
    return [int(element(driver, f"count-{name}").text) for name in ("wavefronts", "ideal", "excess", "conflicts")]


def lit(driver, kind):
    """({numbers that are on}, {numbers that are near}) of the lane or bank buttons, or of the cells of the grid."""
    parts = driver.find_elements(By.CSS_SELECTOR, f"#grid [data-cell].{'on'}, #grid [data-cell].{'near'}"
                                 if kind == "cell" else f"#{kind}-keys button.on, #{kind}-keys button.near")
    found = [(int(part.get_dom_attribute(f"data-{kind}")), part.get_dom_attribute("class").split()) for part in parts]
    return {n for n, classes in found if "on" in classes}, {n for n, classes in found if "near" in classes}
