"""Downloads of datasets: verified by digest, and the folder appears only when it is complete."""

from __future__ import annotations

import logging
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from mvgrl.datasets.base import DatasetInfo, Progress, has_files
from mvgrl.errors import InputError, MachineError
from mvgrl.tables.atomic import atomic_folder

logger = logging.getLogger(__name__)

TIMEOUT = 30.0  # seconds without an answer from the server
MAX_BYTES = 2**28  # of a transfer, and of an unpacked archive; the largest dataset needs a tenth of it
_CHUNK = 2**16
_HEADERS = {"User-Agent": "mvgrl", "Accept-Encoding": "identity"}  # so that Content-Length counts what is written


class _DownloadError(Exception):
    """Why a download failed, or why the files in a folder are not the dataset."""


class _AlreadyThereError(Exception):
    """Another process has finished the same download."""


def download(info: DatasetInfo, folder: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
    """Download a dataset's files into ``folder``, which appears once all of them are there and verified.

    ``progress`` is called with the number of bytes so far, the total (None if the server does not send it) and the
    file name. A folder that already has the files is left unchanged.

    After ``download(DATASETS["cora"], "data/planetoid/Cora/raw")``, ``load("cora", "data")`` reads the files.
    """
    folder = Path(folder)
    if info.url is None:
        files = " and ".join(info.files)
        raise InputError(
            f"the dataset {info.name!r} cannot be downloaded: put {files} into {folder}, from {info.provenance}"
        )
    if folder.is_file():
        raise InputError(f"{folder} is a file, but must be a folder; remove it or choose another folder")
    if has_files(folder):
        try:
            return _check(info, folder)
        except _DownloadError as failure:
            raise InputError(f"{folder} is not empty, and {failure}; remove it to download it again") from None
    logger.info("downloading %s to %s", info.name, folder)
    try:
        with suppress(_AlreadyThereError), _without_empty_parents(folder), atomic_folder(folder) as temporary:
            _fetch_files(info, info.url, temporary, progress)
            _check(info, temporary)
            if has_files(folder):
                raise _AlreadyThereError
    except _DownloadError as failure:
        raise MachineError(
            f"the dataset {info.name!r} could not be downloaded from {info.url}: {failure}; put "
            f"{', '.join(info.files)} into {folder} by hand, or choose another folder with --data-root (data_root) or "
            f"MVGRL_DATA{info.package_hint}"
        ) from None


@contextmanager
def _without_empty_parents(folder: Path) -> Iterator[None]:
    """Remove the parents of the folder that were created but remain empty."""
    created = [parent for parent in folder.parents if not parent.exists()]
    try:
        yield
    finally:
        for parent in created:
            with suppress(OSError):
                parent.rmdir()


def _fetch_files(info: DatasetInfo, url: str, folder: Path, progress: Progress | None) -> None:
    if info.archive_folder is None:
        for file in info.files:
            _fetch(f"{url}/{file}", folder / file, progress)
    else:
        archive = folder / "archive"
        _fetch(url, archive, progress)
        for file, content in _unpack(archive, {f"{info.archive_folder}/{file}": file for file in info.files}):
            (folder / file).write_bytes(content)
        archive.unlink()
    for path in folder.iterdir():
        with path.open("rb+") as written:
            os.fsync(written.fileno())  # some file systems report a full disk only here


class _Transfer:
    """The file a download is written to, with a limit on its size; it is also pooch's progress bar."""

    def __init__(self, file: IO[bytes], name: str, progress: Progress | None) -> None:
        self.file, self.name, self.progress = file, name, progress
        self.done = self.total = 0  # pooch sets the total, to 0 if it is unknown

    def write(self, chunk: bytes) -> None:
        self.done += len(chunk)
        if self.done > MAX_BYTES:
            raise _DownloadError(f"{self.name} has more than {MAX_BYTES:,} bytes, so it is not the published file")
        self.file.write(chunk)
        if self.progress is not None:
            self.progress(self.done, self.total or None, self.name)

    def ignore(self, *_: int) -> None:
        """Pooch's other calls have no effect: it would count a full chunk each time, and ``write`` counts the bytes."""

    flush = update = reset = close = ignore


def _fetch(url: str, path: Path, progress: Progress | None) -> None:
    import pooch
    import requests

    name = url.rpartition("/")[2]
    with path.open("xb") as file:
        transfer = _Transfer(file, name, progress)
        get = pooch.HTTPDownloader(progressbar=transfer, chunk_size=_CHUNK, timeout=TIMEOUT, headers=_HEADERS)
        try:
            get(url, transfer, None)
        except requests.HTTPError as error:
            raise _DownloadError(f"the server answered {error}") from None
        except requests.RequestException as error:
            cause = _cause(error)
            received = getattr(cause, "partial", None)
            if isinstance(cause, TimeoutError):
                reason = f"the server did not respond for {TIMEOUT:g} seconds"
            elif received is not None:
                total = f" of {transfer.total:,}" if transfer.total else ""
                reason = f"the connection broke after {received:,}{total} bytes of {name}"
            else:
                reason = f"no connection ({getattr(cause, 'strerror', None) or cause})"
            raise _DownloadError(reason) from None


def _cause(error: BaseException) -> BaseException:
    """The operating system's error or urllib3's ``IncompleteRead`` behind an error of requests, if there is one."""
    from requests import RequestException

    inner: BaseException | None = error
    while inner is not None:
        if hasattr(inner, "partial") or (isinstance(inner, OSError) and not isinstance(inner, RequestException)):
            return inner
        inner = inner.__cause__ or inner.__context__
    return error


def _unpack(archive: Path, wanted: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """The wanted members of an archive, with their file names; the other members and all paths are ignored."""
    members = _zip_members if zipfile.is_zipfile(archive) else _tar_members
    total, missing = 0, dict(wanted)
    try:
        for name, size, read in members(archive):
            total += size
            if total > MAX_BYTES:
                raise _DownloadError(f"it unpacks to more than {MAX_BYTES:,} bytes, so it is not the published file")
            if name in missing and read is not None:
                yield missing.pop(name), read()
    except _DownloadError:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise _DownloadError(f"the file is not a valid archive ({error})") from None
    if missing:
        raise _DownloadError(f"the archive has no {', '.join(missing)}")


_Member: TypeAlias = tuple[str, int, Callable[[], bytes] | None]  # name, size, and how to read it if it is a file


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            yield member.filename, member.file_size, partial(opened.read, member)


def _tar_members(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, "r:gz") as opened:
        for member in opened:
            file = opened.extractfile(member) if member.isfile() else None  # a link could point anywhere
            yield member.name.removeprefix("./"), member.size, None if file is None else file.read


def _check(info: DatasetInfo, folder: Path) -> None:
    """Compare every file with its digest; if one is unknown, check that the dataset can be read."""
    import pooch

    for file, expected in info.files.items():
        if not (folder / file).is_file():
            raise _DownloadError(f"{file} is missing")
        digest = pooch.file_hash(folder / file)
        if expected is not None and digest != expected:
            raise _DownloadError(f"{file} is not the published file (SHA-256 {digest} instead of {expected})")
    if None in info.files.values():
        try:
            info.read(folder)
        except InputError as error:
            raise _DownloadError(str(error).replace(f"{folder}{os.sep}", "")) from None
