"""The cases of the fuzzer: numbered, and each made from the seed and its number alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.attacks.mutations import mutate
from tests.attacks.seeds import Seed, make_seeds
from tests.attacks.targets import TARGETS, WEIGHTS


@dataclass(frozen=True)
class Case:
    """What a target is given, and how it was made."""

    target: str
    seed: Seed
    mutations: tuple[str, ...]


class Cases:
    """Makes the case of a number."""

    def __init__(self, seed: int, targets: list[str] | None = None) -> None:
        self.seed, self.seeds = seed, make_seeds()
        self.targets = targets or list(TARGETS)
        self.weights = [WEIGHTS[name] for name in self.targets]
        self.pool = [content for some in self.seeds.values() for one in some for content in one.files.values()]

    def __call__(self, number: int) -> Case:
        rng = random.Random(f"{self.seed}-{number}")
        (target,) = rng.choices(self.targets, self.weights)
        valid = rng.choice(self.seeds[target])
        if target in ("scipy", "objects"):  # they are made from a number, not from a file
            return Case(target, Seed("number", {"number": f"{self.seed}-{number}".encode()}), ("odd object",))
        files, done = dict(valid.files), []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            name = rng.choice(list(files))
            what, files[name] = mutate(rng, name, files[name], self.pool)
            done.append(what)
        return Case(target, Seed(valid.entry, files, valid.options), tuple(done))
