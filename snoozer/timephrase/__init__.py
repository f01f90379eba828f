"""Time phrases: one grammar for the form, the API, the command line, addresses and replies.

`parse.parse` takes a phrase, the present moment, a zone, a locale and working hours, and returns a ParsedTime or raises
ParseError; it never guesses. `presets.presets` are phrases of the same grammar. `recurrence.next_reminder_after` is for
recurrences. This imports none of them: who only reads a clock needs no grammar.
"""
