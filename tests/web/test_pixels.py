"""Models of images over HTTP and on the page."""

import base64
import io
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

import crbm
from crbm.web import create_app, load_models
from discs import quick_classifier, write_folder

ARTEFACTS = Path(__file__).parents[2] / "test-artefacts"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture(scope="module")
def models(disc_model, model_files, tmp_path_factory):
    """Files of a model of two labels, of one of three and grey, and of rows."""
    folder = write_folder(tmp_path_factory.mktemp("grey"), 6, n_labels=3)
    data = crbm.datasets.read_images(folder / "images", folder / "masks", colour=False)
    classifier = quick_classifier(n_epochs=2).fit(list(data.images), list(data.masks))
    described = {"name": "grey", "labels": data.labels.as_dict()}
    classifier.describe(trained_on=described, examples=[data.images[0]])
    classifier.save(folder / "three.safetensors")
    return [disc_model, folder / "three.safetensors", model_files / "crf.safetensors"]


@pytest.fixture(scope="module")
def client(models):
    with TestClient(create_app(load_models(models))) as client:
        yield client


def encoded(pixels, kind="PNG", **options):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format=kind, **options)
    return base64.b64encode(stream.getvalue()).decode()


def decoded(text):
    return np.array(Image.open(io.BytesIO(base64.b64decode(text))))


def ask(client, model="discs", **body):
    return client.post(f"/api/models/{model}/label-image", json=body)


def test_an_image_gets_the_labels_of_the_classifier(client, discs, disc_model):
    image = crbm.datasets.read_image(discs / "images/image-2.png")
    classifier = crbm.load(disc_model)
    found = ask(client, image=encoded(image), n_samples=2, seed=3).json()
    np.testing.assert_array_equal(decoded(found["mask"]), classifier.predict(image))
    drawn = classifier.sample(image, n=2, random_state=3)
    np.testing.assert_array_equal([decoded(s) for s in found["samples"]], drawn)
    unsure = 1 - classifier.predict_proba(image).max(-1)
    np.testing.assert_allclose(decoded(found["uncertainty"]), 510 * unsure, atol=0.6)
    share = decoded(found["mask"]).mean()
    assert found["labels"][1] == {"name": "disc", "colour": "#ff8000", "share": share}


def test_known_labels_are_kept(client, discs):
    image = crbm.datasets.read_image(discs / "images/image-2.png")
    known = np.full(image.shape[:2], 255, dtype=np.uint8)
    known[:4], known[-1] = 1, 0
    found = ask(client, image=encoded(image), known=encoded(known), n_samples=1).json()
    for mask in (decoded(found["mask"]), decoded(found["samples"][0])):
        assert (mask[:4] == 1).all()
        assert (mask[-1] == 0).all()


def test_grey_and_colour_images_are_converted(client):
    grey = np.full((9, 11), 80, dtype=np.uint8)
    for model in ("discs", "three"):
        for image in (grey, np.stack([grey] * 3, axis=-1)):
            found = ask(client, model, image=encoded(image, "JPEG")).json()
            assert (found["height"], found["width"]) == (9, 11)


WRONG = {
    "not base64": ({"image": "@@@"}, "`image` must be an image file in base64"),
    "no image": ({"image": base64.b64encode(b"hello").decode()}, "not an image"),
    "known size": ("known", np.zeros((2, 2), np.uint8), "`known` must be as large"),
    "known label": ("known", np.full((8, 8), 7, np.uint8), "labels from 0 to 1"),
    "many samples": ({"n_samples": 99}, "`n_samples`"),
    "unknown field": ({"imgae": "x"}, "Did you mean `image`"),
    "missing": ({"image": None}, "`image`"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_requests_get_one_line(client, kind):
    body = {"image": encoded(np.zeros((8, 8), np.uint8))}
    *change, message = WRONG[kind]
    if change[0] == "known":
        body["known"] = encoded(change[1])
    else:
        body |= change[0]
    answer = ask(client, **body)
    assert answer.status_code == 422, answer.text
    assert message in answer.json()["detail"]


def test_large_and_damaged_images_are_refused(client):
    large = encoded(np.zeros((1500, 1500), np.uint8))
    answer = ask(client, image=large)
    assert (answer.status_code, "at most" in answer.text) == (422, True)
    content = encoded(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8))
    cut = base64.b64encode(base64.b64decode(content)[:-500]).decode()
    answer = ask(client, image=cut)
    assert (answer.status_code, "truncated" in answer.text) == (422, True)
    tiff = encoded(np.zeros((4, 4), np.uint8), "TIFF")
    assert ask(client, image=tiff).status_code == 422


def test_routes_of_the_other_kind_are_refused(client):
    answer = client.post("/api/models/discs/predict", json={"input": [1, 2]})
    assert (answer.status_code, "labels images" in answer.text) == (422, True)
    answer = ask(client, "crf", image="x")
    assert (answer.status_code, "not a model of images" in answer.text) == (422, True)
    names = [model["name"] for model in client.get("/api/models").json()]
    assert names == ["discs", "three", "crf"]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_the_page_labels_images(models, discs):
    sync = pytest.importorskip("playwright.sync_api")
    command = [sys.executable, "-m", "crbm", "serve", "--port", "0", "--json"]
    complaints = []
    with (
        subprocess.Popen(
            [*command, *map(str, models)], stdout=subprocess.PIPE, text=True
        ) as server,
        sync.sync_playwright() as driver,
    ):
        url = json.loads(server.stdout.readline())["url"]
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        browser = driver.chromium.launch(executable_path=BROWSER, args=flags)
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda line: complaints.append(line.text) if line.type == "error" else None,
        )
        page.goto(url)
        try:
            use_the_page(page, discs)
        finally:
            browser.close()
            server.send_signal(signal.SIGINT)
    assert complaints == []


def settle(page):
    page.wait_for_selector(".card[data-mask]")
    page.wait_for_selector("[aria-busy=true]", state="detached")


def use_the_page(page, discs):
    settle(page)
    ARTEFACTS.mkdir(exist_ok=True)
    page.locator("input[type=file]").set_input_files(discs / "images/image-5.png")
    page.wait_for_timeout(300)
    settle(page)
    card = page.locator(".card")
    free = card.get_attribute("data-mask")
    shape = crbm.datasets.read_image(discs / "images/image-5.png").shape
    assert len(free) == shape[0] * shape[1]
    assert page.locator(".maps figure").count() == 5
    page.get_by_label("disc", exact=True).check()
    box = page.locator(".photo canvas").bounding_box()
    page.mouse.click(box["x"] + 3, box["y"] + 3)
    page.wait_for_timeout(300)
    settle(page)
    assert card.get_attribute("data-mask")[0] == "1"
    page.screenshot(path=ARTEFACTS / "pixels.png", full_page=True)
    page.get_by_role("button", name="Clear paint").click()
    page.wait_for_timeout(300)
    settle(page)
    assert card.get_attribute("data-mask") == free
    page.get_by_label("Noise").last.fill("60")
    page.wait_for_timeout(300)
    settle(page)
    assert card.get_attribute("data-mask") != free
    page.locator("#tabs input").nth(1).check()
    page.wait_for_selector(".card[data-model=three][data-mask]")
    settle(page)
    page.screenshot(path=ARTEFACTS / "pixels-three.png", full_page=True)
