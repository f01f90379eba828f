// Acts of a list are saved behind it: the row leaves at once, the server's list takes its place, and what was not saved
// comes back with the reason.
(() => {
  "use strict";
  const { _ } = window;
  const HANG = 30000;
  const dialog = document.getElementById("sheet");
  const titles = () => [...document.querySelectorAll(".list .row:not([hidden]) .row-title")];
  let saves = Promise.resolve();
  let waiting = 0;
  let fresh = null;
  let undone = null;
  let unanswered = null;
  let leaves = false;
  let begun = 0;
  let pressed = false;

  const focusOn = (title) => (title || document.getElementById("main")).focus({ preventScroll: !title });

  // The focus, and what is shown beside the list, goes to the next row that stays, or the one before; where its row stays,
  // so does the focus.
  function hide(rows) {
    const all = titles();
    const here = document.activeElement.closest(".list .row");
    const beside = window.pane?.row();
    for (const row of rows) row.hidden = true;
    const stays = (title) => title.closest(".row:not([hidden])");
    const nextOf = (row) => {
      const at = all.indexOf(row.querySelector(".row-title"));
      return all.slice(at).find(stays) || all.slice(0, at).findLast(stays);
    };
    if (beside?.hidden) window.pane.follow(nextOf(beside));
    if (window.pane?.hasFocus() || (here && !here.hidden)) return;
    focusOn(nextOf(here ?? rows.at(-1)));
  }

  const isBusy = () => waiting > 0 || document.querySelector("dialog[open]") !== null;

  // Nothing moves under a dialog, a later act, a search that is being typed, a finger, or while rows are selected.
  const isHeld = () => pressed || document.activeElement.matches("#place .search input") || document.querySelector(".list input[type=checkbox]:checked") !== null;

  function settle() {
    if (isBusy() || leaves) return;
    if (unanswered) return openAnswer(unanswered);
    if (isHeld()) return;
    if (fresh !== null) replaceList();
    document.dispatchEvent(new CustomEvent("list:idle"));
  }

  // The row by which the page keeps its place: the one with the focus, or the first that can be seen. At the top of the
  // page there is none: what comes on top is to be seen.
  function anchor() {
    if (scrollY === 0) return null;
    const row = document.activeElement.closest(".list .row") ?? [...document.querySelectorAll(".list .row:not([hidden])")].find((one) => one.getBoundingClientRect().top >= 0);
    const title = row?.querySelector(".row-title");
    return title ? { href: title.href, top: title.getBoundingClientRect().top } : null;
  }

  // What every page says about trouble, unless the focus is in it.
  function replaceBanners() {
    const [before, after] = [document, fresh].map((page) => [...page.querySelectorAll("main > .banner")]);
    const isSame = before.map((one) => one.textContent).join() === after.map((one) => one.textContent).join();
    if (isSame || before.some((one) => one.contains(document.activeElement))) return;
    for (const one of before) one.remove();
    document.getElementById("main").prepend(...after);
  }

  function replaceList() {
    const before = titles();
    const known = new Set(before.map((title) => title.href));
    const at = before.indexOf(document.activeElement.closest(".list .row")?.querySelector(".row-title"));
    const isLost = document.activeElement === document.body;
    const top = scrollY;
    const place = anchor();
    const picked = window.selection?.values();
    replaceBanners();
    document.getElementById("place").replaceWith(fresh.getElementById("place"));
    window.selection?.restore(picked);
    document.title = fresh.title;
    const now = titles();
    const named = (href) => now.find((title) => title.href === href);
    const back = undone === null ? undefined : named(undone) || now.find((title) => !known.has(title.href));
    if (back) window.pane?.follow(back);
    const isAway = window.pane?.hasFocus();
    if ((back || at >= 0) && !isAway) focusOn(back || named(before[at].href) || now[Math.min(at, now.length - 1)]);
    else if (isLost && undone !== null && !isAway) focusOn(null);
    if (!back) {
      scrollTo(scrollX, top);
      const kept = place && named(place.href);
      if (kept) scrollBy(0, kept.getBoundingClientRect().top - place.top);
    }
    fresh = null;
    undone = null;
    dropUntrue(named);
    document.dispatchEvent(new CustomEvent("list:shown"));
  }

  // A toast is about a row as it was then: it goes when anybody changes the row.
  function dropUntrue(named) {
    for (const toast of document.querySelectorAll(".toast")) {
      if (!toast.rowHref) continue;
      const title = named(toast.rowHref);
      const state = title ? title.closest(".row").querySelector(".row-when time")?.dateTime ?? "" : null;
      if (toast.rowState === undefined) toast.rowState = state;
      else if (toast.rowState !== state) toast.remove();
    }
  }

  // What was done before is no longer what was done last.
  function ageUndo() {
    for (const form of document.querySelectorAll("form[data-undo]")) form.dataset.undo = "older";
  }

  function fail(act, why) {
    for (const row of act.rows) {
      row.removeAttribute("aria-busy");
      row.hidden = false;
    }
    if (act.sheet) {
      act.sheet.dataset.note = act.body.get("note") ?? act.sheet.dataset.note ?? "";
      act.sheet.dataset.phrase = act.body.get("phrase") ?? "";
    }
    if (act.picked) window.selection.restore(act.picked);
    if (act.toast) document.querySelector(".toasts").append(act.toast);
    else ageUndo();
    const what = act.toast ? _("Not undone.") : _("Not saved: %(subject)s.", { subject: act.name });
    const kept = act.rows.length === 1 ? _("It is back in the list.") : _("They are back in the list.");
    window.announce([what, why, ...(act.leaves ? [kept] : [])].join(" "), { joins: true });
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

  const asked = (url, options) => fetch(url, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(HANG), ...options });
  const parsed = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");
  const heading = (page) => page.querySelector("main h1")?.textContent.trim() || _("The server refused it");

  // What was saved leads elsewhere; the list is asked for by itself, so that its failure is not taken for the act's.
  async function save(act) {
    let answer, page;
    try {
      answer = await asked(act.url, { method: "POST", body: act.body, redirect: "manual" });
      if (answer.type !== "opaqueredirect") page = await parsed(answer);
    } catch {
      return fail(act, _("The server cannot be reached."));
    }
    if (page && (answer.ok || [409, 422].includes(answer.status))) {
      if (unanswered) return fail(act, _("Choose its time again."));
      unanswered = act;
      return;
    }
    if (page) return fail(act, `${heading(page)}.`);
    await showSaved(act);
  }

  async function showSaved(act) {
    let answer, page;
    try {
      answer = await asked(location.href);
      page = await parsed(answer);
    } catch {
      answer = null;
    }
    if (answer?.ok && !page.getElementById("place")) {
      leaves = true;
      return location.reload();
    }
    for (const row of act.rows) {
      if (act.leaves) row.remove();
      row.removeAttribute("aria-busy");
    }
    const toasts = [...(page?.querySelectorAll(".toast") ?? [])];
    if (!act.toast && !toasts.some((toast) => toast.querySelector("form[data-undo]"))) ageUndo();
    for (const toast of toasts) {
      toast.rowHref = act.href;
      window.announce(toast);
    }
    // What was fetched before does not show this act.
    fresh = null;
    if (!answer?.ok) {
      document.dispatchEvent(new CustomEvent("list:stale"));
      return window.announce(`${_("It is saved, but the list cannot be shown.")} ${page ? `${heading(page)}.` : _("The server cannot be reached.")}`);
    }
    fresh = page;
    if (act.toast) undone = act.toast.rowHref ?? "";
    document.dispatchEvent(new CustomEvent("list:saved", { detail: act.href ?? act.toast?.rowHref }));
  }

  // Fetches the list because something in it changed, and shows it. Resolves to whether the server gave it, and to nothing
  // where something is in its way: then "list:idle" is dispatched once nothing is any more.
  window.refreshList = async () => {
    if (isBusy() || isHeld() || leaves) return undefined;
    const earlier = begun;
    let page;
    try {
      const answer = await asked(location.href, { headers: { Accept: "text/html", "Snoozer-Refresh": "1" } });
      if (!answer.ok) return false;
      page = await parsed(answer);
    } catch {
      return false;
    }
    // An act that was begun meanwhile brings a later one.
    if (begun !== earlier || leaves) return undefined;
    if (!page.getElementById("place")) {
      leaves = true;
      location.reload();
      return undefined;
    }
    fresh = page;
    settle();
    return true;
  };

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    const inSheet = form.parentElement === dialog;
    const beside = form.method === "post" && form.closest("#pane") !== null;
    // A preview of what many rows would get is a page.
    if (form.matches("[data-page]")) return;
    if (!["acts", "bulk"].includes(form.id) && !inSheet && !form.matches("[data-undo]") && !beside) return;
    event.preventDefault();
    // The sheet stays open and says so.
    if (inSheet && !navigator.onLine) return;
    if (leaves || form.ariaBusy) return;
    const fields = new FormData(form);
    if (submitter?.name) fields.append(submitter.name, submitter.value);
    const url = submitter?.hasAttribute("formaction") ? submitter.formAction : form.action;
    if (beside && window.pane.press(url)) return;
    const row = beside ? null : inSheet ? document.querySelector(`[data-sheet-url="${CSS.escape(form.getAttribute("action"))}"]`) : submitter?.closest("[data-row]");
    const many = form.id === "bulk" ? form : row?.id === "bulk" ? row : null;
    if (many && inSheet) window.selection.choose(fields);
    const rows = many ? window.selection.rows() : row ? [row] : [];
    const one = many ? null : row?.querySelector(".row-title");
    const departs = many && !inSheet ? submitter.matches("[data-leaves]") : !inSheet || rows[0]?.closest("[data-snooze-leaves]");
    const act = {
      url,
      body: new URLSearchParams(fields),
      rows,
      sheet: row,
      leaves: Boolean(rows.length && departs),
      name: many ? window.selection.name() : one ? one.textContent : window.pane?.subject(),
      href: beside ? window.pane.href() : one?.href,
      picked: many ? window.selection.values() : null,
      toast: form.closest(".toast"),
    };
    if (inSheet) dialog.close();
    if (many) window.selection.clear();
    if (act.leaves) hide(rows);
    else for (const each of rows) each.setAttribute("aria-busy", "true");
    act.toast?.remove();
    if (beside) form.ariaBusy = "true";
    if (submitter?.matches("[data-mark-unread]")) window.pane.follow(null);
    waiting += 1;
    begun += 1;
    saves = saves.then(() => save(act)).finally(() => {
      waiting -= 1;
      form.ariaBusy = null;
      settle();
    });
  }, true);

  // A dialog's close does not bubble.
  document.addEventListener("close", () => setTimeout(settle), true);
  document.addEventListener("focusout", () => setTimeout(settle));
  document.addEventListener("list:selected", () => setTimeout(settle));
  document.addEventListener("change", (event) => { if (event.target.matches(".list input[type=checkbox]")) setTimeout(settle); });
  document.addEventListener("pointerdown", (event) => { pressed = event.target.closest(".list .row") !== null; });
  for (const kind of ["pointerup", "pointercancel"]) {
    addEventListener(kind, () => { if (pressed) setTimeout(() => { pressed = false; settle(); }); });
  }
  // A link is followed once what was done is saved. On the window, so after the page's own listeners.
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || waiting === 0 || leaves || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || link.target || link.hasAttribute("download")) return;
    event.preventDefault();
    saves.then(() => location.assign(link.href));
  });
  addEventListener("beforeunload", (event) => { if (waiting > 0 && !leaves) event.preventDefault(); });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // The newest Undo is that of an act which may still be on its way.
  const undoNewest = window.undoLast;
  window.undoLast = () => saves.then(() => {
    const form = [...document.querySelectorAll("form[data-undo]")].at(-1);
    if (form?.dataset.undo === "older") window.announce(_("What was done last cannot be undone."));
    else undoNewest();
  });
})();
