// The keyboard shortcut of a mailbox that can be searched: / leads to the field.
(() => {
  "use strict";
  const field = document.querySelector("[data-search]");
  if (!field || "keyless" in document.documentElement.dataset) return;
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();
