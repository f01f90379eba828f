// An open message: marks it as read.
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
})();
