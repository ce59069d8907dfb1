"""`crbm push` and `crbm pull` against a hub in a folder."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest

import crbm
from crbm.commands import hub

REPOSITORY = "someone/pets"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder that stands for the hub: a folder per repository."""
    folder = tmp_path / "hub"

    class Api:
        def create_repo(self, repository, *, private, exist_ok):
            huggingface_hub.utils.validate_repo_id(repository)
            (folder / repository).mkdir(parents=True, exist_ok=exist_ok)
            return f"https://huggingface.co/{repository}"

        def create_commit(self, repository, operations, *, commit_message):
            for operation in operations:
                with operation.as_file() as file:
                    content = file.read()
                (folder / repository / operation.path_in_repo).write_bytes(content)

        def hf_hub_download(self, repository, file, *, revision):
            if not (folder / repository / file).exists():
                raise OSError("404 Client Error.\nEntry Not Found")
            return str(folder / repository / file)

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return folder


def test_a_model_and_its_card_go_to_the_hub_and_come_back(
    server, trained, pets, tmp_path
):
    assert hub.push(trained, REPOSITORY).endswith(REPOSITORY)
    assert "# someone/pets\n" in Path(server, REPOSITORY, "README.md").read_text()
    path = hub.pull(REPOSITORY, tmp_path / "mine.safetensors")
    expected = crbm.load(trained).predict_proba(pets.X)
    assert (crbm.load(path).predict_proba(pets.X) == expected).all()


def test_pull_keeps_existing_files(server, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hub.push(trained, REPOSITORY)
    assert hub.pull(REPOSITORY) == Path("pets.safetensors")
    with pytest.raises(FileExistsError, match="add --force"):
        hub.pull(REPOSITORY)


def test_a_damaged_model_is_refused(server, trained, tmp_path):
    hub.push(trained, REPOSITORY)
    stored = server / REPOSITORY / "model.safetensors"
    stored.write_bytes(stored.read_bytes()[:-8])
    out = tmp_path / "mine.safetensors"
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        hub.pull(REPOSITORY, out)
    assert not out.exists()
    shutil.copy(stored, out)
    with pytest.raises(ValueError, match=r"mine\.safetensors"):
        hub.push(out, REPOSITORY)


def test_wrong_names_and_the_hub_s_errors_take_one_line(server, trained, tmp_path):
    with pytest.raises(ValueError, match="write `owner/name`"):
        hub.push(trained, "not a/good/name")
    with pytest.raises(OSError, match=r"from `no/model`: 404 Client Error\.$"):
        hub.pull("no/model", tmp_path / "m.safetensors")
