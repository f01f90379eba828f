// Choosing rows of a list: by their boxes, by x and Shift-x, a page, or all that match; the bar says how many and what
// can be done with them.
(() => {
  "use strict";
  const MOST = 500;
  document.documentElement.classList.add("has-select");
  let last = null;

  const form = () => document.getElementById("bulk");
  const boxes = () => [...document.querySelectorAll(".row:not([hidden]) [data-pick]")];
  const picked = () => boxes().filter((box) => box.checked);
  const boxOf = (row) => row.querySelector("[data-pick]");
  const all = () => form()?.querySelector("[data-pick-all]");
  const size = () => (all()?.checked ? Number(all().dataset.size) || null : picked().length);
  // A sentence of the bar, for one, for several or for all that match.
  const counted = (one, several, every) => {
    const count = size();
    if (count === null) return form().dataset[every];
    return count === 1 ? form().dataset[one] : form().dataset[several].replace("#", Math.min(count, MOST));
  };
  const name = () => counted("one", "several", "every");

  function show() {
    const bar = form();
    if (!bar) return;
    const chosen = picked();
    const words = chosen.length || all().checked ? counted("oneSelected", "severalSelected", "everySelected") : "";
    const count = bar.querySelector("[data-count]");
    count.hidden = false;
    if (count.textContent !== words) count.textContent = words;
    bar.querySelector("[data-clear]").hidden = false;
    document.documentElement.classList.toggle("selecting", words !== "");
    document.dispatchEvent(new CustomEvent("list:selected"));
    for (const page of document.querySelectorAll("[data-pick-page]")) {
      page.closest("label").hidden = false;
      page.checked = chosen.length > 0 && chosen.length === boxes().length;
      page.indeterminate = chosen.length > 0 && !page.checked;
    }
  }

  function set(some, checked) {
    for (const box of some) box.checked = checked;
    if (!checked && all()) all().checked = false;
    show();
  }

  window.selection = {
    rows: () => picked().map((box) => box.closest(".row")),
    values: () => picked().map((box) => box.value),
    name,
    // The fields that say what was chosen, for a form beside that of the bar.
    choose: (fields) => {
      for (const [key, value] of new FormData(form())) if (!fields.has(key) || key === "row") fields.append(key, value);
    },
    toggle: (row) => {
      const box = boxOf(row);
      if (!box) return;
      last = box.value;
      set([box], !box.checked);
    },
    extend: (row) => {
      const every = boxes();
      const to = every.indexOf(boxOf(row));
      if (to < 0) return;
      const from = every.findIndex((box) => box.value === last);
      const [start, end] = from < 0 ? [to, to] : [Math.min(from, to), Math.max(from, to)];
      last = every[to].value;
      set(every.slice(start, end + 1), true);
    },
    clear: () => { last = null; set(boxes(), false); },
    restore: (values = []) => set(boxes().filter((box) => values.includes(box.value)), true),
    // Returns false where nothing is selected, so that the act is that of the row.
    act: (act) => {
      if (!picked().length && !all()?.checked) return false;
      const button = form().querySelector(`[data-bulk=${act}]`);
      if (button) button.click();
      else window.announce(form().dataset.cannot);
      return true;
    },
    commands: () => (picked().length || all()?.checked
      ? [...form().querySelectorAll("button[data-bulk], [data-clear]")].map((button) => ({
        name: button.textContent.trim(), about: counted("oneSelected", "severalSelected", "everySelected"), run: () => button.click(),
      }))
      : []),
  };

  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-pick]")) {
      last = target.value;
      if (!target.checked) all().checked = false;
      show();
    }
    if (target.matches("[data-pick-page]")) set(boxes(), target.checked);
    if (target.matches("[data-pick-all]")) {
      const { checked } = target;
      set(boxes(), checked);
      target.checked = checked;
      show();
    }
  });

  // Shift and a click on a box select a range, too.
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("[data-pick]");
    if (box && event.shiftKey && last !== null) {
      event.preventDefault();
      setTimeout(() => window.selection.extend(box.closest(".row")));
    }
    if (event.target.closest?.("[data-clear]")) window.selection.clear();
    const opener = event.target.closest?.("[data-bulk=snooze]");
    if (!opener || !form().dataset.sheetUrl) return;
    event.preventDefault();
    const repeating = window.selection.rows().filter((row) => row.dataset.recurrence).length;
    form().dataset.title = name();
    const words = form().dataset[repeating === 1 ? "oneRepeats" : "severalRepeat"];
    form().dataset.repeating = repeating ? words.replace("#", repeating) : "";
    window.openSheet(form());
  });

  addEventListener("pageshow", show);
  show();
})();
