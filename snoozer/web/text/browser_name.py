"""The family of a browser and its system in words, as its User-Agent names them."""

import re

# The first that matches: most browsers also name those whose pages they imitate.
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


def _first(families: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for name, pattern in families if re.search(pattern, user_agent[:500])), None)
