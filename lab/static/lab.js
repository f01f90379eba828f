// The moving part of the page comes as HTML; unchanged nodes stay, and so do focus and clicks. Rows that changed their
// place glide there, unless the person prefers reduced motion.
"use strict";

const moving = document.getElementById("moving");
const answer = document.getElementById("answer");
const pause = document.getElementById("pause");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const MOST_GLIDING = 60;
const ANSWER_SECONDS = 10;
let held = false;
let answered = 0;

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);

function morphNode(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const keyed = new Map([...old.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  let place = old.firstChild;
  for (const want of [...fresh.childNodes]) {
    const key = keyOf(want);
    let have = key ? keyed.get(key) : place;
    if (!key) while (have && keyOf(have)) have = have.nextSibling;
    if (have && have.nodeName === want.nodeName && have.nodeType === want.nodeType) {
      if (have === place) place = place.nextSibling;
      else old.insertBefore(have, place);
      morphNode(have, want);
    } else old.insertBefore(want, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function places() {
  return new Map([...moving.querySelectorAll(".letter")].map((letter) => [keyOf(letter), letter.getBoundingClientRect()]));
}

function show(html) {
  const fresh = document.createElement("div");
  fresh.innerHTML = html;
  const before = still.matches ? null : places();
  morphChildren(moving, fresh);
  if (!before) return;
  let gliding = 0;
  for (const letter of moving.querySelectorAll(".letter")) {
    const from = before.get(keyOf(letter));
    const to = letter.getBoundingClientRect();
    if (!from) letter.animate([{ opacity: 0 }, { opacity: 1 }], 250);
    else if (Math.abs(from.left - to.left) + Math.abs(from.top - to.top) > 4 && gliding++ < MOST_GLIDING) {
      const start = `translate(${from.left - to.left}px, ${from.top - to.top}px)`;
      letter.animate([{ transform: start }, { transform: "none" }], { duration: 350, easing: "cubic-bezier(.2,.7,.2,1)" });
    }
  }
}

const stream = new EventSource(moving.dataset.stream);
stream.onmessage = (event) => {
  if (!held) show(event.data);
  document.body.dataset.seen = String(Number(document.body.dataset.seen || 0) + 1);
};
addEventListener("pagehide", () => stream.close());

pause.hidden = false;
pause.addEventListener("click", () => {
  held = !held;
  pause.setAttribute("aria-pressed", String(held));
});

document.addEventListener("submit", async (event) => {
  if (event.target.id !== "acts") return;
  event.preventDefault();
  const body = new FormData(event.target, event.submitter);
  const response = await fetch(event.submitter.formAction, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
  const words = response && response.ok ? await response.json() : { happened: "The lab does not answer.", next: "" };
  answer.textContent = `${words.happened} ${words.next}`;
  clearTimeout(answered);
  answered = setTimeout(() => (answer.textContent = ""), ANSWER_SECONDS * 1000);
});
