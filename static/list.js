// Keyboard shortcuts of lists: j and k move, Enter opens, b snoozes, e marks as done, c cancels.
(() => {
  "use strict";
  if ("keyless" in document.documentElement.dataset) return;
  for (const legend of document.querySelectorAll(".keys")) legend.hidden = false;
  const rows = [...document.querySelectorAll(".list [data-row]")];
  const title = (row) => row.querySelector(".row-title");
  const at = () => rows.findIndex((row) => row.contains(document.activeElement));

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    const here = at();
    const row = rows[Math.max(here, 0)];
    const press = (act) => row.querySelector(`[data-act=${act}]`)?.click();
    const acts = {
      j: () => title(rows[Math.min(here + 1, rows.length - 1)]).focus(),
      k: () => title(rows[Math.max(here - 1, 0)]).focus(),
      b: () => window.openSheet(row),
      h: () => window.openSheet(row),
      e: () => here >= 0 && press("done"),
      c: () => here >= 0 && press("cancel"),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  });
})();
