"""Reports on weights: the numbers of a naive reading, whatever holds the weights, and bounded memory."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from gramian.core import effective_rank
from gramian.nets import inspect, inspect_weights
from nets.checkpoints.made import state, write_folder, write_sparse_folder


def test_the_same_numbers_from_a_folder_shards_a_file_and_memory(tmp_path):
    expected = inspect_weights(state()).rows
    write_folder(tmp_path / "one", state())
    write_folder(tmp_path / "three", state(), 3)
    save_file(state(), tmp_path / "w.safetensors")
    torch.save({"state_dict": state()}, tmp_path / "w.pt")
    for name in ("one", "three", "w.safetensors", "w.pt"):
        found = {row["layer"]: row for row in inspect_weights(tmp_path / name).rows}
        for row in expected:
            other = found[row["layer"]]
            assert {key: other[key] for key in row if row[key] == row[key]} == {
                key: value for key, value in row.items() if value == value
            }


def test_the_columns_it_shares_with_inspect():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(4, 6, 3, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, 2)
        )
    report = inspect(model, torch.randn(5, 4, 4, 4, generator=torch.Generator().manual_seed(0)))
    for row, expected in zip(inspect_weights(model).rows, report.rows, strict=True):
        for name in ("layer", "kind", "shape"):
            assert row[name] == expected[name]
        for name in ("effective_rank", "top_share"):
            assert row[name] == pytest.approx(expected[name], rel=1e-6)
    assert inspect_weights(model).rows[1]["balancedness"] == pytest.approx(report.rows[1]["balancedness"], rel=1e-5)


def test_every_expert_counts():
    rng = torch.Generator().manual_seed(0)
    W, W0 = torch.randn(3, 5, 4, generator=rng), torch.randn(3, 5, 4, generator=rng)
    row = inspect_weights({"mlp.experts.w": W}, initial={"mlp.experts.w": W0}, directions=2).rows[0]
    values = torch.cat([torch.linalg.svdvals(w.double()) for w in W]).square()
    assert row["effective_rank"] == pytest.approx(effective_rank(values))
    assert row["shape"] == "5×4 ×3"
    changes = [float((w - w0).norm() / w0.norm()) for w, w0 in zip(W, W0, strict=True)]
    assert row["weight_change"] == pytest.approx(sum(changes) / 3, rel=1e-6)


def test_an_earlier_checkpoint():
    later = state(1)
    report = inspect_weights(later, initial=state(0) | {"lm_head.weight": torch.ones(3, 6)})
    rows = {row["layer"]: row for row in report.rows}
    W, W0 = (state(s)["model.embed_tokens.weight"] for s in (1, 0))
    assert rows["model.embed_tokens"]["weight_change"] == pytest.approx(float((W - W0).norm() / W0.norm()), rel=1e-6)
    assert math.isnan(rows["lm_head"]["weight_change"])
    assert report.settings["notes"] == ["lm_head has another shape in the earlier checkpoint"]
    missing = inspect_weights(
        later, initial={"lm_head.weight": later["lm_head.weight"]}, layers=["lm_head", "*.0.*q_proj"]
    )
    assert missing.settings["notes"] == ["model.layers.0.self_attn.q_proj is not in the earlier checkpoint"]
    with pytest.raises(ValueError, match="has none of the layers"):
        inspect_weights(later, initial={"other.weight": torch.ones(2, 2)})


def test_broken_weights_and_wrong_arguments():
    report = inspect_weights({"a.weight": torch.full((2, 2), math.nan), "b.weight": torch.ones(2, 3)})
    assert report.skipped == {"a": "it holds NaN or infinite numbers"}
    with pytest.raises(ValueError, match="no matrix of weights could be measured"):
        inspect_weights({"a.weight": torch.full((2, 2), math.inf)})
    with pytest.raises(ValueError, match="holds no weight matrix"):
        inspect_weights({"a.bias": torch.ones(2)})
    with pytest.raises(ValueError, match="directions=0"):
        inspect_weights(state(), directions=0)


MEASURED = """
import json, sys
import torch
from pathlib import Path
from gramian.nets import inspect_weights
def peak():  # ru_maxrss would be that of the test process where it is larger
    return int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])
