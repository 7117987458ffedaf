"""What vectors are made of: presets, length and parts, on the command line and in the folder of a model."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from mvgrl.settings import PRESETS, Output
from mvgrl.tables.embeddings import read_embeddings

PARTS = ["codes: adjacency", "codes: ppr", "raw features", "propagated: adjacency", "propagated: ppr"]
PARTS += ["raw positions", "propagated positions: adjacency", "propagated positions: ppr"]  # of few features


def vectors(path):
    return read_embeddings(path).vectors


def write_edges(path, edges, name="p{}"):
    """Write every edge in both directions, so that nothing about directions is noted."""
    both = [(name.format(a), name.format(b)) for pair in edges for a, b in (pair, pair[::-1])]
    Path(path).write_text("".join(f"{source},{target}\n" for source, target in [("source", "target"), *both]))


@pytest.fixture
def communities():
    """Three groups of 30 nodes with few edges between them and no features, in groups.csv."""
    found = nx.random_partition_graph([30, 30, 30], 0.3, 0.01, seed=0)
    write_edges("groups.csv", found.edges)
    return found


@pytest.fixture
def position_model(run, communities, small):
    """A model that was trained on the positions of the three groups."""
    printed = run(f"train groups.csv -o model {small}").err
    assert "positions in the graph as features (none are given)" in printed
    return "model"


# the length


def test_dim_is_the_length_of_the_vectors(run, graph, small):
    result = run(f"embed {graph} -o all.npy {small} --json").json
    shorter = run(f"embed {graph} -o short.npy {small} --dim 8 --json").json
    assert (result["dim"], shorter["dim"]) == (11, 8)
    assert vectors("short.npy").shape == (12, 8)
    np.testing.assert_allclose(vectors("short.npy"), vectors("all.npy")[:, :8], rtol=1e-5, atol=1e-5)
    assert list(shorter["parts"]) == list(result["parts"]) == PARTS
    for part in PARTS:
        assert 0 < shorter["parts"][part] <= result["parts"][part] <= 1


def test_json_says_how_much_of_every_part_a_short_vector_keeps(run, graph, small):
    shares = [run(f"embed {graph} -o v.npy {small} --dim {dim} --json").json["parts"] for dim in (1, 2, 4)]
    for part in PARTS:
        kept = [share[part] for share in shares]
        assert kept == sorted(kept)
    assert all(any(share[part] < 1 for part in PARTS) for share in shares[:2])


def test_dim_0_keeps_all_components(run, graph, small):
    outcome = run(f"embed {graph} -o all.npy {small} --dim 0 --json")
    assert (
        "vectors of all components: codes of adjacency and ppr, raw and propagated features, positions" in outcome.err
    )
    run(f"embed {graph} -o default.npy {small}")
    assert outcome.json["dim"] == 11
    assert outcome.json["parts"] == dict.fromkeys(PARTS, 1.0)
    assert np.array_equal(vectors("all.npy"), vectors("default.npy"))  # fewer than 512


def test_vectors_of_more_nodes_than_512_have_512_components(run, cora):
    run(f"embed cora-linqs --data-root {cora} -o v.npy --hidden 300 --epochs 1 --device cpu -q")
    assert vectors("v.npy").shape == (1500, 512)
    assert (np.diff(vectors("v.npy").var(axis=0)) <= 1e-5).all()  # ordered


def test_applied_vector_of_dim_8_is_the_beginning_of_the_saved_one(run, graph, small):
    run(f"train {graph} -o model {small}")
    run(f"apply model {graph} -o all.npy --device cpu")
    result = run(f"apply model {graph} -o short.npy --dim 8 --device cpu --json").json
    assert result["dim"] == 8
    np.testing.assert_allclose(vectors("short.npy"), vectors("all.npy")[:, :8], rtol=1e-5, atol=1e-5)
    run(f"embed {graph} -o embedded.npy {small} --dim 8")
    assert np.array_equal(vectors("short.npy"), vectors("embedded.npy"))


def test_model_saved_with_a_short_vector_keeps_its_length_and_can_give_all_components(run, graph, small):
    run(f"train {graph} -o model {small} --dim 3")
    run(f"apply model {graph} -o short.npy --device cpu")
    run(f"apply model {graph} -o all.npy --dim 0 --device cpu")
    assert (vectors("short.npy").shape, vectors("all.npy").shape) == ((12, 3), (12, 11))
    left, values, _ = np.linalg.svd(vectors("all.npy"), full_matrices=False)
    best = left[:, :3] * values[:3]  # the best approximation of this length, up to a rotation
    np.testing.assert_allclose(vectors("short.npy") @ vectors("short.npy").T, best @ best.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dim", ["-1", "1.5", "many", "x8"])
def test_dim_that_is_no_length_is_rejected(refused, graph, dim):
    refused(f"embed {graph} -o v.npy --dim={dim}", "dim")


# presets


def test_preset_paper_is_the_sum_of_the_views(run, graph, small):
    outcome = run(f"embed {graph} -o paper.npy {small} --preset paper --json")
    assert "; vectors of 4: sum of the codes of adjacency and ppr" in outcome.err
    assert (outcome.json["dim"], outcome.json["parts"]) == (4, {"codes": 1.0})
    run(f"embed {graph} -o both.npy {small} --preset paper --join concatenate")
    assert vectors("both.npy").shape == (12, 8)
    np.testing.assert_allclose(vectors("paper.npy"), vectors("both.npy")[:, :4] + vectors("both.npy")[:, 4:], rtol=1e-5)


def test_default_model_also_gives_the_vector_of_the_paper(run, graph, small):
    run(f"train {graph} -o model {small}")
    run(f"embed {graph} -o embedded.npy {small} --preset paper")
    result = run(f"apply model {graph} -o applied.npy --preset paper --device cpu --json").json
    assert result["dim"] == 4
    assert np.array_equal(vectors("applied.npy"), vectors("embedded.npy"))


def test_default_graph_model_also_gives_the_vector_of_the_paper(run, many_graphs, small):
    run(f"train {many_graphs} -o model {small}")
    run(f"embed {many_graphs} -o embedded.npy {small} --preset paper")
    run(f"apply model {many_graphs} -o applied.npy --preset paper --device cpu")
    assert vectors("applied.npy").shape == (6, 4)
    assert np.array_equal(vectors("applied.npy"), vectors("embedded.npy"))


def test_model_of_the_paper_has_no_default_vector(run, refused, graph, small):
    run(f"train {graph} -o model {small} --preset paper")
    refused(f"apply model {graph} -o v.npy --preset default", "need its training graph", "preset 'paper'")
    refused(f"apply model {graph} -o v.npy --dim 2", "need its training graph", "preset 'paper'")


@pytest.mark.parametrize("verb", ["embed edges.csv", "apply model edges.csv"])
def test_unknown_preset_is_rejected_with_the_known_ones(run, refused, graph, small, verb):
    run(f"train {graph} -o model {small}")
    refused(f"{verb} -o v.npy --preset papers", "'papers'", "'paper'")


# parts


def test_beside_none_leaves_the_codes(run, graph, small):
    outcome = run(f"embed {graph} -o codes.npy {small} --beside none --json")
    assert "vectors of up to 12: codes of adjacency and ppr\n" in outcome.err
    assert outcome.json["parts"] == {"codes: adjacency": 1.0, "codes: ppr": 1.0}
    run(f"embed {graph} -o plain.npy {small} --beside none --dim 0")  # neither scaled nor rotated
    run(f"embed {graph} -o paper.npy {small} --preset paper --join concatenate")
    assert np.array_equal(vectors("plain.npy"), vectors("paper.npy"))
    scaled = vectors("plain.npy").reshape(12, 2, 4)
    scaled = scaled - scaled.mean(axis=0)
    scaled *= 3 / 2**0.5 / np.sqrt((scaled**2).sum(axis=2).mean(axis=0))[None, :, None]
    between = [np.linalg.norm(a[:, None] - a[None], axis=-1) for a in (vectors("codes.npy"), scaled.reshape(12, 8))]
    np.testing.assert_allclose(*between, atol=1e-2)


@pytest.mark.parametrize("verb", ["embed", "apply model"])
def test_counts_beside_the_codes_of_nodes_are_rejected(run, refused, graph, small, verb):
    run(f"train {graph} -o model {small}")
    refused(f"{verb} {graph} -o v.npy --beside counts", "'counts'", "task 'node'", "'propagated'", "'none'")


def test_propagated_features_beside_the_codes_of_graphs_are_rejected(refused, many_graphs):
    message = refused(f"embed {many_graphs} -o v.npy --task graph --beside propagated", "'propagated'", "'counts'")
    assert "task 'graph'" in message


def test_graphs_have_counts_beside_their_codes(run, many_graphs, small):
    outcome = run(f"embed {many_graphs} -o v.npy {small} --json")
    assert outcome.err.splitlines()[1].endswith(
        "vectors of up to 6: codes of adjacency and ppr, counts of substructures, histogram"
    )
    assert list(outcome.json["parts"]) == ["codes: adjacency", "codes: ppr", "counts", "histogram"]


@pytest.mark.parametrize("flags", ["--join sum", "--codes encoded", "--beside none"])
def test_parts_that_a_model_does_not_have_are_rejected_with_a_remedy(run, refused, graph, small, flags):
    run(f"train {graph} -o model {small}")
    message = refused(f"apply model {graph} -o v.npy {flags}")
    for words in ("need its training graph", "omit beside, codes and join", "preset 'paper'", "train again"):
        assert words in message


def test_unit_length_can_be_changed_without_training(run, graph, small):
    run(f"train {graph} -o model {small}")
    run(f"apply model {graph} -o v.npy --unit-length --dim 4 --device cpu")
    np.testing.assert_allclose(np.linalg.norm(vectors("v.npy"), axis=1), 1, rtol=1e-5)


# what is known about a model


def test_info_and_the_model_card_show_the_parts_and_their_shares(run, graph, small):
    trained = run(f"train {graph} -o model {small} --dim 3 --json").json
    shown = run("info model --json").json
    assert shown["dim"] == trained["dim"] == 3
    assert shown["variance_kept"] == trained["parts"]
    assert list(shown["variance_kept"]) == PARTS
    assert any(0 < share < 1 for share in shown["variance_kept"].values())
    assert shown["output"] == Output(dim=3, beside="propagated+position").for_task("node").to_dict()
    text, card = run("info model").out, Path("model/README.md").read_text()
    assert "| length of a vector | 3 |" in card
    longest = max(map(len, PARTS))
    for part, share in shown["variance_kept"].items():
        assert f"\n  {part:<{longest}} {share:.6g}\n" in text  # the numbers are aligned
        assert f"| {part} | {share:.1%} of its variance |" in card


def test_info_on_a_graph_says_what_its_vectors_would_be_made_of(run, graph, many_graphs):
    assert run(f"info {graph} --json").json["picks"][-1] == (
        "vectors of up to 12: codes of adjacency and ppr, raw and propagated features, positions"
    )
    assert run(f"info {many_graphs} --json").json["picks"][-1] == (
        "vectors of up to 6: codes of adjacency and ppr, counts of substructures, histogram"
    )


def test_printed_configuration_has_the_vector_and_gives_the_same_one(run, graph, small):
    config = run(f"train {graph} {small} --dim 5 --print-config").out
    Path("run.toml").write_text(config)
    run(f"embed {graph} -o again.npy --config run.toml")
    run(f"embed {graph} -o v.npy {small} --dim 5")
    assert vectors("v.npy").shape == (12, 5)
    assert np.array_equal(vectors("v.npy"), vectors("again.npy"))


def test_model_of_the_previous_format_has_the_vector_of_the_paper(run, graph, small):
    run(f"train {graph} -o model {small} --preset paper")
    run(f"apply model {graph} -o before.npy --device cpu")
    config = json.loads(Path("model/config.json").read_text())
    assert config.pop("vector") == {"dim": 4, "parts": {"codes": 1.0}}
    for name in ("preset", "dim", "beside"):
        del config["output"][name]
    assert config["output"] == {"codes": "projected", "join": "sum", "unit_length": False}
    Path("model/config.json").write_text(json.dumps({**config, "format": "mvgrl-model-2"}))
    run(f"apply model {graph} -o after.npy --device cpu")
    assert np.array_equal(vectors("before.npy"), vectors("after.npy"))
    shown = run("info model --json").json
    assert shown["output"] == {"preset": "paper", **PRESETS["paper"]["node"], "unit_length": False}
    assert (shown["dim"], shown["variance_kept"]) == (4, {"codes": 1.0})


# positions


def test_positions_of_many_graphs_are_rejected(refused, many_graphs):
    for kind in ("position", "position+degree"):
        for task in ("", "--task graph"):
            refused(
                f"embed {many_graphs} -o v.npy --features {kind} {task}", f"'{kind}'", "one graph", "'degree-one-hot'"
            )


def test_training_graph_of_a_position_model_gets_the_same_vectors(run, position_model, small):
    run(f"embed groups.csv -o embedded.npy {small}")
    run(f"apply {position_model} groups.csv -o applied.npy --device cpu")
    assert np.array_equal(vectors("embedded.npy"), vectors("applied.npy"))


def test_positions_follow_the_ids_and_not_the_order(run, position_model, communities):
    run(f"apply {position_model} groups.csv -o before.npy --device cpu")
    write_edges("reversed.csv", [pair[::-1] for pair in reversed(list(communities.edges))])
    printed = run(f"apply {position_model} reversed.csv -o after.npy --device cpu").err
    assert "not in the training graph" not in printed
    before, after = read_embeddings("before.npy"), read_embeddings("after.npy")
    assert before.ids.tolist() != after.ids.tolist()
    order = [after.ids.tolist().index(one) for one in before.ids]
    np.testing.assert_allclose(after.vectors[order], before.vectors, atol=1e-3)


def test_new_nodes_of_a_grown_graph_are_placed_and_noted(run, position_model, communities):
    run(f"apply {position_model} groups.csv -o before.npy --device cpu")
    first = [node for node in range(30) if node in communities][:4]
    write_edges("grown.csv", [*communities.edges, *((node, "new") for node in first), ("new", "newer")])
    printed = run(f"apply {position_model} grown.csv -o after.npy --device cpu").err
    assert "2 of 92 nodes are not in the training graph; they are placed at the average of their neighbours" in printed
    before, after = read_embeddings("before.npy"), read_embeddings("after.npy")
    assert np.isfinite(after.vectors).all()
    place = {one: number for number, one in enumerate(after.ids.tolist())}
    old = after.vectors[[place[one] for one in before.ids.tolist()]]
    spread = np.linalg.norm(before.vectors, axis=1).mean()
    moved = np.linalg.norm(old - before.vectors, axis=1)
    assert moved.mean() < 0.05 * spread
    numbers = np.array([int(one[1:]) for one in before.ids.tolist()])
    assert moved[numbers >= 30].max() < 0.05 * spread
    groups = [old[numbers // 30 == group].mean(axis=0) for group in range(3)]
    for name in ("pnew", "pnewer"):
        distances = [np.linalg.norm(after.vectors[place[name]] - centre) for centre in groups]
        assert np.argmin(distances) == 0  # the group it is linked to


def test_position_model_refuses_an_unrelated_graph(run, refused, position_model, communities, many_graphs):
    advice = "positions are only meaningful in the training graph", "train with features 'degree-one-hot'"
    write_edges("others.csv", communities.edges, name="q{}")
    refused(f"apply {position_model} others.csv -o v.npy", "no node of the training graph", *advice)
    shuffled = dict(zip(communities, np.random.default_rng(0).permutation(len(communities)).tolist(), strict=True))
    write_edges("shuffled.csv", nx.relabel_nodes(communities, shuffled).edges)
    refused(f"apply {position_model} shuffled.csv -o v.npy", "unrelated positions", "another graph", *advice)
    refused(f"apply {position_model} {many_graphs} -o v.npy -q", *advice)
    run("train groups.csv -o degrees --features degree-one-hot --hidden 4 --epochs 3 --device cpu")
    run("apply degrees others.csv -o v.npy --device cpu")  # the advice works
    assert np.isfinite(vectors("v.npy")).all()


def test_graph_without_edges_has_no_positions(run, small):
    Path("loops.csv").write_text("source,target\na,a\nb,b\n")
    assert "degrees as features (none are given)" in run(f"embed loops.csv -o v.csv {small}").err
