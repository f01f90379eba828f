"""What ends in one sentence when a run cannot go on."""


class BenchRefused(Exception):
    """The measurement could not be made."""
