// Suggestions while one types into the search of a list: a combobox whose options the server renders. Nothing is chosen
// unless an arrow or a pointer chose it, so that Enter searches for what was typed.
(() => {
  "use strict";
  const PAUSE = 120;
  let timer = 0;
  let asked = new AbortController();

  const list = () => document.getElementById("suggestions");
  const options = () => [...list().children];
  const chosen = () => options().findIndex((option) => option.getAttribute("aria-selected") === "true");

  function close(field) {
    clearTimeout(timer);
    asked.abort();
    list().hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function choose(field, index) {
    options().forEach((option, number) => option.setAttribute("aria-selected", String(number === index)));
    const option = options()[index];
    if (!option) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  async function show(field) {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    const url = new URL(field.dataset.suggest, location.href);
    url.searchParams.set("typed", field.value.slice(0, field.selectionStart));
    let page;
    try {
      const answer = await fetch(url, { headers: { Accept: "text/html" }, signal });
      if (!answer.ok || answer.redirected) return close(field);
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return;
    }
    if (signal.aborted || document.activeElement !== field) return;
    list().replaceChildren(...page.body.children);
    list().scrollTop = 0;
    list().hidden = list().children.length === 0;
    field.setAttribute("aria-expanded", String(!list().hidden));
    field.removeAttribute("aria-activedescendant");
  }

  function take(field, option) {
    const rest = field.value.slice(field.selectionStart).trimStart();
    const { typed } = option.dataset;
    field.value = typed + rest;
    field.setSelectionRange(typed.length, typed.length);
    field.focus();
    if (typed.endsWith(" ")) close(field);
    else show(field);
  }

  function follow(field) {
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list().id);
    if (!field.hasAttribute("aria-expanded")) field.setAttribute("aria-expanded", "false");
  }

  const fieldOf = (event) => event.target.closest?.("[data-suggest]");
  for (const field of document.querySelectorAll("[data-suggest]")) follow(field);
  // The list may be rendered anew, and its search with it.
  document.addEventListener("list:shown", () => document.querySelectorAll("[data-suggest]").forEach(follow));
  document.addEventListener("focusin", (event) => {
    const field = fieldOf(event);
    if (field && field.value === "") show(field);
  });
  document.addEventListener("focusout", (event) => { if (fieldOf(event)) close(fieldOf(event)); });
  document.addEventListener("input", (event) => {
    const field = fieldOf(event);
    if (!field) return;
    clearTimeout(timer);
    const before = field.value.slice(0, field.selectionStart);
    if (before.endsWith(" ") && (before.match(/"/g) ?? []).length % 2 === 0) return close(field);
    timer = setTimeout(show, PAUSE, field);
  });
  document.addEventListener("keydown", (event) => {
    const field = fieldOf(event);
    if (!field || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const isOpen = !list().hidden;
    const count = options().length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) return show(field);
      const at = chosen();
      const first = event.key === "ArrowDown" ? 0 : count - 1;
      choose(field, at < 0 ? first : (at + (event.key === "ArrowDown" ? 1 : -1) + count) % count);
    } else if (isOpen && event.key === "Escape") {
      event.preventDefault();
      close(field);
    } else if (isOpen && chosen() >= 0 && (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey))) {
      event.preventDefault();
      take(field, options()[chosen()]);
    }
  });
  // The field keeps the focus under a finger or a mouse.
  document.addEventListener("mousedown", (event) => { if (event.target.closest(".search-options")) event.preventDefault(); });
  document.addEventListener("click", (event) => {
    const option = event.target.closest(".search-options [role=option]");
    if (option) take(option.closest("form").querySelector("[data-suggest]"), option);
  });
})();
