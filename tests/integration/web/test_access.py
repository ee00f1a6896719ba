"""Coming in by a link in a real browser, tokens at the page, and going."""

from __future__ import annotations

from typing import Any

from tests.support.web import Served, accessible, visit

FAST = {"timeout": 30_000}  # on a machine where much else is tried at once


def test_links_tokens_and_sessions_in_a_browser(chrome: Any, web: Served) -> None:
    link = web.link()
    page = visit(chrome, web, bypass_csp=True)
    page.goto(link)
    page.wait_for_url(f"{web.address}/")
    other = chrome.new_context().new_page()
    other.goto(link)
    other.get_by_text("not good any more").wait_for(**FAST)
    assert "#" not in other.url, "the key is no longer in the address"
    assert other.get_by_text("horae open", exact=True).is_visible()
    other.goto(f"{web.address}/jobs?state=active")
    assert other.url == f"{web.address}/sign-in?next=/jobs%3Fstate%3Dactive"

    page.goto(f"{web.address}/access")
    page.get_by_label("Name").fill("ci")
    page.get_by_role("button", name="Make the token").click()
    page.locator("#made-secret:not(:empty)").wait_for(**FAST)
    secret = page.locator("#made-secret").inner_text()
    assert web.client(secret).get("/api/v1/jobs").status_code == 200
    page.locator("#tokens-title ~ *, #access-lists").get_by_text("ci", exact=True).first.wait_for(**FAST)
    accessible(page)
    page.reload()
    assert secret not in page.content(), "it is shown once"
    page.get_by_role("button", name="Revoke ci").click()
    page.locator("#ask-yes").click()
    page.get_by_text("No program has a token.").wait_for(**FAST)
    assert web.client(secret).get("/api/v1/jobs").status_code == 401
    page.get_by_label("Name").fill("no name!")
    page.get_by_role("button", name="Make the token").click()
    page.locator("#make-token .trouble").wait_for(**FAST)
    said = [one for one in page.troubles if "422" not in one and "403" not in one]
    assert not said, said
    page.goto(f"{web.address}/")
    page.locator("#who summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{web.address}/sign-in")
    page.goto(f"{web.address}/jobs")
    assert page.url == f"{web.address}/sign-in?next=/jobs"
    page.context.close()
    other.context.close()
