"""The messages of the pages' scripts. A script contains them in English as `_("…")`, and a page in another language
passes it the translations."""

from functools import cache

from snoozer.resources import resource_folder
from snoozer.translations import current_language, unformatted

_METHOD, _OPTIONS = ("**.js", "javascript"), {"**.js": {"parse_template_string": "true"}}


def script_messages() -> dict[str, str]:
    """Returns the messages in the language of this page; none in English."""
    return {} if current_language() == "en" else {message: unformatted(message) for message in _messages()}


@cache
def _messages() -> list[str]:
    # Only processes that write in another language pay for it: 60 ms.
    from babel.messages.extract import extract_from_dir

    found = extract_from_dir(resource_folder("static"), [_METHOD], _OPTIONS, keywords={"_": None})
    return sorted({str(message) for _, _, message, _, _ in found})
