"""Tokens are read from a file or the environment; open servers need one."""

import pytest
import typer

from crbm.cli.serve import serve
from crbm.web import access, serving

TOKEN = "correct-horse-battery"


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv("CRBM_TOKEN", raising=False)


def test_the_file_comes_before_the_variable(tmp_path, monkeypatch):
    assert access.read_token(None) is None
    monkeypatch.setenv("CRBM_TOKEN", TOKEN)
    assert access.read_token(None) == TOKEN
    path = tmp_path / "token"
    path.write_text(f"another-{TOKEN}\n")
    assert access.read_token(path) == f"another-{TOKEN}"


@pytest.mark.parametrize(
    ("token", "problem"),
    [("", "one word"), ("short", "16 characters; got 5"), (f"{TOKEN} x", "one word")],
)
def test_a_token_that_cannot_be_sent_or_is_guessed_is_refused(
    monkeypatch, token, problem
):
    monkeypatch.setenv("CRBM_TOKEN", token)
    with pytest.raises(ValueError, match=rf"`CRBM_TOKEN`.*{problem}|{problem}"):
        access.read_token(None)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.7", "fe80::1%2"])
def test_a_server_that_others_reach_needs_a_token(address):
    with pytest.raises(ValueError, match=r"--token-file.*CRBM_TOKEN.*--insecure"):
        access.check_exposed(address, None, insecure=False)
    access.check_exposed(address, TOKEN, insecure=False)
    access.check_exposed(address, None, insecure=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.3.2.1", "::1"])
def test_a_server_on_loopback_needs_none(address):
    access.check_exposed(address, None, insecure=False)


def test_the_command_refuses_before_it_loads_models(tmp_path, capsys):
    with pytest.raises(typer.Exit) as stopped:
        serve([tmp_path / "nothing.safetensors"], host="0.0.0.0", port=0)
    assert stopped.value.exit_code == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "needs a token" in captured.err


def test_a_host_that_cannot_be_resolved_is_an_error_of_one_line():
    with pytest.raises(OSError, match=r"Cannot listen on no such host, port 1"):
        serving.resolve("no such host", 1)
