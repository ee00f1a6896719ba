"""The dashboard's pages: one small file for each."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.pages import frame, jobform, jobs, signin, today

PAGES: tuple[APIRouter, ...] = (frame.router, jobform.router, jobs.router, signin.router, today.router)
