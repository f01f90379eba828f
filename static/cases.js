// The open list of cases is read again every half minute. Nothing moves while something is selected or typed: acts.js
// holds the new list back, and this says so.
(() => {
  "use strict";
  const EVERY = 30000;

  const note = () => {
    const place = document.querySelector("[data-live-note]");
    if (place) place.textContent = document.documentElement.classList.contains("selecting") ? "; not refreshed while cases are selected" : "; refreshed every 30 s";
  };
  for (const kind of ["list:selected", "list:shown"]) document.addEventListener(kind, note);
  note();

  setInterval(() => {
    const isTyping = document.activeElement.matches("input:not([type=checkbox]), select");
    if (!document.hidden && !isTyping) window.refreshList();
  }, EVERY);
})();
