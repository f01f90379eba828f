// The page of a snooze: what is edited where it stands, and its acts, are saved behind the page, which the server renders
// anew.
(() => {
  "use strict";
  const { _ } = window;
  const HANG = 30000;
  const pending = new Set();
  let saves = Promise.resolve();

  const place = () => document.getElementById("snooze");
  const heading = (page) => page.querySelector("main h1")?.textContent.trim() || _("The server refused it");

  function live() {
    for (const button of place().querySelectorAll("[data-leave]")) button.hidden = false;
  }

  function replace(page, edited, pressed) {
    const fresh = page.getElementById("snooze");
    const open = new Set([...place().querySelectorAll("details[id][open]:not(.in-place)")].map((one) => one.id));
    place().replaceWith(fresh);
    document.title = page.title;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const form of fresh.querySelectorAll("form[data-sheet]")) window.liveSheet(form);
    live();
    const invalid = fresh.querySelector("details[open] [aria-invalid=true], details[open].in-place [autofocus]");
    const summary = edited && document.getElementById(edited)?.querySelector("summary");
    const button = pressed && fresh.querySelector(`button[data-act=${pressed}]`);
    (invalid || summary || button || fresh.querySelector("summary")).focus();
  }

  async function save(act) {
    let answer, page;
    const slow = setTimeout(() => place().setAttribute("aria-busy", "true"), 300);
    try {
      answer = await fetch(act.url, { method: "POST", body: act.body, headers: { Accept: "text/html" }, signal: AbortSignal.timeout(HANG) });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return window.announce(`${_("Not saved.")} ${_("The server cannot be reached.")}`);
    } finally {
      clearTimeout(slow);
      place().removeAttribute("aria-busy");
    }
    if (!page.getElementById("snooze")) {
      if (answer.ok) return location.assign(answer.url);
      return window.announce(`${_("Not saved.")} ${heading(page)}.`);
    }
    if (answer.redirected && new URL(answer.url).pathname !== location.pathname) history.pushState(null, "", answer.url);
    act.toast?.remove();
    for (const form of document.querySelectorAll("form[data-undo]")) form.closest(".toast").remove();
    replace(page, act.edited, act.pressed);
    for (const toast of page.querySelectorAll(".toast")) window.announce(toast);
  }

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (!form.closest("#snooze") && !form.matches("[data-undo]")) return;
    event.preventDefault();
    // A second press of what is on its way.
    if (pending.has(form)) return;
    pending.add(form);
    const fields = new FormData(form);
    if (submitter?.name) fields.append(submitter.name, submitter.value);
    const act = {
      url: form.action,
      body: new URLSearchParams(fields),
      edited: form.closest("details.in-place")?.id,
      pressed: submitter?.dataset.act,
      toast: form.closest(".toast"),
    };
    saves = saves.then(() => save(act)).finally(() => pending.delete(form));
  }, true);

  addEventListener("beforeunload", (event) => { if (pending.size > 0) event.preventDefault(); });
  addEventListener("popstate", () => location.reload());

  window.openSheet = () => window.editInPlace(document.getElementById("time"));
  const undoNewest = window.undoLast;
  window.undoLast = () => saves.then(undoNewest);
  if (location.hash === "#time") window.openSheet();
  live();
})();
