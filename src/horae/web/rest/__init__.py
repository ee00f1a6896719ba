"""REST, under `/api/v1`: one small file for each kind of thing."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.rest import events, house

ROUTES: tuple[APIRouter, ...] = (house.router, events.router)
