"""The messages of the pages' scripts, for the catalogue. A script contains them in English as `_("…")`, and a page in
another language passes it the translations."""

from snoozer.translations import N_, current_language, unformatted

MESSAGES = (
    # Lists and the page of a snooze.
    N_("A message came back."),
    N_("%(num)s messages came back."),
    N_("Several messages came back."),
    N_("Not saved."),
    N_("Not saved: %(subject)s."),
    N_("Not undone."),
    N_("It is back in the list."),
    N_("They are back in the list."),
    N_("It is saved, but the list cannot be shown."),
    N_("Choose its time again."),
    N_("The server cannot be reached."),
    N_("The server refused it"),
    N_("What was done last cannot be undone."),
    N_("There is nothing to undo."),
    N_("Nothing was done: choose a message first, with j or k."),
    N_("Nothing was done: there is no message here."),
    N_("That cannot be done with this message."),
    N_("Messages are selected in their list."),
    N_("This is the last message of its list."),
    N_("This is the first message of its list."),
    N_("It was not opened from a list, so there is no next one."),
    N_("Close"),
    # The sheet.
    N_("Say it as you would to a person, or take one of these."),
    N_("is not offered now: its time has passed, or another one means the same. Nothing is saved."),
    N_("Saved in a moment. Type on for another time."),
    # The command bar.
    N_("Undo"),
    N_("what was done last"),
    N_("Search"),
    N_("in this list"),
    N_("Go to %(page)s"),
    N_("Snooze: %(when)s"),
    N_("Show all keys"),
    N_("Select all"),
    N_("Add a reminder: %(when)s"),
    # Adding files.
    N_("%(name)s has %(size)s MB, and Snoozer keeps at most %(most)s MB. Nothing was sent."),
    N_("Together these have more than %(most)s MB. Add them in smaller groups. Nothing was sent."),
)


def script_messages() -> dict[str, str]:
    """Returns the messages in the language of this page; none in English."""
    return {} if current_language() == "en" else {message: unformatted(message) for message in MESSAGES}
