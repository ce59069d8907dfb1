"""The page in a real browser: drawing, dragging, known pixels and known labels."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pytest
import uvicorn

from crbm.web import create_app, load_models, serving

HOSTILE = "<img src=x onerror=alert(1)>"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ARTEFACTS = Path(__file__).parents[2] / "test-artefacts"
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here; Debian's package `chromium` has it"
)


@pytest.fixture(scope="module")
def server(restorer, model_files, tmp_path_factory):
    """The real command, serving a model for images and two for labels."""
    image_file = tmp_path_factory.mktemp("restorer") / "restorer.safetensors"
    restorer.save(image_file)
    labels = [model_files / f"{name}.safetensors" for name in ("crf", "hash")]
    files = [image_file, *labels]
    command = [sys.executable, "-m", "crbm", "serve", "--port", "0", "--json", *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield json.loads(process.stdout.readline())["url"]
        process.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, server):
    """Open the page; at the end nothing may have been complained of."""
    complaints, contexts = [], []

    def record(kind, text):
        if kind == "error":
            complaints.append(text)

    def open_page(**options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("console", lambda line: record(line.type, line.text))
        page.goto(server)
        page.wait_for_selector(".card[data-wrong]")
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def settle(page):
    """Wait until what is shown is the answer to the last question."""
    page.wait_for_selector("[aria-busy=false]")
    page.wait_for_selector("[aria-busy=true]", state="detached")


def keep(page, name):
    """Keep a picture of the page for people to look at."""
    ARTEFACTS.mkdir(exist_ok=True)
    page.wait_for_timeout(250)  # bars take a moment to their new places
    page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)


def restored(page):
    """What the model's card says: wrong pixels, those before, and the prediction."""
    card = page.locator(".card").evaluate("card => ({...card.dataset})")
    return int(card["wrong"]), int(card["before"]), card["prediction"]


def drag_patch(page, columns, rows):
    """Drag the patch by so many pixels of the image."""
    box = page.locator(".easel canvas").bounding_box()
    patch = page.locator(".patch").bounding_box()
    x, y = patch["x"] + patch["width"] / 2, patch["y"] + patch["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(
        x + columns * box["width"] / 8, y + rows * box["height"] / 8, steps=4
    )
    page.mouse.up()
    settle(page)


def pixel(page, row, column):
    """The brightness of a pixel of the input as it is shown."""
    return page.locator(".easel canvas").evaluate(
        "(canvas, [x, y]) => canvas.getContext('2d').getImageData(x, y, 1, 1).data[0]",
        [column, row],
    )


def test_dragging_the_patch_hides_pixels_that_the_model_puts_back(visit):
    page = visit()
    page.get_by_label("Patch", exact=False).first.focus()
    page.locator("input[type=range]").first.press("ArrowRight")  # 3 x 3, as trained
    wrong, before, predictions = 0, 0, set()
    drag_patch(page, -3, -3)
    for example in range(8):
        page.get_by_label(f"Example {example + 1}", exact=True).click()
        for step in (2, 1, -3):
            drag_patch(page, step, step)
            now = restored(page)
            wrong, before = wrong + now[0], before + now[1]
            predictions.add(now[2])
    assert len(predictions) > 15
    assert before > 40
    assert wrong < 0.9 * before
    drag_patch(page, 3, 3)
    keep(page, "images")


def test_the_canvas_is_drawn_on_and_cleared(visit):
    page = visit()
    page.get_by_role("button", name="Clear").click()
    settle(page)
    _, before, empty = restored(page)
    assert (before, pixel(page, 1, 1)) == (0, 0)
    box = page.locator(".easel canvas").bounding_box()
    cell = box["width"] / 8
    page.mouse.move(box["x"] + 1.5 * cell, box["y"] + 0.5 * cell)
    page.mouse.down()
    page.mouse.move(box["x"] + 1.5 * cell, box["y"] + 7.5 * cell)  # one quick stroke
    page.mouse.up()
    settle(page)
    assert [pixel(page, row, 1) for row in range(8)] == [255] * 8
    assert restored(page)[2] != empty
    page.get_by_role("radio", name="Erase").check()
    page.mouse.click(box["x"] + 1.5 * cell, box["y"] + 0.5 * cell)
    assert pixel(page, 0, 1) == 0


def test_the_keyboard_is_enough(visit):
    page = visit()
    patch, canvas = page.locator(".patch"), page.locator(".easel canvas")
    place = patch.get_attribute("aria-label")
    patch.press("ArrowRight")
    patch.press("ArrowDown")
    assert patch.get_attribute("aria-label") != place
    page.get_by_role("button", name="Clear").press("Enter")
    for key in ("ArrowLeft", "ArrowUp", "Shift+ArrowUp", "Space"):
        canvas.press(key)
    assert pixel(page, 0, 3) == 255
    settle(page)


