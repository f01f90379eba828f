"""How many reminders were out after how many seconds, as a small picture that needs nothing to be looked at."""

from collections.abc import Sequence
from html import escape

from snoozer.bench.run import Outcome

WIDTH, HEIGHT, EDGE = 720, 320, 48
COLOURS = {"snoozer": "#3b3f8f", "floor": "#9a9a92"}


def svg(outcomes: Sequence[Outcome]) -> str:
    """One line for each run: seconds to the right, reminders upwards."""
    longest = max(at for outcome in outcomes for at, _ in outcome.timeline) or 1.0
    most = max(outcome.rows for outcome in outcomes)

    def point(at: float, done: int) -> str:
        x = EDGE + (WIDTH - 2 * EDGE) * at / longest
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * done / most
        return f"{x:.1f},{y:.1f}"

    lines = "".join(
        f'<polyline fill="none" stroke="{COLOURS[outcome.who]}" stroke-width="2" '
        f'points="{" ".join(point(at, done) for at, done in outcome.timeline)}"/>'
        for outcome in outcomes
    )
    words = "".join(
        f'<text x="{EDGE + 8}" y="{EDGE + 16 * row}" fill="{colour}">{escape(who)}</text>'
        for row, (who, colour) in enumerate(COLOURS.items())
    )
    base = HEIGHT - EDGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" '
        f'aria-label="Reminders sent over time">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fffefb"/>'
        f'<path d="M{EDGE} {EDGE}V{base}H{WIDTH - EDGE}" fill="none" stroke="#55554f"/>'
        f'<text x="{WIDTH - EDGE}" y="{base + 20}" text-anchor="end" fill="#55554f">{longest:.1f} s</text>'
        f'<text x="{EDGE}" y="{EDGE - 10}" fill="#55554f">{most:,} reminders</text>'
        f"{lines}{words}</svg>\n"
    )
