from __future__ import annotations

import torch

from mvgrl.encoders import GCN, NORMS, BiasedPReLU, xavier
from mvgrl.matrices import DenseMatrix


def test_layer_is_prelu_of_view_times_features_times_weights() -> None:
    X, V = torch.randn(5, 3), torch.rand(5, 5)
    encoder = GCN(3, 4, 2)
    with torch.no_grad():
        encoder.activations[0].bias.uniform_()
    first, second = encoder(encoder.project(DenseMatrix(X)), DenseMatrix(V))
    expected = torch.nn.functional.prelu(V @ X @ encoder.weights[0] + encoder.activations[0].bias, torch.tensor([0.25]))
    torch.testing.assert_close(first, expected)
    torch.testing.assert_close(second, torch.nn.functional.prelu(V @ first @ encoder.weights[1], torch.tensor([0.25])))


def plain_activation(x: torch.Tensor, bias: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.prelu(x + bias, slope)


def test_activation_has_the_same_gradients_as_torch() -> None:
    x = torch.randn(37, 3, dtype=torch.float64, requires_grad=True)
    bias, slope = torch.randn(3, dtype=torch.float64), torch.tensor([-0.3], dtype=torch.float64)
    parameters = {"bias": bias.requires_grad_(), "slope": slope.requires_grad_()}
    module = BiasedPReLU(3)

    def ours(x: torch.Tensor, bias: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, {"bias": bias, "slope": slope}, (x,))

    inputs = (x, *parameters.values())
    torch.testing.assert_close(ours(*inputs), plain_activation(*inputs))
    weights = torch.randn(37, 3, dtype=torch.float64)
    for view in (weights, weights.T.contiguous().T):  # a gradient with another memory layout takes another path
        mine = torch.autograd.grad(ours(*inputs), inputs, view)
        theirs = torch.autograd.grad(plain_activation(*inputs), inputs, view)
        torch.testing.assert_close(mine, theirs)


def test_activation_works_under_vmap() -> None:
    x, biases, slopes = torch.randn(3, 4, 2), torch.randn(3, 2), torch.tensor([[0.1], [0.2], [-0.3]])
    module = BiasedPReLU(2)

    def loss(x: torch.Tensor, bias: torch.Tensor, slope: torch.Tensor, activation) -> torch.Tensor:
        return activation(x, bias, slope).square().sum()

    def ours(x: torch.Tensor, bias: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, {"bias": bias, "slope": slope}, (x,))

    gradient = torch.func.grad_and_value(loss, argnums=(0, 1, 2))
    for dims in ((0, 0, 0, None), (0, None, None, None), (None, 0, 0, None)):
        inputs = [t if d == 0 else t[0] for t, d in zip((x, biases, slopes), dims, strict=False)]
        mine = torch.vmap(gradient, in_dims=dims)(*inputs, ours)
        theirs = torch.vmap(gradient, in_dims=dims)(*inputs, plain_activation)
        torch.testing.assert_close(mine, theirs)


def test_initial_weights_depend_on_the_generator_only() -> None:
    def draw() -> torch.Tensor:
        return xavier(3, 4, generator=torch.Generator().manual_seed(7))

    first = draw()
    torch.rand(5)  # advances the global generator, which must not matter
    assert torch.equal(first, draw())
    bound = (6 / (200 + 300)) ** 0.5
    weights = xavier(200, 300)
    assert weights.abs().max() <= bound
    assert weights.abs().max() > 0.95 * bound


def test_regularisers_are_active_in_training_only() -> None:
    X, V = DenseMatrix(torch.randn(50, 3)), DenseMatrix(torch.eye(50))
    plain = GCN(3, 40, generator=torch.Generator().manual_seed(0))
    for options in (dict(dropout=0.5), dict(noise=0.1)):
        encoder = GCN(3, 40, generator=torch.Generator().manual_seed(0), **options)
        quiet = encoder.eval()(encoder.project(X), V)[0]
        assert torch.equal(quiet, plain(plain.project(X), V)[0])
        encoder.train()
        once, again = (encoder(encoder.project(X), V, torch.Generator().manual_seed(1))[0] for _ in range(2))
        assert torch.equal(once, again)
        assert not torch.equal(once, quiet)
        assert abs(float((once - quiet).mean().detach())) < 0.05  # neither changes the mean of the codes


def test_dropout_drops_the_given_fraction_and_scales_the_rest() -> None:
    encoder = GCN(1, 400, dropout=0.25).train()
    X, V = DenseMatrix(torch.ones(100, 1)), DenseMatrix(torch.eye(100))
    codes = encoder(encoder.project(X), V, torch.Generator().manual_seed(0))[0]
    without = encoder.eval()(encoder.project(X), V)[0]
    kept = codes != 0
    assert 0.73 < float(kept.float().mean()) < 0.77
    torch.testing.assert_close(codes[kept], without[kept] / 0.75)


def test_norm_layers_give_zero_mean_and_unit_variance() -> None:
    X, V = DenseMatrix(10 + 5 * torch.randn(200, 3)), DenseMatrix(torch.eye(200))
    for norm, dim in (("batch", 0), ("layer", 1)):
        encoder = GCN(3, 64, norm=NORMS[norm].layer).train()
        torch.nn.init.ones_(encoder.activations[0].slope)  # a PReLU with slope 1 keeps the normalised codes
        codes = encoder(encoder.project(X), V)[0]
        assert codes.mean(dim).abs().max() < 1e-4
        assert (codes.std(dim) - 1).abs().max() < 0.02
