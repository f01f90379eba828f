// An open message: marks it as read, and the keyboard shortcuts of lists work here too.
(() => {
  "use strict";
  const mark = document.querySelector("[data-mark-read]");
  if (mark && document.visibilityState === "visible") {
    const form = mark.form;
    fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" }).then((answer) => {
      if (answer.type !== "opaqueredirect") return;
      form.hidden = true;
      for (const back of document.querySelectorAll("[data-mark-unread]")) back.hidden = false;
    }, () => {});
  }
  if ("keyless" in document.documentElement.dataset) return;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === "b" || event.key === "h") { event.preventDefault(); window.openSheet(document.querySelector("[data-row]")); }
    if (event.key === "u") document.querySelector("a.back")?.click();
    if (event.key === "e") document.querySelector("[data-act=done]")?.click();
  });
})();
