// On every page: the language of the scripts, the browser's zone for the sign-in form, double submits, toasts that are
// announced and removed after a while.
(() => {
  "use strict";
  // A sentence in English is its own id; a page in another language brings the rest.
  const messages = JSON.parse(document.getElementById("messages")?.textContent ?? "{}");
  window._ = (message, values = {}) => (messages[message] ?? message).replace(/%\((\w+)\)s/g, (value, name) => values[name] ?? value);

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

  const LASTS = 20000;
  const NOTICE = 8000;
  const region = document.querySelector(".toasts");
  // Shows a toast, or a text as one; one at a time, as a later act may make an earlier toast untrue. Toasts with an Undo
  // are kept hidden for z, and the latest is shown again when a text has covered it. `joins`: added to such a text.
  window.announce = (content, { joins = false } = {}) => {
    const covered = region.querySelector(".toast:not([hidden])");
    const words = typeof content === "string" && Object.assign(document.createElement("span"), { textContent: content });
    if (words && joins && covered?.joins) return covered.append(words);
    const toast = words ? Object.assign(document.createElement("div"), { className: "toast", joins }) : content;
    if (words) toast.append(words);
    for (const earlier of [...region.children]) {
      earlier.hidden = true;
      if (!earlier.querySelector("form[data-undo]")) earlier.remove();
    }
    toast.hidden = false;
    region.append(toast);
    let stays = false;
    for (const kind of ["pointerenter", "focusin"]) toast.addEventListener(kind, () => { stays = true; });
    for (const kind of ["pointerleave", "focusout"]) toast.addEventListener(kind, () => { stays = false; });
    const leave = () => {
      if (stays) return setTimeout(leave, 4000);
      const isLast = toast === region.lastElementChild;
      toast.remove();
      const isTrue = covered?.parentElement && !covered.querySelector("form[data-undo=older]");
      if (words && isLast && isTrue) covered.hidden = false;
      return undefined;
    };
    setTimeout(leave, words && !joins ? NOTICE : LASTS);
    return undefined;
  };
  // Screen readers read out what is inserted after the page was loaded.
  for (const toast of [...region.children]) {
    toast.remove();
    setTimeout(() => window.announce(toast), 60);
  }
  window.undoLast = () => {
    const form = [...document.querySelectorAll("form[data-undo]")].at(-1);
    if (form) form.requestSubmit();
    else window.announce(window._("There is nothing to undo."));
  };
})();
