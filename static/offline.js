// The page that is shown when the site cannot be reached: opens what was asked for as soon as it can be. A form that was
// on its way is not sent again by this; the address alone is opened.
(() => {
  "use strict";
  const PAUSE = 5000;
  const again = () => location.replace(location.href);
  const tell = () => {
    for (const one of document.querySelectorAll("[data-offline]")) one.hidden = navigator.onLine;
    for (const one of document.querySelectorAll("[data-away]")) one.hidden = !navigator.onLine;
  };
  async function look() {
    tell();
    const answer = document.hidden ? null : await fetch("/healthz", { cache: "no-store" }).catch(() => null);
    if (answer?.ok) again();
    else setTimeout(look, PAUSE);
  }
  addEventListener("online", again);
  addEventListener("offline", tell);
  document.querySelector("[data-again]").addEventListener("click", (event) => {
    event.preventDefault();
    again();
  });
  tell();
  setTimeout(look, PAUSE);
})();
