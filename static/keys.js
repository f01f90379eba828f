// Keyboard shortcuts, the same on lists and on the page of a message; "?" lists them.
(() => {
  "use strict";
  const { _ } = window;
  const SEQUENCE = 1500;
  document.documentElement.classList.add("has-keys");
  const list = document.getElementById("all-keys");
  list.querySelector("[data-close]").addEventListener("click", () => list.close());

  const rows = () => [...document.querySelectorAll(".list .row:not([hidden])")];
  const title = (row) => row?.querySelector(".row-title");
  const move = (step) => {
    const all = rows();
    const at = all.indexOf(document.activeElement.closest(".list .row") ?? window.pane?.row());
    const next = title(all.at(at < 0 ? Math.min(step, 0) : Math.min(Math.max(at + step, 0), all.length - 1)));
    if (next) window.pane?.follow(next);
    if (!window.pane?.hasFocus()) next?.focus();
  };
  const chosen = (act) => {
    const row = window.currentRow();
    if (row) act(row);
    else if (document.querySelector(".list .row")) window.announce(_("Nothing was done: choose a message first, with j or k."));
  };
  const press = (name) => window.selection?.act(name) || chosen((row) => row.querySelector(`[data-act=${name}]`)?.click());
  const snooze = () => window.selection?.act("snooze") || chosen((row) => window.openSheet(row));
  const search = () => {
    const field = document.querySelector("[data-search]");
    field?.focus();
    field?.select();
  };

  const ACTS = {
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    b: snooze,
    h: snooze,
    x: () => chosen((row) => window.selection?.toggle(row)),
    X: () => chosen((row) => window.selection?.extend(row)),
    Escape: () => window.selection?.clear(),
    e: () => press("done"),
    c: () => press("cancel"),
    u: () => document.querySelector("a.back")?.click(),
    z: () => window.undoLast(),
    "/": search,
    "?": () => list.showModal(),
  };
  const PLACES = { i: "/mailbox", a: "/" };
  let went = 0;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([data-pick], [data-pick-page], [data-pick-all]), textarea, select, [contenteditable]")) return;
    const leads = Date.now() - went < SEQUENCE && Object.hasOwn(PLACES, event.key);
    went = event.key === "g" ? Date.now() : 0;
    if (leads) return location.assign(PLACES[event.key]);
    if (!Object.hasOwn(ACTS, event.key)) return;
    // In a message they scroll.
    const isStep = rows().length > 0 && !event.shiftKey && !window.pane?.hasFocus() && !document.querySelector("main > .message-acts");
    if (event.key.startsWith("Arrow") && !isStep) return;
    event.preventDefault();
    ACTS[event.key]();
  });
})();
