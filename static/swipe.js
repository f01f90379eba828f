// Swipes on the rows of a list, by touch: to the left opens the sheet, to the right is the row's own act (done, or back
// now). Each presses a button of the row, which stays there for those who do not swipe.
(() => {
  "use strict";
  const SLOP = 12;
  const ENOUGH = 96;
  const BUTTONS = { left: "[data-open-sheet]", right: "[data-act=done], [data-act=wake]" };
  let swipe = null;

  const button = (row, way) => row.querySelector(BUTTONS[way]);

  function show(dx) {
    const { row } = swipe;
    const way = dx < 0 ? "left" : "right";
    const pressed = button(row, way);
    if (swipe.way !== way || !swipe.hint) {
      swipe.hint?.remove();
      swipe.way = way;
      swipe.hint = pressed ? hintOf(pressed, way) : null;
      if (swipe.hint) row.append(swipe.hint);
    }
    const far = pressed ? dx : dx / 6;
    row.style.setProperty("--swipe", `${far}px`);
    row.classList.add("swiped");
    swipe.hint?.classList.toggle("enough", Math.abs(dx) >= ENOUGH);
    swipe.enough = Boolean(pressed) && Math.abs(dx) >= ENOUGH;
  }

  function hintOf(pressed, way) {
    const hint = document.createElement("span");
    hint.className = `swipe-hint ${way}`;
    hint.setAttribute("aria-hidden", "true");
    const word = document.createElement("span");
    word.textContent = pressed.querySelector(".word").textContent;
    hint.append(pressed.querySelector(".icon").cloneNode(true), word);
    return hint;
  }

  function end(acts) {
    const { row, way, hint, enough, moved } = swipe;
    swipe = null;
    if (!moved) return;
    hint?.remove();
    row.classList.remove("swiped");
    row.style.removeProperty("--swipe");
    if (acts && enough) button(row, way)?.click();
  }

  document.addEventListener("pointerdown", (event) => {
    if (swipe) end(false);
    const row = event.pointerType === "touch" && event.isPrimary ? event.target.closest(".list [data-row]") : null;
    if (row && !row.hasAttribute("aria-busy") && !event.target.closest("button, .row-acts a, input, label")) swipe = { row, x: event.clientX, y: event.clientY };
  });
  document.addEventListener("pointermove", (event) => {
    if (!swipe || !event.isPrimary) return;
    const dx = event.clientX - swipe.x;
    if (!swipe.moved && Math.abs(dx) < SLOP) return;
    swipe.moved = true;
    show(dx);
  });
  document.addEventListener("pointerup", (event) => { if (swipe && event.isPrimary) end(true); });
  // The browser scrolls, or the system has taken the touch.
  document.addEventListener("pointercancel", () => { if (swipe) end(false); });
})();
