"""Lines over time as a small picture that needs nothing to be looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, EDGE = 720, 320, 48
COLOURS = ("#3b3f8f", "#9a9a92", "#b5651d", "#3f7d58", "#8f3b5e", "#55554f")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve: points to the right and upwards."""

    name: str
    points: Sequence[tuple[float, float]]


def svg(lines: Sequence[Line], *, what: str, across: str = "s", upwards: str = "reminders") -> str:
    """The lines from the origin on; `what` is read to those who cannot see them, the units stand at the axes."""
    longest = max((x for line in lines for x, _ in line.points), default=0.0) or 1.0
    most = max((y for line in lines for _, y in line.points), default=0.0) or 1.0

    def point(x: float, y: float) -> str:
        right = EDGE + (WIDTH - 2 * EDGE) * x / longest
        down = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * y / most
        return f"{right:.1f},{down:.1f}"

    curves = "".join(
        f'<polyline fill="none" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2" '
        f'points="{" ".join(point(x, y) for x, y in line.points)}"/>'
        for number, line in enumerate(lines)
    )
    words = "".join(
        f'<text x="{EDGE + 8}" y="{EDGE + 16 * number}" fill="{COLOURS[number % len(COLOURS)]}">'
        f"{escape(line.name)}</text>"
        for number, line in enumerate(lines)
    )
    base = HEIGHT - EDGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{escape(what)}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fffefb"/>'
        f'<path d="M{EDGE} {EDGE}V{base}H{WIDTH - EDGE}" fill="none" stroke="#55554f"/>'
        f'<text x="{WIDTH - EDGE}" y="{base + 20}" text-anchor="end" fill="#55554f">'
        f"{longest:.1f} {escape(across)}</text>"
        f'<text x="{EDGE}" y="{EDGE - 10}" fill="#55554f">{most:,.4g} {escape(upwards)}</text>'
        f"{curves}{words}</svg>\n"
    )
