"""The forecast of memory, against what a process really takes."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from gramian.core import parse_bytes
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom, Partition
from gramian.solvers.choose import choose, fit_forecast
from gramian.solvers.forecast import forecast

SCRIPT = """
import numpy as np, torch, warnings
from pathlib import Path
from gramian import RFMRegressor
from gramian.kernels import Laplace
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom
warnings.simplefilter("ignore")
torch.set_num_threads(1)
rng = np.random.default_rng(0)
def peak():
    status = Path('/proc/self/status').read_text()  # ru_maxrss would be that of the test process where it is larger
    return int(status.split('VmHWM:')[1].split()[0]) * 1024
def model(solver):
    numbers = dict(kernel=Laplace(3.0), ridge=0.1, n_rounds=1, update="agop", dtype="float32", max_memory="4GB")
    return RFMRegressor(solver=solver, **numbers)
X = rng.normal(size=({n}, {d}))
for solver in ({solver}, "cg"):
    model(solver).fit(X[:600], X[:600, 0])  # code and libraries are there now
before = peak()
model({solver}).fit(X, X[:, 0])
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a process's own peak")
@pytest.mark.parametrize(
    ("solver", "n", "d"),
    [
        (Direct(), 7000, 10),
        (ConjugateGradient(preconditioner_rank=700), 9000, 10),
        (Nystrom(centers=2500), 6000, 10),
        (Nystrom(centers=100), 4000, 400),
        (EigenPro(epochs=1, subsample=1500), 6000, 10),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, int) else str(v),
)
def test_the_forecast_is_near_the_measured_peak(solver, n, d):
    script = textwrap.dedent(SCRIPT.format(n=n, d=d, solver=repr(solver)))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    measured = int(done.stdout)
    expected = fit_forecast(solver, n, torch.float32, parse_bytes("4GB"), d).peak
    assert 0.5 * expected < measured < 1.15 * expected + parse_bytes("30MB")


def test_less_memory_means_another_solver_and_then_a_refusal():
    chosen = [choose(60_000, torch.float32, parse_bytes(size), 20, 3) for size in ("20GB", "6GB", "1GB")]
    assert [type(one.solver) for one in chosen] == [ConjugateGradient, Partition, Partition]
    assert [one.forced for one in chosen] == [False, True, True]
    assert "more than 6.0 GB" in chosen[1].why
    for one, size in zip(chosen, ("20GB", "6GB", "1GB"), strict=True):
        assert fit_forecast(one.solver, 60_000, torch.float32, parse_bytes(size), 20, 3).peak <= parse_bytes(size)
    with pytest.raises(ValueError, match=r"60000 rows need at least .* and max_memory is 30.0 MB: raise max_memory"):
        choose(60_000, torch.float32, parse_bytes("30MB"), 20, 3)


def test_what_fits_half_the_rows_does_not_fit_all():
    needs = [forecast(Direct(), n, 10, 1, torch.float32).peak for n in (2000, 4000, 8000)]
    assert needs[2] > 3 * needs[1] > 6 * needs[0]