torch.set_num_threads(1)
inspect_weights({"a.weight": torch.ones(3, 3)})  # everything is imported
before = peak()
report = inspect_weights(*sys.argv[1:2], initial=sys.argv[2] if len(sys.argv) > 2 else None)
after = peak()
ranks = [row["effective_rank"] for row in report.rows]
print(json.dumps([after - before, len(ranks), min(ranks), max(ranks)]))
"""


def peak(*paths):
    """Kilobytes by which the memory of a fresh process grows, the number of matrices, and the ends of their ranks."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, paths)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a process's own peak")


@LINUX
def test_memory_is_that_of_a_few_matrices(tmp_path):
    """690 MB in 60 matrices of 11.5 MB."""
    shapes = {f"layers.{i}.w.weight": (90_000, 64) for i in range(60)}
    grown, count, low, high = peak(write_sparse_folder(tmp_path, shapes, 3))
    assert (count, low, high) == (60, 1, 1)
    assert grown < 6 * 11_500, f"{grown} kB"


@LINUX
@pytest.mark.slow
def test_a_checkpoint_of_several_gigabytes(tmp_path):
    """6.3 GB in 48 matrices of 131 MB."""
    shapes = {f"layers.{i}.w.weight": (256_000, 256) for i in range(48)}
    grown, count, low, high = peak(write_sparse_folder(tmp_path, shapes, 4))
    assert (count, low, high) == (48, 1, 1)
    assert grown < 3 * 131_000, f"{grown} kB"


def network(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def prefixed(prefix, weights):
    return {prefix + key: value for key, value in weights.items()}


def changes(report):
    return [(row["weight_change"], row["nfm_cos"]) for row in report.rows]


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."])
@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_prefixes_of_wrappers_are_left_out_of_the_names(prefix, suffix, tmp_path):
    one, two = (network(seed).state_dict() for seed in (0, 1))
    path, wrapped = tmp_path / f"w.{suffix}", prefixed(prefix, one)
    if suffix == "pt":
        torch.save({"state_dict": wrapped}, path)
    else:
        save_file(wrapped, path)
    expected = inspect_weights(one, initial=two)
    for given in (path, wrapped):
        found = inspect_weights(given, initial=two)
        assert found.layers == ["0", "2"]
        assert set(found.skipped) == set(expected.skipped)
        assert changes(found) == changes(expected)
        assert found.rows[0]["balancedness"] == expected.rows[0]["balancedness"]
        assert any("left out of the names" in note for note in found.settings["notes"])
    back = inspect_weights(two, initial=path)
    assert changes(back) == changes(inspect_weights(two, initial=one))
    assert any(note.startswith(f"{path.name}: ") and "left out" in note for note in back.settings["notes"])


def test_a_prefix_of_the_network_itself_stays_and_is_matched():
    one, two = (network(seed).state_dict() for seed in (0, 1))
    lightning = prefixed("model.", one) | {"criterion.weight": torch.ones(2)}
    assert inspect_weights(lightning).layers == ["model.0", "model.2"]
    found = inspect_weights(lightning, initial=two, layers="model.*")
    assert found.layers == ["model.0", "model.2"]
    assert changes(found) == changes(inspect_weights(one, initial=two))
    assert changes(inspect_weights(two, initial=lightning)) == changes(inspect_weights(two, initial=one))
    own = {"module.0.weight": torch.eye(3), "head.weight": torch.eye(3)}
    assert inspect_weights(own).layers == ["module.0", "head"]
    twice = {"module.a.weight": torch.eye(2), "module._orig_mod.a.weight": torch.eye(2)}
    assert inspect_weights(twice).layers == ["module.a", "module._orig_mod.a"]
    with pytest.raises(ValueError, match="none of the layers"):
        inspect_weights(one, initial={"other.weight": torch.eye(3)})


def test_a_wrapped_module_has_the_numbers_of_the_module():
    found, expected = (inspect_weights(model).rows for model in (nn.DataParallel(network(0)), network(0)))
    assert found[0]["balancedness"] == expected[0]["balancedness"] > 0


def test_patterns_may_have_the_prefix_of_the_file():
    state = {"module.0.weight": torch.eye(3), "module.2.weight": torch.eye(3)}
    for pattern in ("module.0", "0", ["module.0"]):
        assert inspect_weights(state, layers=pattern).layers == ["0"]
