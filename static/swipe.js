// Swipes on the rows of a list, by touch: a short one to the left snoozes until tomorrow, a long one opens the sheet; to the
// right is the row's own act (done, or back now). Words under the finger say which. Each presses a button, and the open
// message has the same buttons.
(() => {
  "use strict";
  const SLOP = 12;
  const ENOUGH = 96;
  // The share of the row's width from which a swipe is long.
  const LONG = 0.55;
  const BUTTONS = { left: "[data-open-sheet]", right: "[data-act=done], [data-act=wake]" };
  let swipe = null;

  const button = (row, way) => row.querySelector(BUTTONS[way]);
  const tomorrow = (row) => (row.dataset.sheetUrl ? document.querySelector("#sheet .offers [data-tomorrow]") : null);

  // The button that a swipe as far as this presses, and its words.
  function actOf(row, dx) {
    const way = dx < 0 ? "left" : "right";
    const pressed = button(row, way);
    const offer = way === "left" && -dx < row.clientWidth * LONG ? tomorrow(row) : null;
    if (!pressed || !offer) return { way, pressed, kind: way, words: pressed?.querySelector(".word").textContent };
    return { way, pressed, offer, kind: "tomorrow", words: [offer.querySelector("b"), offer.querySelector(".when > span")].map((one) => one.textContent.trim()).join("\n") };
  }

  function show(dx) {
    const { row } = swipe;
    const act = actOf(row, dx);
    if (swipe.act?.kind !== act.kind) {
      swipe.hint?.remove();
      swipe.hint = act.pressed ? hintOf(act) : null;
      if (swipe.hint) row.append(swipe.hint);
    }
    const isEnough = Math.abs(dx) >= ENOUGH;
    Object.assign(swipe, { act, enough: Boolean(act.pressed) && isEnough });
    row.style.setProperty("--swipe", `${act.pressed ? dx : dx / 6}px`);
    row.classList.add("swiped");
    swipe.hint?.classList.toggle("enough", isEnough);
    swipe.hint?.classList.toggle("long", isEnough && act.kind === "left");
  }

  function hintOf({ pressed, way, words }) {
    const hint = document.createElement("span");
    hint.className = `swipe-hint ${way}`;
    hint.setAttribute("aria-hidden", "true");
    hint.append(pressed.querySelector(".icon").cloneNode(true), Object.assign(document.createElement("span"), { textContent: words }));
    return hint;
  }

  function end(acts) {
    const { row, act, hint, enough, moved } = swipe;
    swipe = null;
    if (!moved) return;
    hint?.remove();
    row.classList.remove("swiped");
    row.style.removeProperty("--swipe");
    if (!acts || !enough) return;
    if (!act.offer) return void act.pressed.click();
    window.openSheet(row);
    act.offer.form.requestSubmit(act.offer);
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
