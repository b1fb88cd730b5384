"""Versions and hardware in records."""

import json
import os

from gramian.records import provenance


def test_provenance_has_versions_and_processor_but_no_names():
    found = provenance()
    assert set(found["versions"]) == {"gramian", "torch", "numpy", "python"}
    assert found["machine"]["cores"] == os.cpu_count()
    assert os.uname().nodename not in json.dumps(found) or len(os.uname().nodename) < 4
