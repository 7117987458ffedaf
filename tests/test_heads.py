from __future__ import annotations

import torch
from torch.nn.functional import cosine_similarity, prelu

from mvgrl.heads import Bilinear, DotProduct, Head


def test_head_has_two_hidden_layers() -> None:
    head, x, slope = Head(4), torch.randn(3, 4), torch.tensor([0.25])
    a, b, c = head.weights
    torch.testing.assert_close(head(x), prelu(prelu(x @ a, slope) @ b, slope) @ c)


def test_shortcut_adds_a_linear_map_and_keeps_the_other_weights() -> None:
    plain, head = (Head(4, torch.Generator().manual_seed(3), shortcut=shortcut) for shortcut in (False, True))
    x = torch.randn(3, 4)
    assert head.shortcut is not None
    assert head.shortcut.any()
    torch.testing.assert_close(head(x), plain(x) + x @ head.shortcut)


def test_dot_product_scores_every_pair_of_every_part() -> None:
    anchors, parts = torch.randn(2, 4), (torch.randn(3, 4), torch.randn(5, 4))
    scores = DotProduct()(anchors, parts)
    assert scores.shape == (2, 8)
    torch.testing.assert_close(scores[1, 4], anchors[1] @ parts[1][1])


def test_bilinear_equals_torch_whichever_side_is_longer() -> None:
    bilinear = Bilinear(4)
    theirs = torch.nn.Bilinear(4, 4, 1, bias=False)
    theirs.weight.data = bilinear.weight.data[None]
    for rows, columns in ((2, 7), (7, 2)):
        anchors, samples = torch.randn(rows, 4), torch.randn(columns, 4)
        scores = bilinear(anchors, (samples,))
        expected = theirs(anchors[:, None].expand(-1, columns, -1), samples[None].expand(rows, -1, -1))[:, :, 0]
        torch.testing.assert_close(scores, expected)


def test_cosine_scores_equal_torch_cosine_similarity() -> None:
    anchors, samples = torch.randn(2, 4), torch.randn(5, 4)
    expected = cosine_similarity(anchors[:, None], samples[None], dim=2)
    torch.testing.assert_close(DotProduct()(anchors, (samples,), cosine=True), expected)
    bilinear = Bilinear(4)
    expected = cosine_similarity((anchors @ bilinear.weight)[:, None], samples[None], dim=2)
    torch.testing.assert_close(bilinear(anchors, (samples,), cosine=True), expected)


def test_bilinear_is_initialised_like_torch_bilinear_with_xavier() -> None:
    bound = (6 / (100 * 100 + 100)) ** 0.5  # fan-in 100·100, fan-out 1·100
    weight = Bilinear(100).weight.detach()
    assert 0.95 * bound < weight.abs().max() <= bound
