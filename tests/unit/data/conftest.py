import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """What a power cut would lose is played through in test_store_crash.py; a real fsync only costs time here."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
