// Keyboard shortcuts, the same on lists, beside them and on the page of what was opened from one; "?" lists them.
(() => {
  "use strict";
  const { _ } = window;
  const SEQUENCE = 1500;
  document.documentElement.classList.add("has-keys");
  const list = document.getElementById("all-keys");
  list.querySelector("[data-close]").addEventListener("click", () => list.close());

  const rows = () => [...document.querySelectorAll(".list .row:not([hidden])")];
  const title = (row) => row?.querySelector(".row-title");
  // What was opened from a list as a page of its own: a message, its snooze, the form of its time.
  const opened = () => document.querySelector("main > .message-acts, main > [data-snooze], main > a.back ~ form[data-sheet]");
  const toNext = (step) => {
    const beside = document.querySelector(`main > nav a[rel=${step > 0 ? "next" : "prev"}]`);
    const href = window.listOrder?.step(step) ?? beside?.getAttribute("href");
    if (href) return location.assign(href);
    const end = step > 0 ? _("This is the last message of its list.") : _("This is the first message of its list.");
    return window.announce(window.listOrder || document.querySelector("main > nav[data-beside]") ? end : _("It was not opened from a list, so there is no next one."));
  };
  const move = (step) => {
    if (opened()) return toNext(step);
    const all = rows();
    const row = document.activeElement.closest(".list .row");
    const at = row ? all.indexOf(row) : window.pane?.index(step) ?? -1;
    const next = title(all.at(at < 0 ? Math.min(step, 0) : Math.min(Math.max(at + step, 0), all.length - 1)));
    if (next) window.pane?.follow(next);
    if (!window.pane?.hasFocus()) next?.focus();
    return undefined;
  };
  const chosen = (act) => {
    const row = window.currentRow();
    if (row) act(row);
    else if (rows().length > 0) window.announce(_("Nothing was done: choose a message first, with j or k."));
    else if (opened()) window.announce(_("That cannot be done with this message."));
    else if (document.getElementById("place")) window.announce(_("Nothing was done: there is no message here."));
  };
  const cannot = () => window.announce(_("That cannot be done with this message."));
  const press = (name) => window.selection?.act(name) || chosen((row) => {
    const button = row.querySelector(`[data-act=${name}]`);
    if (button) button.click();
    else cannot();
  });
  const snooze = () => {
    const form = document.querySelector("main > form[data-sheet]");
    if (form) form.querySelector("[name=phrase]").focus();
    else window.selection?.act("snooze") || chosen((row) => (window.openSheet ?? cannot)(row));
  };
  const select = (act) => {
    if (opened()) window.announce(_("Messages are selected in their list."));
    else chosen((row) => window.selection?.[act](row));
  };
  const search = () => {
    const field = document.querySelector("[data-search]");
    const list = opened() && (window.listOrder?.url ?? document.querySelector("main > a.back").href);
    if (list) return location.assign(`${list}#q`);
    field?.focus();
    return field?.select();
  };

  const ACTS = {
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    b: snooze,
    h: snooze,
    x: () => select("toggle"),
    X: () => select("extend"),
    Escape: () => window.selection?.clear(),
    e: () => press("done"),
    c: () => press("cancel"),
    r: () => document.querySelector("[data-act=reactivate], [data-bulk=reactivate]") && press("reactivate"),
    u: () => document.querySelector("a.back")?.click(),
    z: () => window.undoLast(),
    "/": search,
    "?": () => list.showModal(),
  };
  const PLACES = { i: "/mailbox", a: "/" };
  // Operators' pages name keys of their own.
  const place = (key) => (Object.hasOwn(PLACES, key) ? PLACES[key] : document.querySelector(`[data-go="${CSS.escape(key)}"]`)?.href);
  let went = 0;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    // The field of a dialog that was just closed has the focus until the next frame.
    const isTyped = event.target.closest("input:not([data-pick], [data-pick-page], [data-pick-all]), textarea, select, [contenteditable]");
    if (isTyped && !isTyped.closest("dialog:not([open])")) return;
    const leads = Date.now() - went < SEQUENCE && place(event.key);
    went = event.key === "g" ? Date.now() : 0;
    if (leads) return location.assign(leads);
    if (!Object.hasOwn(ACTS, event.key)) return;
    // In what was opened they scroll.
    const isStep = rows().length > 0 && !event.shiftKey && !window.pane?.hasFocus() && !opened();
    if (event.key.startsWith("Arrow") && !isStep) return;
    event.preventDefault();
    ACTS[event.key]();
  });
})();
