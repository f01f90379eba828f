class BenchRefused(Exception):
    """The measurement could not be made."""
