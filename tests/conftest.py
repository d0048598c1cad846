# ruff: noqa: E402
"""Shapes are types: in the tests every annotated tensor of regard is checked at run time."""

import atexit
import gc
import os

gc.disable()  # until the tests are collected: what is imported stays

# Set before torch is imported: the suite is meant for two cores. Beside others (pytest -n) each worker has one,
# whatever it inherited: threads that wait for each other's core spin.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "2")

import jaxtyping

from checked import checked

jaxtyping.jaxtyped = checked
hook = jaxtyping.install_import_hook("regard", "beartype.beartype")

from collections.abc import Iterator

import pytest
import torch

from tiers import at_length, quick, thin


def pytest_configure(config: pytest.Config) -> None:
    quick(config)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For `pytestmark = pytest.mark.usefixtures("one_thread")`: small things are quickest on one, however busy the
    machine is."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session", autouse=True)
def _no_curves() -> Iterator[None]:
    """Drawing the learning curve takes as long as ten trainings of a few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.train.loop.draw", lambda folder: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What tests write need not outlive the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out the sweeps
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    thin(items)
    at_length(items)


def pytest_collection_finish() -> None:
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.enable()
