"""The model card of `crbm inspect`."""

import pytest

import crbm
from crbm.commands import card, inspect
from crbm.commands.pixels import inspect as of_pixels


def test_a_card_describes_the_model_and_how_to_use_it(trained, tmp_path):
    card.write(inspect.run(trained), tmp_path / "README.md", force=False)
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("---\nlibrary_name: crbm\n")
    assert 'crbm.load("pets.safetensors")' in text
    assert "6 labels: dog, cat, fish, bird, frog, snake" in text
    assert "4 numbers per case: length, weight, legs, teeth" in text
    assert "| n_epochs | 40 |" in text
    assert "log odds ratio" in text


def test_the_example_of_a_card_runs(trained, monkeypatch, pets):
    monkeypatch.chdir(trained.parent)
    code = card.card(inspect.run(trained)).split("```")[1].removeprefix("python\n")
    exec(compile(code, "card", "exec"), {"X": pets.X})


def test_names_cannot_break_the_tables():
    table = card._table([{"name": "a|b\n<script>", "value": 1.23456, "no": None}])
    assert table.splitlines()[2] == "| a\\|b &lt;script> | 1.235 | - |"


def test_an_existing_card_is_kept(trained, tmp_path):
    (tmp_path / "card.md").write_text("mine")
    with pytest.raises(FileExistsError, match="add --force"):
        card.write(inspect.run(trained), tmp_path / "card.md", force=False)


def test_the_card_of_a_model_of_images(disc_model):
    classifier = crbm.load(disc_model)
    text = card.card(of_pixels.run(classifier, disc_model))
    assert "- image-segmentation" in text
    assert "model.predict(images)" in text
