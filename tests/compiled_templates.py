"""Templates that are compiled once a process, where each app of a test would compile its own."""

from types import CodeType

from jinja2.bccache import Bucket, BytecodeCache


class CompiledTemplates(BytecodeCache):
    """Code by a template's name, file and content."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """A changed template is not found."""
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Kept as it is: nothing is written."""
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code
