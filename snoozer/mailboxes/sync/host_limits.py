"""Limits for one server and one person at a time: a slow or refusing server leaves threads to others, and is not
flooded with sign-ins."""

from collections import Counter
from dataclasses import dataclass, field

# Threads of one process.
TURNS_OF_A_HOST = 16
TURNS_OF_AN_ACCOUNT = 2
# Concurrent sign-ins at one host: one more after a full round of quick successes, half after a refusal. Providers slow
# down or lock out clients that open many connections at once.
FIRST_SIGN_INS, MOST_SIGN_INS = 5, 10
QUICK_SECONDS = 3.0


@dataclass
class HostLimits:
    """The current turns and sign-ins at each host."""

    _turns: Counter[str] = field(default_factory=Counter)
    _of_accounts: Counter[int] = field(default_factory=Counter)
    _signing_in: Counter[str] = field(default_factory=Counter)
    _sign_ins: dict[str, float] = field(default_factory=dict)

    def has_room(self, host: str, *, signs_in: bool) -> bool:
        """Whether one more may begin at this host."""
        if self._turns[host] >= TURNS_OF_A_HOST:
            return False
        return not signs_in or self._signing_in[host] < self.sign_ins(host)

    def has_room_for(self, account_id: int) -> bool:
        return self._of_accounts[account_id] < TURNS_OF_AN_ACCOUNT

    def sign_ins(self, host: str) -> int:
        """The number of concurrent sign-ins allowed at this host."""
        return int(self._sign_ins.get(host, FIRST_SIGN_INS))

    def begin(self, host: str, account_id: int, *, signs_in: bool) -> None:
        self._turns[host] += 1
        self._of_accounts[account_id] += 1
        self._signing_in[host] += signs_in

    def end(self, host: str, account_id: int, *, signs_in: bool) -> None:
        self._turns[host] -= 1
        self._of_accounts[account_id] -= 1
        self._signing_in[host] -= signs_in
        # Keep only values above zero: hosts come and go.
        self._turns, self._of_accounts, self._signing_in = +self._turns, +self._of_accounts, +self._signing_in

    def signed_in(self, host: str, *, seconds: float) -> None:
        """A sign-in succeeded, in this many seconds."""
        if seconds <= QUICK_SECONDS:
            most = self._sign_ins.get(host, float(FIRST_SIGN_INS))
            self._sign_ins[host] = min(most + 1 / most, float(MOST_SIGN_INS))

    def refused(self, host: str) -> None:
        """The host refused a sign-in because of too many."""
        self._sign_ins[host] = max(self._sign_ins.get(host, float(FIRST_SIGN_INS)) / 2, 1.0)
