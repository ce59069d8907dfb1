"""A short version of `make torture`; see its package."""

import asyncio
import json
import random

import pytest
from jaxtyping import config

from torture import data, files, kills, models, report, running, server

N_FILES = 60


@pytest.fixture(autouse=True)
def no_type_checks():
    """Run as users do: wrong types must be refused without the checks of tests."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


def require_sound(tally):
    assert tally.is_sound, tally.row()


@pytest.mark.parametrize("name", files.FORMATS)
def test_damaged_data_files(name, tmp_path):
    require_sound(files.run(name, tmp_path, random.Random(0), 10, N_FILES))


@pytest.mark.parametrize("kind", models.KINDS)
def test_damaged_models(kind, tmp_path):
    require_sound(models.run_models(kind, tmp_path, random.Random(0), 10, N_FILES))


def test_damaged_checkpoints(tmp_path):
    require_sound(models.run_checkpoints(tmp_path, random.Random(0), 10, N_FILES))


@pytest.mark.parametrize("run", [kills.run_saves, kills.run_store])
def test_killed_writers(run, tmp_path):
    require_sound(run(tmp_path, random.Random(0), 5, 6))


def test_hostile_data():
    require_sound(data.run(random.Random(0), 20, 150))


def test_hostile_requests(tmp_path):
    answers = running.save_models(tmp_path)
    with running.server_in_thread(tmp_path) as url:
        attack = server.Attack(url, answers)
        asyncio.run(attack.run(random.Random(0), seconds=60, n_requests=600))
    require_sound(attack.tally)
    assert attack.n_good > 200


def test_the_page_shows_the_measured_figures():
    rows, page = json.loads(report.ROWS.read_text()), report.PAGE.read_text()
    assert report.render(page, rows) == page  # if not: python -m torture.report
    assert report.markdown(rows) in page
    assert report.soak_sentence(rows) in page
    named = {f"file {name}" for name in files.FORMATS}
    named |= {f"model {kind}" for kind in models.KINDS}
    assert named <= {row["area"] for row in rows}


def test_attacks_notice_what_goes_wrong(tmp_path, monkeypatch):
    """A reader that raises KeyError, a file that lies and a wrong answer count."""
    monkeypatch.setitem(
        files.FORMATS, "a.xml", (files.FORMATS["a.xml"][0], lambda path: {}["x"])
    )
    with pytest.raises(KeyError):
        files.run("a.xml", tmp_path, random.Random(0), 60, 1)
    monkeypatch.setattr(models.crbm, "load", lambda path: models.KINDS["crf"][0]())
    tally = models.run_models("crf", tmp_path, random.Random(0), 60, 4)
    assert (tally.tried, tally.failed) == (4, 4)
    (tmp_path / "damaged.safetensors").unlink()  # the server would refuse it
    answers = running.save_models(tmp_path)
    wrong = {"hash": [(row, 1 - p) for row, p in answers["hash"]]}
    with running.server_in_thread(tmp_path) as url:
        attack = server.Attack(url, wrong)
        asyncio.run(attack.run(random.Random(0), seconds=60, n_requests=20))
    assert attack.tally.lost == attack.n_good > 0
