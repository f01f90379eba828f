// On every page: the browser's zone for the sign-in form, double submits, toasts that are announced and removed after a
// while, z for Undo.
(() => {
  "use strict";
  for (const field of document.querySelectorAll("[data-zone]")) {
    field.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  }

  // Ignores a second submit of the same button while the response is on its way.
  const REPEAT_MS = 5000;
  let submitted = "";
  let since = 0;
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    const { target, submitter } = event;
    const submission = [target.id, submitter?.formAction || target.action, submitter?.name, submitter?.value].join("\n");
    if (submission === submitted && Date.now() - since < REPEAT_MS) return event.preventDefault();
    submitted = submission;
    since = Date.now();
  });
  addEventListener("pageshow", () => { submitted = ""; });

  const region = document.querySelector(".toasts");
  for (const toast of [...region.children]) {
    toast.remove();
    setTimeout(() => region.append(toast), 60);
    let stays = false;
    for (const kind of ["pointerenter", "focusin"]) toast.addEventListener(kind, () => { stays = true; });
    for (const kind of ["pointerleave", "focusout"]) toast.addEventListener(kind, () => { stays = false; });
    const leave = () => (stays ? setTimeout(leave, 4000) : toast.remove());
    setTimeout(leave, 20000);
  }

  if ("keyless" in document.documentElement.dataset) return;
  const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
  document.addEventListener("keydown", (event) => {
    if (event.key !== "z" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const undo = document.querySelector("form[data-undo]");
    if (undo) { event.preventDefault(); undo.requestSubmit(); }
  });
})();
