"""The family of a browser and its system in words, from its User-Agent."""

import re

from snoozer.translations import gettext as _

# The first match counts: most browsers also name the browsers whose pages they imitate.
_BROWSERS = (
    ("Edge", "Edg(e|A|iOS)?/"),
    ("Opera", "OPR/|Opera"),
    ("Samsung Internet", "SamsungBrowser/"),
    ("Vivaldi", "Vivaldi/"),
    ("Firefox", "Firefox/|FxiOS/"),
    ("Chrome", "Chrome/|CriOS/|Chromium/"),
    ("Safari", "Safari/"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("macOS", "Macintosh|Mac OS X"),
    ("ChromeOS", "CrOS"),
    ("Linux", "Linux|X11"),
)


def browser_name(user_agent: str) -> str | None:
    """Returns for example "Firefox on Linux"; None when the text names neither a known browser nor a system."""
    browser, system = _first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)
    if browser is None:
        return None if system is None else f"A browser on {system}"
    return browser if system is None else f"{browser} on {system}"


def browser_in_words(name: str | None) -> str | None:
    """Returns a name that `browser_name` gave, in the language of this page."""
    browser, on, system = (name or "").partition(" on ")
    if not on:
        return name
    if browser == "A browser":
        return _("A browser on %(system)s", system=system)
    return _("%(browser)s on %(system)s", browser=browser, system=system)


def _first(families: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for name, pattern in families if re.search(pattern, user_agent[:500])), None)
