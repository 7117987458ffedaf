"""Which columns of a table of edges are its endpoints and its weights: by their usual names, or as chosen."""

from __future__ import annotations

from collections.abc import Sequence

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import Place, match_name, missing_column, name_key

# Names are compared by name_key: without case, spaces and punctuation, and without "id" at the end.
_ONE_KIND = ("source target", "src dst", "from to", "u v", "head tail", "node1 node2", "source destination", "src dest",
             "src tgt", "fromnode tonode", "sourcenode targetnode", "srcnode dstnode", "start end", "startnode endnode",
             "nodea nodeb", "nodei nodej", "id1 id2", "vertex1 vertex2", "sender receiver", "sender recipient",
             "origin destination", "citing cited", "follower followee", "parent child", "subject object")  # fmt: skip
_TWO_SIDES = ("user item", "user product", "user movie", "user book", "user song", "user track", "user artist",
              "user business", "user group", "user post", "user article", "user page", "user tag", "customer product",
              "customer item", "reader book", "author paper", "author article", "actor movie", "member group",
              "person event", "drug disease", "gene disease")  # fmt: skip
ENDPOINT_KEYS = tuple(tuple(pair.split()) for pair in (*_ONE_KIND, *_TWO_SIDES))
TWO_SIDES = frozenset(tuple(pair.split()) for pair in _TWO_SIDES)
WEIGHT_KEYS = ("weight", "weights", "edgeweight")
CHOOSE = "--source-column and --target-column (source_column=, target_column=)"


def match_endpoints(
    names: Sequence[str], source: str | None = None, target: str | None = None
) -> tuple[str, str] | None:
    """Find the columns with the endpoints of an edge: the ones given, else a pair of usual names; None without one.

    >>> match_endpoints(["Dst ", "SRC", "since"]), match_endpoints(["name", "age"])
    (('SRC', 'Dst '), None)
    """
    chosen = [None if given is None else match_name(given, names) for given in (source, target)]
    for pair in ENDPOINT_KEYS:
        found = [
            mine if given is not None else _by_key(key, names)
            for given, mine, key in zip((source, target), chosen, pair, strict=True)
        ]
        if found[0] is not None and found[1] is not None and found[0] != found[1]:
            return found[0], found[1]
    return None


def _by_key(key: str, names: Sequence[str]) -> str | None:
    found = [key] if key in names else [name for name in names if name_key(name) == key]
    return found[0] if len(found) == 1 else None


def find_endpoints(
    names: Sequence[str], place: Place, source: str | None = None, target: str | None = None
) -> tuple[str, str]:
    """Find the two columns with the endpoints of an edge.

    >>> find_endpoints(["src", "dst", "weight"], Place("edges"))
    ('src', 'dst')
    """
    for given in (source, target):
        if given is not None and match_name(given, names) is None:
            raise missing_column(place, given, names)
    if source is not None and source == target:
        raise InputError(f"the source column and the target column are both {shown(source)}; choose two columns")
    if pair := match_endpoints(names, source, target):
        return pair
    if source is not None or target is not None:
        other, given = ("target", source) if target is None else ("source", target)
        raise InputError(
            f"{place.name} has a column {shown(given)} but none with a usual name for the {other}; it has "
            f"{shown(','.join(names), 200)}: choose one with --{other}-column ({other}_column=)"
        )
    raise _no_endpoints(names, place)


def _no_endpoints(names: Sequence[str], place: Place) -> InputError:
    listed = shown(",".join(names), 200)
    if len(names) == 1:
        return InputError(f"{place.name} has only one column, {listed}; it needs 'source' and 'target'. Check the "
                          "separator, or choose it with --separator (separator=)")  # fmt: skip
    keys = [name_key(name) for name in names]
    for pair in ENDPOINT_KEYS:
        for key in pair:
            if keys.count(key) > 1 and key not in names:
                one, other = [name for name in names if name_key(name) == key][:2]
                return InputError(f"{place.name} has the columns {shown(one)} and {shown(other)}; choose with {CHOOSE}")
    if not set(" ".join(_ONE_KIND).split()) & set(keys):
        data = ". If this is the first row of data, add --no-header (header=False)" if len(names) <= 4 else ""
        return InputError(
            f"{place.name} has no columns 'source' and 'target', only {listed}; choose with {CHOOSE}{data}"
        )
    error = missing_column(place, "target" if "source" in keys else "source", names)
    return InputError(f"{error}; choose with {CHOOSE}")


def find_weight(names: Sequence[str], given: str | None, place: Place) -> str | None:
    """Find the column with the weights: the one given, else ``weight`` if it exists.

    >>> find_weight(["Source", "Target", "Weight"], None, Place("edges"))
    'Weight'
    """
    if given is not None:
        found = match_name(given, names)
        if found is None:
            raise missing_column(place, given, names)
        return found
    return next((found for key in WEIGHT_KEYS if (found := _by_key(key, names)) is not None), None)


def are_two_sides(pair: tuple[str, str]) -> bool:
    """Return whether two columns are named like different kinds of things.

    >>> are_two_sides(("User_ID", "item")), are_two_sides(("source", "target"))
    (True, False)
    """
    return (name_key(pair[0]), name_key(pair[1])) in TWO_SIDES
