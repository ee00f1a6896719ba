"""REST, under `/api/v1`: one small file for each kind of thing."""

from __future__ import annotations

from fastapi import APIRouter

from horae.web.rest import house

ROUTES: tuple[APIRouter, ...] = (house.router,)
