// An open list learns of what others change: by a stream of events that the tabs of a browser share, or by asking. The
// page says where its stream is.
(() => {
  "use strict";
  const { _ } = window;
  const POLL = 30000;
  const SILENCE = 40000;
  const AGAIN = 300000;
  const FIRST_RETRY = 2000;
  const LAST_RETRY = 60000;
  const MANY = 5;
  const TOLERANCE = 60000;
  const state = () => document.getElementById("place").dataset;
  const STREAM = state().url ?? "/live";
  const NAME = `snoozer${STREAM.replaceAll("/", "-")}`;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(NAME) : null;
  let missing = null;
  let running = false;
  let failures = 0;
  let retry = 0;

  // A snapshot is begin:end:those,that,ran. Each later one has a higher end, or fewer that ran.
  const parts = (snapshot) => {
    const [begin, end, ran] = snapshot.split(":");
    return { begin: BigInt(begin), end: BigInt(end), ran: ran ? ran.split(",").map(BigInt) : [] };
  };
  const sees = ({ begin, end, ran }, id) => id < begin || (id < end && !ran.includes(id));

  // Whether the list shows these changes already, such as those of its own acts.
  function isShown({ snapshot, transactions }) {
    const { seen } = state();
    if (!seen) return false;
    const shown = parts(seen);
    if (transactions) return transactions.every((id) => sees(shown, BigInt(id)));
    const then = parts(snapshot);
    return shown.end > then.end || (shown.end === then.end && shown.ran.length <= then.ran.length);
  }

  function learn(change) {
    if (isShown(change)) return;
    const ids = missing && (missing.transactions && change.transactions ? [...missing.transactions, ...change.transactions] : null);
    missing = missing ? { ...change, transactions: ids } : change;
    refresh();
  }

  // A list that cannot be fetched stays as it is; it is asked for again later.
  async function refresh() {
    if (running || missing === null || retry) return;
    if (isShown(missing)) return void (missing = null);
    running = true;
    const wanted = missing;
    const fetched = await window.refreshList();
    running = false;
    if (fetched === undefined) return undefined;
    if (fetched) {
      failures = 0;
      if (missing === wanted) missing = null;
      return refresh();
    }
    failures += 1;
    retry = setTimeout(() => { retry = 0; refresh(); }, Math.min(FIRST_RETRY * 2 ** (failures - 1), LAST_RETRY));
  }

  // Fetched anew whatever it shows. Where the person is signed out by now, that leads to the sign-in.
  const fetchAnew = () => learn({ snapshot: `1:${2n ** 62n}:`, transactions: null });

  async function ask() {
    try {
      const answer = await fetch(`${STREAM}/changes?seen=${encodeURIComponent(state().seen)}`, { signal: AbortSignal.timeout(POLL) });
      if (answer.redirected) fetchAnew();
      else if (answer.ok) learn(await answer.json());
    } catch {
      // Asked again at the next turn.
    }
  }

  // How this page learns of changes; for its style, and for tests.
  const listening = (way) => { document.documentElement.dataset.listening = way; };
  const tell = (kind, data) => channel?.postMessage({ kind, data });
  channel?.addEventListener("message", ({ data: { kind, data } }) => {
    if (kind === "change") learn(data);
    if (kind === "end") fetchAnew();
    if (kind === "ask") ask();
  });

  function poll() {
    ask();
    tell("ask");
  }

  // The one tab that has the stream; resolves when it cannot be had.
  function stream() {
    return new Promise((resolve) => {
      let silence = 0;
      const source = new EventSource(`${STREAM}?seen=${encodeURIComponent(state().seen)}`);
      const close = () => {
        clearTimeout(silence);
        source.close();
        resolve();
      };
      const hear = () => {
        clearTimeout(silence);
        silence = setTimeout(close, SILENCE);
      };
      hear();
      source.addEventListener("ready", () => {
        listening("stream");
        hear();
        // Other tabs may have missed something since the last stream ended.
        tell("ask");
      });
      source.addEventListener("beat", hear);
      source.addEventListener("change", (event) => {
        hear();
        const change = { snapshot: event.lastEventId, transactions: JSON.parse(event.data) };
        learn(change);
        tell("change", change);
      });
      source.addEventListener("end", () => {
        close();
        fetchAnew();
        tell("end");
      });
      source.addEventListener("poll", close);
      source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) close(); });
    });
  }

  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  async function lead() {
    for (;;) {
      if (state().live === "stream" && "EventSource" in window) await stream();
      listening("poll");
      const since = Date.now();
      while (Date.now() - since < AGAIN) {
        await pause(POLL);
        poll();
      }
    }
  }

  // Browsers open six connections to a host, so one tab holds the stream for all. Where tabs cannot agree on one, each
  // asks for itself.
  if (channel && navigator.locks) {
    navigator.locks.request(NAME, { ifAvailable: true }, (lock) => (lock ? lead() : undefined)).then(async () => {
      await ask();
      listening("another tab");
      return navigator.locks.request(NAME, lead);
    });
  } else {
    lead();
  }

  // What came back is said once, and counted in the title until the page is seen.
  const returned = () => [...document.querySelectorAll(".list .row[data-back]")].map((row) => `${row.dataset.back} ${row.querySelector(".row-title").href}`);
  const known = new Set(returned());
  // A row that returned before the page was opened is on the list again because a person did something.
  const opened = Date.parse(state().now) - TOLERANCE;
  const isNew = (one) => !known.has(one) && Date.parse(one.split(" ")[0]) > opened;
  let unseen = 0;

  const entitle = () => {
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = unseen > 0 ? `(${unseen}) ${title}` : title;
  };

  document.addEventListener("list:shown", () => {
    const back = returned().filter(isNew);
    for (const one of returned()) known.add(one);
    if (document.hidden) unseen += back.length;
    entitle();
    if (back.length === 0) return;
    // Where nothing else is shown of what came back, there may be more of it.
    const several = back.length >= MANY && back.length === returned().length;
    const count = back.length === 1 ? _("A message came back.") : _("%(num)s messages came back.", { num: back.length });
    window.announce(several ? _("Several messages came back.") : count);
  });
  document.addEventListener("list:idle", refresh);
  document.addEventListener("list:stale", () => {
    clearTimeout(retry);
    retry = failures = 0;
    fetchAnew();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    unseen = 0;
    entitle();
  });
})();
