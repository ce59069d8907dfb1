"""`crbm serve` as a process: it responds, stops, and reports errors in one line."""

import json
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest
import typer

from crbm.cli.serve import serve

SERVE = [sys.executable, "-m", "crbm", "serve"]


def test_it_prints_its_address_and_stops_on_sigint(model_files):
    command = [*SERVE, model_files / "crf.safetensors", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().split()[0]
        with urlopen(f"{url}/health") as answer:
            assert json.load(answer)["models"] == ["crf"]
        process.send_signal(signal.SIGINT)
        assert "Ctrl+C" in process.stdout.read()
        assert "Traceback" not in process.stdout.read()


def test_a_missing_file_is_an_error_of_one_line(tmp_path):
    command = [*SERVE, tmp_path / "nothing.safetensors"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "no model file" in found.stderr
    assert found.stdout == ""


def test_a_used_port_is_an_error_of_one_line(model_files, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(typer.Exit) as stopped:
            serve([model_files / "crf.safetensors"], port=port)
    assert stopped.value.exit_code == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert f"port {port}" in captured.err
    assert captured.out == ""
