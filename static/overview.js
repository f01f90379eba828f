// The overview shows new figures while it is open. Nothing moves while something in it is selected, focused or pressed, or
// while it is paused.
(() => {
  "use strict";
  const HANG = 30000;
  const OLD = 15;
  // Seconds without figures after which the database is asked whether it answers at all, and after which that is said.
  const ASK = 3.5;
  const SILENT = 4.5;
  const ASK_TIMEOUT = 2000;
  // Each request that waits for the database takes a thread of the server, which would answer nothing else.
  const PAUSE = 3000;
  const TICK = 250;
  const place = () => document.getElementById("place");
  const state = document.getElementById("watch-state");
  const button = document.getElementById("watch-pause");
  const news = document.getElementById("watch-news");
  const silence = document.getElementById("silence");
  let pressed = false;
  let leaves = false;
  // When the figures that are shown were fetched, just after they were read.
  let shown = Date.now();
  // When the database answered last.
  let heard = shown;
  let asking = false;
  let pausedUntil = 0;
  // From a silence until newer figures are shown.
  let isOld = false;
  let culprit = "database";

  const isPaused = () => button.getAttribute("aria-pressed") === "true";
  const isSelected = () => {
    const selection = getSelection();
    return !selection.isCollapsed && selection.rangeCount > 0 && selection.getRangeAt(0).intersectsNode(place());
  };
  const isFocused = () => place().contains(document.activeElement);

  // Why nothing is refreshed; empty while it is.
  function held() {
    if (isPaused()) return state.dataset.paused;
    if (pressed || isSelected()) return state.dataset.selected;
    return isFocused() ? state.dataset.focused : "";
  }

  function age(seconds) {
    if (seconds < 60) return `${seconds} s`;
    return seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
  }

  function tell() {
    const seconds = Math.max(Math.round((Date.now() - shown) / 1000), 0);
    const why = held();
    state.classList.toggle("stale", seconds >= OLD);
    const how = why || (seconds >= OLD ? state.dataset.stale : state.dataset.live);
    const text = state.dataset.read.replace("#", how).replace("%", age(seconds));
    if (state.textContent !== text) state.textContent = text;
  }

  const passed = (since) => Math.max((Date.now() - since) / 1000, 0);
  const answers = async (url) => (await fetch(url, { signal: AbortSignal.timeout(ASK_TIMEOUT) })).ok;

  // A page that is paused asks, too. The process alone answers at /healthz.
  async function ask() {
    if (asking || passed(heard) < ASK || Date.now() < pausedUntil) return;
    asking = true;
    const began = Date.now();
    try {
      if (await answers(`/admin/live/changes?seen=${encodeURIComponent(place().dataset.seen)}`)) {
        heard = began;
        // The figures are still old, and the next retry of the page may be a minute away.
        if (!held() && passed(shown) >= SILENT) document.dispatchEvent(new CustomEvent("list:stale"));
      } else culprit = "database";
    } catch {
      culprit = await answers("/healthz").catch(() => false) ? "database" : "web";
    }
    asking = false;
    if (passed(heard) >= ASK) pausedUntil = Date.now() + PAUSE;
    judge();
  }

  // Figures of a silent database are not shown as current ones.
  function judge() {
    const seconds = passed(heard);
    const isSilent = seconds >= SILENT;
    isOld ||= isSilent;
    place().classList.toggle("old", isSilent || (isOld && !held()));
    const sentence = silence.querySelector("h2");
    const text = silence.dataset[culprit].replace("%", age(Math.floor(seconds))).replace("#", place().dataset.readAt);
    // Read out when it becomes another one.
    if (isSilent && sentence.textContent !== text) sentence.textContent = text;
    silence.hidden = !isSilent;
  }

  // A part that is the same stays; one that is open stays open.
  function replaceParts(fresh) {
    const before = place();
    const after = fresh.getElementById("place");
    const kind = (root) => root.querySelector("#verdict")?.dataset.kind;
    const changed = kind(before) !== kind(after);
    const parts = new Map([...before.children].map((part) => [part.id, part]));
    for (const part of [...after.children]) {
      const known = parts.get(part.id);
      parts.delete(part.id);
      if (known && known.isEqualNode(part)) continue;
      for (const open of known?.querySelectorAll("details[open]") ?? []) {
        const same = part.querySelector(`#${CSS.escape(open.id)}`);
        if (same) same.open = true;
      }
      const scrolled = [...(known?.querySelectorAll("[tabindex]") ?? [])].map((one) => [one.scrollTop, one.scrollLeft]);
      if (known) known.replaceWith(part);
      else before.insertBefore(part, document.getElementById("measured"));
      [...part.querySelectorAll("[tabindex]")].forEach((one, number) => { [one.scrollTop, one.scrollLeft] = scrolled[number] ?? [0, 0]; });
    }
    for (const gone of parts.values()) gone.remove();
    before.dataset.seen = after.dataset.seen;
    before.dataset.readAt = after.dataset.readAt;
    document.title = fresh.title;
    // Read out when it becomes another one, and not with each number that changes.
    if (changed) news.textContent = document.getElementById("verdict-first").textContent;
  }

  // Resolves to whether the server gave newer figures, and to nothing while they are not to be shown.
  window.refreshList = async () => {
    if (leaves || held()) return undefined;
    let fresh;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html", "Snoozer-Refresh": "1" }, signal: AbortSignal.timeout(HANG) });
      if (!answer.ok && answer.status !== 403) return false;
      fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return false;
    }
    // The person is signed out, or has another role.
    if (!fresh.getElementById("place")) {
      leaves = true;
      location.reload();
      return undefined;
    }
    if (held()) return undefined;
    replaceParts(fresh);
    heard = shown = Date.now();
    isOld = false;
    tell();
    judge();
    return true;
  };

  const settle = () => setTimeout(() => {
    tell();
    if (!held()) document.dispatchEvent(new CustomEvent("list:idle"));
  });
  button.hidden = false;
  button.addEventListener("click", () => {
    const paused = !isPaused();
    button.setAttribute("aria-pressed", String(paused));
    settle();
  });
  for (const kind of ["focusin", "focusout", "selectionchange"]) document.addEventListener(kind, settle);
  document.addEventListener("pointerdown", (event) => { pressed = place().contains(event.target); });
  for (const kind of ["pointerup", "pointercancel"]) {
    addEventListener(kind, () => { if (pressed) setTimeout(() => { pressed = false; settle(); }); });
  }
  // Browsers slow down the timers of a page that is not seen.
  document.addEventListener("visibilitychange", () => { heard = Math.max(heard, Date.now() - ASK * 1000); });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  setInterval(() => { tell(); ask(); judge(); }, TICK);
  tell();
})();
