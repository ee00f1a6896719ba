"""The dashboard's pages: one small file for each."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.pages import frame, signin, today

PAGES: tuple[APIRouter, ...] = (frame.router, signin.router, today.router)
