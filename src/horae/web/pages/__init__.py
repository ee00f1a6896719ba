"""The dashboard's pages: one small file for each."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.pages import access, frame, jobform, jobs, signin, today

PAGES: tuple[APIRouter, ...] = (access.router, frame.router, jobform.router, jobs.router, signin.router, today.router)
