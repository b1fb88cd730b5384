"""Batches hold each text once, within the number of tokens."""

import torch

from gramian.concepts.tokens import pad, plan_batches


def test_each_text_is_in_one_batch_and_padding_stays_within_the_limit():
    lengths = torch.randint(1, 40, (200,), generator=torch.Generator().manual_seed(0)).tolist()
    for most in (1, 25, 100, 10_000):
        batches = plan_batches(lengths, most)
        assert sorted(i for batch in batches for i in batch) == list(range(200))
        for batch in batches:
            assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= most


def test_padding_is_masked():
    ids, mask = pad([torch.tensor([3]), torch.tensor([5, 6, 7])])
    assert ids[mask.bool()].tolist() == [3, 5, 6, 7]
    assert mask.sum(dim=1).tolist() == [1, 3]
