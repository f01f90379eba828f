// Acts of a list are saved behind it: the row leaves at once, the server's list takes its place, and what was not saved
// comes back with the reason.
(() => {
  "use strict";
  const HANG = 30000;
  const dialog = document.getElementById("sheet");
  const titles = () => [...document.querySelectorAll(".list .row:not([hidden]) .row-title")];
  let saves = Promise.resolve();
  let waiting = 0;
  let fresh = null;
  let returned = false;
  let unanswered = null;
  let leaves = false;

  const focusOn = (title) => (title || document.getElementById("main")).focus({ preventScroll: !title });

  function hide(row) {
    const all = titles();
    const at = all.indexOf(row.querySelector(".row-title"));
    row.hidden = true;
    focusOn(all[at + 1] || all[at - 1]);
  }

  // Nothing moves under an open sheet or a later act.
  function replaceList() {
    if (fresh === null || waiting > 0 || dialog?.open) return;
    const before = titles();
    const known = new Set(before.map((title) => title.href));
    const at = before.indexOf(document.activeElement);
    const top = scrollY;
    document.getElementById("place").replaceWith(fresh.getElementById("place"));
    document.title = fresh.title;
    const now = titles();
    const back = returned ? now.find((title) => !known.has(title.href)) : undefined;
    if (back || at >= 0) focusOn(back || now.find((title) => title.href === before[at].href) || now[Math.min(at, now.length - 1)]);
    if (!back) scrollTo(scrollX, top);
    fresh = null;
    returned = false;
  }

  function fail(act, why) {
    if (act.row) act.row.hidden = false;
    act.row?.removeAttribute("aria-busy");
    if (act.toast) document.querySelector(".toasts").append(act.toast);
    const kept = act.leaves ? " It is back in the list." : "";
    window.announce(`${act.name ? `Not saved: ${act.name}.` : "Not undone."} ${why}${kept}`);
  }

  // A time that is to be confirmed or corrected is a page of its own, opened when all else is saved.
  function openAnswer(act) {
    leaves = true;
    const form = document.createElement("form");
    form.method = "post";
    form.action = act.url;
    for (const [name, value] of act.body) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value });
      form.append(field);
    }
    document.body.append(form);
    form.submit();
  }

  async function save(act) {
    let answer, text;
    try {
      answer = await fetch(act.url, { method: "POST", body: act.body, headers: { Accept: "text/html" }, signal: AbortSignal.timeout(HANG) });
      text = await answer.text();
    } catch {
      return fail(act, "The server cannot be reached.");
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    if (!answer.redirected && (answer.ok || answer.status === 422)) {
      if (unanswered) return fail(act, "Choose its time again.");
      unanswered = act;
      return;
    }
    if (!answer.ok) return fail(act, `${page.querySelector("main h1")?.textContent.trim() || "The server refused it"}.`);
    if (!page.getElementById("place")) {
      leaves = true;
      return location.reload();
    }
    if (act.leaves) act.row.remove();
    for (const toast of page.querySelectorAll(".toast")) window.announce(toast);
    fresh = page;
    returned ||= act.toast !== null;
  }

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    const inSheet = form.parentElement === dialog;
    if (form.id !== "acts" && !inSheet && !form.matches("[data-undo]")) return;
    event.preventDefault();
    const fields = new FormData(form);
    if (submitter?.name) fields.append(submitter.name, submitter.value);
    const url = submitter?.hasAttribute("formaction") ? submitter.formAction : form.action;
    const row = inSheet ? document.querySelector(`[data-sheet-url="${CSS.escape(form.getAttribute("action"))}"]`) : submitter?.closest("[data-row]");
    const act = {
      url,
      body: new URLSearchParams(fields),
      row,
      leaves: Boolean(row && (!inSheet || row.closest("[data-snooze-leaves]"))),
      name: row?.querySelector(".row-title").textContent,
      toast: form.closest(".toast"),
    };
    if (inSheet) dialog.close();
    if (act.leaves) hide(row);
    else row?.setAttribute("aria-busy", "true");
    act.toast?.remove();
    waiting += 1;
    saves = saves.then(() => save(act)).finally(() => {
      waiting -= 1;
      if (waiting === 0 && unanswered) openAnswer(unanswered);
      else replaceList();
    });
  }, true);

  dialog?.addEventListener("close", () => setTimeout(replaceList));
  addEventListener("beforeunload", (event) => { if (waiting > 0 && !leaves) event.preventDefault(); });

  // The newest Undo is that of an act which may still be on its way.
  window.undoLast = () => saves.then(() => [...document.querySelectorAll("form[data-undo]")].at(-1)?.requestSubmit());
})();
