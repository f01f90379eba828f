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

  const MOST_TOASTS = 3;
  const region = document.querySelector(".toasts");
  // Shows a toast, or a text as one.
  window.announce = (content) => {
    let toast = content;
    if (typeof content === "string") {
      toast = document.createElement("div");
      toast.className = "toast";
      toast.append(Object.assign(document.createElement("span"), { textContent: content }));
    }
    region.append(toast);
    while (region.children.length > MOST_TOASTS) region.firstElementChild.remove();
    let stays = false;
    for (const kind of ["pointerenter", "focusin"]) toast.addEventListener(kind, () => { stays = true; });
    for (const kind of ["pointerleave", "focusout"]) toast.addEventListener(kind, () => { stays = false; });
    const leave = () => (stays ? setTimeout(leave, 4000) : toast.remove());
    setTimeout(leave, 20000);
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
