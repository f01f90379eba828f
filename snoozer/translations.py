"""The languages of what people read. A sentence in English is its own id; `locale/<language>/LC_MESSAGES/messages.po`
has it in another language, and is compiled when a process first needs it, so that there is no step to build it.

`gettext` and `ngettext` speak the language of this request or mail (`speaking`). Both format always, as templates do:
a per cent sign is written twice.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from typing import Any

from snoozer.resources import resource_folder

# English needs no catalogue.
LANGUAGES = ("en", "de")

_language: ContextVar[str] = ContextVar("snoozer-language", default="en")


def language_of(locale: str) -> str:
    """The language of pages and mails for a locale such as `de_AT`: English if there is no catalogue."""
    language = locale[:2].lower()
    return language if language in LANGUAGES and not locale[2:3].isalpha() else "en"


def current_language() -> str:
    return _language.get()


def speak(language: str) -> None:
    """Chooses the language of this request."""
    _language.set(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """The language of what is written inside."""
    before = _language.set(language)
    try:
        yield
    finally:
        _language.reset(before)


def gettext(message: str, /, **values: object) -> str:
    """The message in the current language, with its values: _("Late by %(span)s", span="2 minutes")."""
    return catalogue(_language.get()).gettext(message) % values


def unformatted(message: str, /) -> str:
    """The message in the current language as it stands in the catalogue: its values are put in elsewhere."""
    return catalogue(_language.get()).gettext(message)


def ngettext(singular: str, plural: str, number: int, /, **values: object) -> str:
    """The form for this number; its value `num` is the number unless another is given."""
    return catalogue(_language.get()).ngettext(singular, plural, number) % {"num": number, **values}


def npgettext(context: str, singular: str, plural: str, number: int, /, **values: object) -> str:
    """`ngettext` where the same English is translated by its place in the sentence, which `context` names."""
    return catalogue(_language.get()).npgettext(context, singular, plural, number) % {"num": number, **values}


def N_(message: str, /) -> str:  # noqa: N802 - the name that gettext's tools know
    """Marks a message of a table for the catalogue; it is translated when it is shown."""
    return message


def use_in_templates(environment: Any) -> None:
    """Adds to a Jinja environment `_`, `ngettext` and `{% trans %}`. Values are escaped, messages are not."""
    environment.policies["ext.i18n.trimmed"] = True
    environment.add_extension("jinja2.ext.i18n")
    environment.install_gettext_callables(
        lambda message: catalogue(_language.get()).gettext(message),
        lambda singular, plural, number: catalogue(_language.get()).ngettext(singular, plural, number),
        newstyle=True,
    )


@cache
def catalogue(language: str) -> NullTranslations:
    """The messages of a language."""
    if language == "en":
        return NullTranslations()
    # Only processes that write in another language pay for it.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    path = resource_folder("locale") / language / "LC_MESSAGES" / "messages.po"
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language, abort_invalid=True))
    compiled.seek(0)
    return GNUTranslations(compiled)
