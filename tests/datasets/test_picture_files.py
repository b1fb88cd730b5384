"""Pictures of the user as arrays."""

import numpy as np
from PIL import Image

from gramian.datasets.sample_files import SampleOptions, read_samples


def test_pictures_of_16_bits_keep_their_steps(tmp_path):
    folder = tmp_path / "deep"
    folder.mkdir()
    pixels = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    Image.fromarray(pixels).save(folder / "a.png")
    found = read_samples(folder, SampleOptions(9)).X
    assert found.shape == (1, 1, 8, 8)
    assert found.dtype == np.float32
    assert np.allclose(found[0, 0], pixels / 65535)
    Image.fromarray(np.full((8, 8, 3), 51, dtype=np.uint8)).save(folder / "b.png")
    both = read_samples(folder, SampleOptions(9)).X
    assert both.shape == (2, 3, 8, 8)
    assert np.allclose(both[0], pixels / 65535)
    assert np.allclose(both[1], 0.2)
    assert read_samples(folder, SampleOptions(9, image_size=(4, 4))).X.shape == (2, 3, 4, 4)
