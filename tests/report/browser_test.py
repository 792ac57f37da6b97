#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens a report and an animated plan in Chromium without a screen, and uses them.

usage: browser_test.py RINGSIDE DATA-FOLDER

Skipped (exit 77) where chromium, its driver or python3-selenium is not installed, and where the
program was built without Chart.js.
"""
import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SKIPPED = 77
NEEDED = "chromium, chromium-driver and python3-selenium (Debian)"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    skip(f"python3-selenium is missing; needed: {NEEDED}")
if not shutil.which("chromium") or not shutil.which("chromedriver"):
    skip(f"no browser; needed: {NEEDED}")

PROGRAM, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER = tempfile.TemporaryDirectory()
RUNS = ["bench.json", "simulate.json", "timeline.json", "train_compare.json", "train.json", "train_on.json",
        "diagnose.json", "bench_compare.json", "topo.json"]

# The chart of lines whose title begins so, as Chart.js knows it.
CHART = """
const place = [...document.querySelectorAll('figure.lines')]
    .find((figure) => figure.figure && figure.figure.spec.title.startsWith(arguments[0]));
return place && place.figure
"""


def write(name, *command):
    path = pathlib.Path(FOLDER.name) / name
    done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, check=False)
    if "libjs-chart.js" in done.stderr:
        skip(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    path.write_text(done.stdout, encoding="utf-8")
    return path


@functools.cache
def report():
    return write("report.html", "report", *[str(DATA / name) for name in RUNS], "-o", "-")


@functools.cache
def animation(spec):
    return write(f"{spec}.html", "plan", spec, "--ranks", "4", "--format", "html")


class InBrowser(unittest.TestCase):
    def setUp(self):
        options = Options()
        for word in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900",
                     "--hide-scrollbars"]:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.addCleanup(self.browser.quit)

    def open(self, path):
        self.browser.get(path.as_uri())

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def tearDown(self):
        # Errors of scripts, and whatever the page's own policy refused.
        log = [entry for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(log, [])

    def at_width(self, width):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": True})

    def prefer(self, **features):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})


class Report(InBrowser):
    def setUp(self):
        super().setUp()
        self.open(report())

    def chart(self, title, script):
        return self.run_script(f"const figure = (() => {{ {CHART} }})(); {script}", title)

    def test_every_chart_is_drawn(self):
        drawn, places = self.run_script(
            "const shown = [...document.querySelectorAll('figure.chart')].filter((one) => !one.closest('[hidden]'));"
            "return [shown.filter((one) => one.querySelector('canvas').width > 0).length, shown.length]")
        self.assertGreater(places, 5)
        self.assertEqual(drawn, places)

    def test_a_series_is_switched_off_and_on_in_both_charts_of_a_call(self):
        button = self.run_script("return [...document.querySelectorAll('#speed .legend button')]"
                                 ".find((one) => one.textContent === 'ring')")
        self.assertIsNotNone(button)
        shown = "return figure.chart.isDatasetVisible(figure.spec.series.findIndex((one) => one.label === 'ring'))"
        for pressed in ["false", "true"]:
            button.send_keys(Keys.ENTER)
            self.assertEqual(button.get_attribute("aria-pressed"), pressed)
            for title in ["Time of all_reduce, 2 ranks", "Bus bandwidth of all_reduce, 2 ranks"]:
                self.assertEqual(self.chart(title, shown), pressed == "true", title)

    def test_a_point_that_is_hovered_tells_its_values(self):
        canvas = self.chart("Time of", "figure.canvas.scrollIntoView({block: 'center'}); return figure.canvas")
        x, y, label = self.chart("Time of", """
            const point = figure.chart.getDatasetMeta(0).data[2], box = figure.canvas.getBoundingClientRect();
            return [point.x - box.width / 2, point.y - box.height / 2, figure.chart.data.datasets[0].label]""")
        ActionChains(self.browser).move_to_element_with_offset(canvas, round(x), round(y)).perform()
        words = "return figure.chart.tooltip.opacity > 0 && figure.chart.tooltip.body.map((one) => one.lines.join())"
        told = WebDriverWait(self.browser, 10).until(lambda _: self.chart("Time of", words))
        self.assertTrue(any(one.startswith(f"{label}: ") and "measured" in one for one in told), told)

    def test_arrow_keys_go_from_point_to_point_and_are_spoken(self):
        canvas = self.chart("Time of", "return figure.canvas")
        canvas.send_keys(Keys.ARROW_RIGHT)
        first = self.browser.find_element(By.ID, "spoken").get_attribute("textContent")
        canvas.send_keys(Keys.ARROW_RIGHT)
        second = self.browser.find_element(By.ID, "spoken").get_attribute("textContent")
        self.assertIn("measured", first)
        self.assertNotEqual(first, second)

    def test_nothing_is_wider_than_a_phone(self):
        for width in [360, 390, 768]:
            self.at_width(width)
            self.open(report())
            self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)
            self.assertEqual(self.run_script("return window.innerWidth"), width)

    def test_the_theme_is_that_of_the_system_until_one_is_chosen(self):
        background = "return getComputedStyle(document.body).backgroundColor"
        self.prefer(prefers_color_scheme="light")
        light = self.run_script(background)
        self.prefer(prefers_color_scheme="dark")
        dark = self.run_script(background)
        self.assertNotEqual(light, dark)
        self.browser.find_element(By.ID, "theme").click()  # light
        self.assertEqual(self.run_script(background), light)
        self.browser.find_element(By.ID, "theme").click()  # dark
        self.assertEqual(self.run_script(background), dark)

    def test_charts_leave_the_page_as_svg_with_their_series_and_as_png(self):
        figure = "figures.find((one) => one.spec.kind === arguments[0])"
        for kind in ["lines", "bars", "spans"]:
            text = self.run_script(f"return chartAsSvg({figure})", kind)
            root = xml.etree.ElementTree.fromstring(text)
            words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
            marks = list(root.iter("{http://www.w3.org/2000/svg}path"))
            self.assertGreater(len(marks), 10, kind)
            self.assertTrue(any("measured" in word or "simulated" in word for word in words if word), words)
            size = self.browser.execute_async_script(
                f"chartAsPng({figure}, (blob) => arguments[1]([blob.type, blob.size]))", kind)
            self.assertEqual(size[0], "image/png")
            self.assertGreater(size[1], 5000)

    def test_tables_hold_the_numbers(self):
        rows = self.run_script("const details = document.querySelector('#speed details'); details.open = true;"
                               "return new Promise((done) => setTimeout(() =>"
                               " done(details.querySelectorAll('tbody tr').length), 100))")
        self.assertGreater(rows, 2)

    def test_the_machine_shows_the_loads_of_the_call_that_is_chosen(self):
        classes = ("return [...document.querySelectorAll('.machine-figure svg .link')]"
                   ".map((one) => one.getAttribute('class')).join()")
        before = self.run_script(classes)
        self.run_script("const select = document.querySelector('.machine-figure select');"
                        "select.selectedIndex = select.options.length - 1;"
                        "select.dispatchEvent(new Event('change'))")
        self.assertNotEqual(before, self.run_script(classes))

    def test_a_printed_page_is_light(self):
        self.prefer(prefers_color_scheme="dark")
        printed = self.browser.execute_cdp_cmd("Page.printToPDF", {})
        self.assertGreater(len(printed["data"]), 20000)


class Animation(InBrowser):
    def now(self):
        return self.browser.find_element(By.ID, "now").text

    def visible(self, selector):
        return self.run_script(f"return [...document.querySelectorAll('{selector}')]"
                               ".filter((one) => getComputedStyle(one).visibility === 'visible').length")

    def test_steps_follow_the_keyboard(self):
        self.prefer(prefers_reduced_motion="reduce")
        self.open(animation("ring"))
        self.assertEqual(self.now(), "Start: what every rank has")
        done = ".plan > g > .done"
        self.assertEqual(self.visible(done), 0)
        body = self.browser.find_element(By.TAG_NAME, "body")
        body.send_keys(Keys.ARROW_RIGHT)
        self.assertTrue(self.now().startswith("step 1 of 6: "), self.now())
        body.send_keys(Keys.END)
        self.assertTrue(self.now().startswith("step 6 of 6: "), self.now())
        self.assertEqual(self.visible(done), 16)
        body.send_keys(Keys.HOME)
        self.assertEqual(self.visible(done), 0)

    def test_it_plays_and_pauses(self):
        self.open(animation("naive"))
        play = self.browser.find_element(By.ID, "play")
        WebDriverWait(self.browser, 10).until(lambda _: self.visible(".token") > 0)
        self.assertEqual(play.text, "Pause")
        play.click()
        self.assertEqual(play.text, "Play")
        stopped = self.run_script("return document.getElementById('plan').getCurrentTime()")
        self.assertEqual(self.run_script("return new Promise((done) => setTimeout(() => "
                                         "done(document.getElementById('plan').getCurrentTime()), 300))"), stopped)

    def test_nothing_is_wider_than_a_phone(self):
        self.at_width(390)
        self.open(animation("ring"))
        self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    report()  # which knows whether there is anything to test
    unittest.main(argv=[sys.argv[0]], verbosity=2)
