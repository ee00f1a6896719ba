"""A folder of job files and scripts that somebody hands in, to be compared and taken over. It is read, never written."""

from __future__ import annotations

import os

from horae.errors import NotFound, Refused
from horae.ports import Source
from horae.store.jobfolder import JobFolder
from horae.store.scriptfolder import ScriptFolder


def handed(own: str | None, path: str) -> Source:
    """What the folder holds: job files in itself, or in its `jobs/` with scripts beside it, as a home has them.

    `own` is the home whose files are taken in by themselves; None where there is none, since a database holds them.
    """
    if not os.path.isdir(path):
        raise NotFound(f"there is no folder {path}", "name a folder with job files", file=path)
    jobs, scripts = os.path.join(path, "jobs"), os.path.join(path, "scripts")
    whole = os.path.isdir(jobs)
    root = jobs if whole else path
    if own is not None and os.path.realpath(root) == os.path.realpath(os.path.join(own, "jobs")):
        raise Refused(
            f"{path} is this home's own folder", "its files are taken in as they are saved: there is nothing to do"
        )
    folder = JobFolder(root)
    scripted = ScriptFolder(scripts) if whole and os.path.isdir(scripts) else None
    return Source(folder, "jobs/" if whole else "", scripted, folder.misnamed())