def test_known_pixels_do_not_change(visit):
    page = visit()
    page.get_by_label("Flipped pixels").fill("30")
    settle(page)
    free = restored(page)
    page.get_by_label("Pixels outside the patch are known").check()
    settle(page)
    conditional = restored(page)
    assert conditional[2] != free[2]
    shown = page.locator(".card .hint").nth(1).text_content()
    added, removed, _ = map(int, re.findall(r"\d+", shown))
    assert added + removed <= 4  # whatever changes lies under the patch of 2 x 2


def test_the_free_energy_is_charted(visit):
    page = visit()
    chart = page.locator(".chart")
    assert chart.locator("circle").count() == 11
    words = chart.get_attribute("aria-label").split()
    start, end = float(words[3]), float(words[8])
    assert end < start


def probabilities(page):
    lines = page.locator("li[data-label]")
    return dict(
        lines.evaluate_all(
            "all => all.map(li => [li.dataset.label, Number(li.dataset.probability)])"
        )
    )


def to_labels(page):
    page.locator("#tabs input").nth(1).check()
    page.wait_for_selector("li[data-probability]")
    settle(page)


def ask(server, model, **body):
    """The API's own answer."""
    request = Request(
        f"{server}/api/models/{model}/predict",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request) as answer:
        return json.load(answer)


def test_a_known_label_changes_the_others_until_it_is_cleared(visit, server, cases):
    page = visit()
    to_labels(page)
    free = probabilities(page)
    # kernel features round differently when several cases are computed together
    answer = ask(server, "crf", input=cases.rows[0])["probabilities"]
    assert list(free.values()) == pytest.approx(answer, abs=1e-9)
    value = 1 if free["red"] < 0.5 else 0
    page.get_by_label(
        f"red is known to be {'present' if value else 'absent'}", exact=True
    ).check()
    settle(page)
    given = probabilities(page)
    own = ask(server, "crf", input=cases.rows[0], known={"red": value})
    assert list(given.values()) == own["probabilities"]
    assert given["red"] == value
    assert all(abs(given[name] - free[name]) > 1e-4 for name in ("green", "blue"))
    keep(page, "labels")
    page.get_by_role("button", name="Clear known labels").click()
    settle(page)
    assert probabilities(page) == free


def test_a_row_is_pasted_and_a_wrong_one_explained(visit, server, cases):
    page = visit()
    to_labels(page)
    box = page.locator("textarea")
    box.fill("1, 2, three, 4")
    assert page.locator(".problem").text_content() == "“three” is not a number."
    box.fill("1; 2; 3")
    assert "Expected 4 numbers, got 3." in page.locator(".problem").text_content()
    box.fill("\t".join(map(str, cases.rows[3])))
    settle(page)
    assert page.locator(".problem").text_content() == ""
    own = ask(server, "crf", input=cases.rows[3])
    assert list(probabilities(page).values()) == own["probabilities"]


def test_the_api_page_sends_a_request(visit, server, cases):
    page = visit()
    page.get_by_role("link", name="API").click()
    route = page.locator("details", has_text="of one case, given its known labels")
    route.locator("summary").click()
    route.get_by_label("Model").select_option("crf")
    route.get_by_role("button", name="Send").click()
    answer = route.locator("pre[aria-label=Answer]", has_text="200 OK")
    answer.wait_for()
    found = json.loads(answer.text_content().partition("\n")[2])
    assert found == ask(server, "crf", input=cases.rows[0])
    assert "curl -X POST" in route.locator("pre").first.text_content()
    assert page.locator("td", has_text="415").count() == 1
    keep(page, "docs")


@pytest.fixture
def closed_server(model_files):
    """A server in this process that needs a token."""
    models = load_models([model_files / "crf.safetensors"])
    app = create_app(models, token="correct-horse-battery")
    listener = serving.listen("127.0.0.1", 0)
    server = uvicorn.Server(serving.configuration(app))
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    yield serving.server_url("127.0.0.1", listener)
    server.should_exit = True
    thread.join()


def test_the_page_asks_for_the_token(browser, closed_server):
    context = browser.new_context()
    page = context.new_page()
    page.goto(closed_server)
    page.get_by_label("This server needs its token").fill("not-this-one")
    page.get_by_role("button", name="Use this token").click()
    page.get_by_text("does not accept this token").wait_for()
    page.get_by_label("This server needs its token").fill("correct-horse-battery")
    page.get_by_role("button", name="Use this token").click()
    page.wait_for_selector("li[data-probability]")
    page.get_by_role("link", name="API").click()  # the token is still known
    page.locator("option", has_text="crf").first.wait_for(state="attached")
    assert page.locator("#token").count() == 0
    context.close()


def test_names_in_a_model_file_stay_text(visit):
    page = visit()
    to_labels(page)
    assert page.locator(".name", has_text=HOSTILE).count() == 1
    assert page.locator("#view img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(visit, scheme):
    page = visit(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    keep(page, f"images-phone-{scheme}")
    widths = [page.evaluate("document.documentElement.scrollWidth")]
    to_labels(page)
    keep(page, f"labels-phone-{scheme}")
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    assert max(widths) <= 390
