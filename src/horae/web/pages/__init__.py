"""The dashboard's pages: one small file for each."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.pages import access, calendar, frame, health, jobform, jobs, journal, runs, signin, today, trends

PAGES: tuple[APIRouter, ...] = (
    access.router,
    calendar.router,
    frame.router,
    health.router,
    jobform.router,
    jobs.router,
    journal.router,
    runs.router,
    signin.router,
    today.router,
    trends.router,
)
