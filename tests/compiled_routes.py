"""Routes that are compiled once a process, where each app of a test would compile its own: 0.1 s for two hundred."""

from typing import Any

from werkzeug.routing import Rule


class CompiledRule(Rule):
    """A rule of a URL map; what compiling it leaves is kept, for the equal rule of the next app."""

    _compiled: dict[tuple[object, ...], dict[str, Any]] = {}  # noqa: RUF012 - of all rules

    def compile(self) -> None:
        assert self.map is not None
        place = (self.host if self.map.host_matching else self.subdomain) or ""
        options = (self.merge_slashes, repr(self.defaults), *self.map.converters.values())
        left = self._compiled.get((self.rule, place, *options))
        if left is None:
            before = dict(vars(self))
            super().compile()
            left = {name: value for name, value in vars(self).items() if before.get(name, self) is not value}
            self._compiled[self.rule, place, *options] = left | {"arguments": self.arguments}
        else:
            vars(self).update(left)
