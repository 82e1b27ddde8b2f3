"""Worker processes find the package and these files where this process does."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)

pytest.importorskip("pyarrow", reason="sweeps need the extra 'sweep'")


@pytest.fixture
def client():
    """Two workers of Dask, in processes of their own; of each test, since some of them kill workers."""
    pytest.importorskip("distributed")
    from dovetail.sweep import dask_engine

    client = dask_engine.local(2)
    yield client
    cluster = client.cluster
    client.close()
    cluster.close()
