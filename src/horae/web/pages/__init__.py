"""The dashboard's pages: one small file for each."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.pages import access, frame, health, jobform, jobs, journal, runs, signin, today

PAGES: tuple[APIRouter, ...] = (
    access.router,
    frame.router,
    health.router,
    jobform.router,
    jobs.router,
    journal.router,
    runs.router,
    signin.router,
    today.router,
)
