// The page that is shown when the site or its database cannot be reached: opens what was asked for as soon as it can be,
// asking less and less often. A form that was on its way is not sent again by this; the address alone is opened.
(() => {
  "use strict";
  const FIRST = 2500;
  const LAST = 60000;
  const button = document.querySelector("[data-again]");
  const still = document.querySelector("[data-still]");
  const probe = button.dataset.again || "/healthz";
  let pause = FIRST;
  let timer = 0;
  const again = () => location.replace(button.href);
  const tell = () => {
    for (const one of document.querySelectorAll("[data-offline]")) one.hidden = navigator.onLine;
    for (const one of document.querySelectorAll("[data-away]")) one.hidden = !navigator.onLine;
  };
  async function look() {
    tell();
    const answer = document.hidden ? null : await fetch(probe, { cache: "no-store" }).catch(() => null);
    if (answer?.ok) return void again();
    clearTimeout(timer);
    timer = setTimeout(look, pause);
    pause = Math.min(2 * pause, LAST);
  }
  addEventListener("online", look);
  addEventListener("offline", tell);
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    if (still) still.hidden = true;
    await look();
    if (still) still.hidden = false;
  });
  tell();
  timer = setTimeout(look, pause);
})();
