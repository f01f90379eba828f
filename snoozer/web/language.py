"""The language of a page: the account's, else the one chosen in this browser, else the browser's preference."""

from flask import Flask, Response, g, request

from snoozer import translations
from snoozer.web import auth, context

LOCALES = {
    "en_GB": "English (United Kingdom) · 27 November, 14:00",
    "en_US": "English (United States) · November 27, 2:00 pm",
    "en_AU": "English (Australia) · 27 November, 2:00 pm",
    "en_IN": "English (India) · 27 November, 2:00 pm",
    "de_DE": "Deutsch · 27. November, 14:00",
}
# The languages offered to people who are not signed in.
SHORT_NAMES = {"en_GB": "English (UK)", "en_US": "English (US)", "de_DE": "Deutsch"}
DEFAULT = "en_GB"
# Regions that write dates and hours in the same way as another region.
_WRITTEN_AS = {"en_CA": "en_US", "en_PH": "en_US"}
COOKIE = "locale"


def init_app(app: Flask) -> None:
    app.before_request(use_requested)
    app.after_request(_vary)
    app.teardown_request(_end)


def requested() -> str | None:
    """Returns the locale chosen in this browser, else its first supported preference; None for neither."""
    chosen = auth.get_cookie(COOKIE)
    return chosen if chosen in LOCALES else negotiated(list(request.accept_languages.values()))


def negotiated(tags: list[str]) -> str | None:
    """Returns the locale of the first supported language tag, in the order of preference. A region without a locale
    gets its language's usual locale."""
    for tag in tags:
        language, _, region = tag.replace("_", "-").partition("-")
        locale = f"{language.lower()}_{region.upper()}"
        locale = _WRITTEN_AS.get(locale, locale)
        if locale in LOCALES:
            return locale
        usual = {"en": DEFAULT, "de": "de_DE"}.get(language.lower())
        if usual is not None:
            return usual
    return None


def use_requested() -> None:
    """Writes in the language of this browser, as for a person who is not signed in."""
    context.use_locale(requested() or DEFAULT)


def _vary(response: Response) -> Response:
    if request.endpoint != "static" and g.get("account") is None:
        response.vary.add("Accept-Language")
    return response


def _end(error: BaseException | None) -> None:
    translations.speak("en")
