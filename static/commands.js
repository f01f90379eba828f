// Ctrl-K: every page, act and preset by its name or a word for it, found by typing; and a time, as in the sheet.
(() => {
  "use strict";
  const { _ } = window;
  const PAUSE = 120;
  const dialog = document.getElementById("commands");
  const field = dialog.querySelector("input");
  const list = dialog.querySelector("[role=listbox]");
  const none = dialog.querySelector("[data-none]");
  const { content } = dialog.querySelector("template");
  let commands = [];
  let target = null;
  let shown = [];
  let at = 0;
  let timer = 0;
  let asked = null;

  // The row that has the focus, or that of what is open beside the list, or the open message or snooze; null in a row that
  // nothing can be done with.
  window.currentRow = () => {
    const row = document.activeElement.closest(".list .row") || window.pane?.row() || document.querySelector(".message-acts, [data-snooze]");
    return row?.matches("[data-row]") ? row : null;
  };

  const plain = (text) => text.replace(/\s+/g, " ").trim();
  // The label, else the text for screen readers, else the visible text without its counts.
  function words(element) {
    const label = element.getAttribute("aria-label") || element.querySelector(":scope > .visually-hidden")?.textContent;
    if (label) return plain(label);
    const copy = element.cloneNode(true);
    for (const count of copy.querySelectorAll(".count, [aria-hidden=true]")) count.remove();
    return plain(copy.textContent);
  }
  // Other words for an act or a page.
  const synonyms = (name) => content.querySelector(`[data-for="${CSS.escape(name)}"]`)?.dataset.words ?? "";

  // What can be pressed of a message: in its row, and where it is open.
  function controls(row) {
    const isListed = row.matches(".list .row");
    const beside = isListed && row !== window.pane?.row() ? null : document.getElementById("pane");
    const places = isListed ? [row, beside] : [beside ?? document.getElementById("main")];
    const found = places.flatMap((place) => [...(place?.querySelectorAll("button, a.button, summary") ?? [])]);
    return found.filter((one) => one.checkVisibility() && !one.closest("dialog, form[data-sheet], .in-place form, .pane-list"));
  }

  const titleOf = (row) => (row.dataset.title || (row.querySelector(".row-title") || document.querySelector("h1")).textContent).trim();
  const sheetOf = (row) => (row.dataset.sheetUrl ? document.getElementById("sheet").querySelector("form") : row.querySelector("form[data-sheet]"));

  function acts(row) {
    const title = titleOf(row);
    const offers = [...(sheetOf(row)?.querySelectorAll(".offers button:enabled") ?? [])];
    const named = new Map(controls(row).map((one) => [words(one).replace(`: ${title}`, ""), one]).reverse());
    return [
      ...[...named].reverse().map(([name, one]) => ({ name, about: title, also: synonyms(one.dataset.act ?? (one.hasAttribute("data-open-sheet") ? "snooze" : "")), run: () => one.click() })),
      ...offers.map((offer) => ({
        name: _("Snooze: %(when)s", { when: offer.querySelector("b").textContent }),
        about: offer.querySelector(".when > span").textContent.trim(),
        run: () => { window.openSheet(row); offer.form.requestSubmit(offer); },
      })),
    ];
  }

  function own() {
    const search = document.querySelector("[data-search]");
    const page = document.querySelector("[data-pick-page]");
    const keys = document.getElementById("all-keys");
    return [
      { name: _("Undo"), about: _("what was done last"), also: synonyms("undo"), run: () => window.undoLast() },
      ...(search ? [{ name: _("Search"), about: _("in this list"), also: synonyms("search"), run: () => { search.focus(); search.select(); } }] : []),
      ...(page ? [{ name: _("Select all"), about: _("in this list"), also: synonyms("select"), run: () => page.click() }] : []),
      ...(keys ? [{ name: _("Show all keys"), about: "", also: synonyms("keys"), run: () => keys.showModal() }] : []),
    ];
  }

  function pages() {
    const known = [...content.querySelectorAll("a")];
    const links = [...document.querySelectorAll(".nav a, .tabs a, .switch a, .folders a, .pager a"), ...known];
    const places = new Map(links.map((link) => [link.getAttribute("href"), link]).reverse());
    const also = new Map(known.map((link) => [link.getAttribute("href"), link.dataset.words]));
    return [...places].reverse().map(([href, link]) => ({
      name: _("Go to %(page)s", { page: words(link) }), about: "", also: also.get(href) ?? "", run: () => location.assign(href),
    }));
  }

  // Acts of every page: a form of its own each.
  const forms = () => [...content.querySelectorAll("button")].map((button) => ({
    name: words(button),
    about: "",
    also: button.dataset.words,
    run: () => {
      const form = button.form.cloneNode(true);
      document.body.append(form);
      form.requestSubmit([...form.querySelectorAll("button")].find(({ value }) => value === button.value));
    },
  }));

  function choose(index) {
    at = Math.min(Math.max(index, 0), shown.length - 1);
    [...list.children].forEach((option, number) => option.setAttribute("aria-selected", String(number === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    if (shown.length) field.setAttribute("aria-activedescendant", list.children[at].id);
    else field.removeAttribute("aria-activedescendant");
  }

  const parts = (text) => text.toLowerCase().split(/[\s:·,]+/).filter(Boolean);
  const [filler, leads] = [parts(dialog.dataset.filler), parts(dialog.dataset.leads)];

  // How well a command fits the typed words, 0 for not at all: each begins a word of its name or a synonym.
  function fit({ name, about, also = "" }, typed) {
    const [first, second] = [parts(name), parts(`${about} ${also}`)];
    let sum = 1;
    for (const word of typed) {
      const begins = (one) => one.startsWith(word);
      if (first.includes(word)) sum += 4;
      else if (first.some(begins)) sum += 3;
      else if (second.includes(word)) sum += 2;
      else if (second.some(begins) || name.toLowerCase().includes(word)) sum += 1;
      else if (!filler.includes(word)) return 0;
    }
    return sum;
  }

  function show(some) {
    shown = some;
    list.replaceChildren(...shown.map(({ name, about, isDoubt }, number) => {
      const option = document.createElement("li");
      Object.assign(option, { id: `command-${number}`, role: "option" });
      const quiet = Object.assign(document.createElement("span"), { className: isDoubt ? "doubt" : "quiet", textContent: about });
      option.append(Object.assign(document.createElement("b"), { textContent: name }), quiet);
      return option;
    }));
    none.hidden = shown.length > 0 || asked !== null;
  }

  function filter() {
    clearTimeout(timer);
    asked?.abort();
    asked = null;
    const typed = parts(field.value);
    const meant = typed.some((word) => !filler.includes(word)) ? typed : [];
    const found = commands.map((command) => [command, fit(command, meant)]).filter(([, points]) => points > 0);
    const fitting = found.sort(([, one], [, other]) => other - one).map(([command]) => command);
    const phrase = phraseOf(field.value);
    if (phrase) asked = new AbortController();
    show(fitting);
    choose(0);
    if (phrase) timer = setTimeout(readTime, PAUSE, phrase, asked);
  }

  // A time without the words that may stand before it: "remind me on friday".
  function phraseOf(text) {
    const typed = text.trim().split(/\s+/);
    while (typed.length > 1 && leads.includes(typed[0].toLowerCase())) typed.shift();
    return typed.join(" ").length > 1 ? typed.join(" ") : "";
  }

  // A time is offered below the commands, as the server reads it.
  async function readTime(phrase, request) {
    let read = null;
    try {
      const answer = await fetch(`/when/preview?phrase=${encodeURIComponent(phrase)}`, { signal: request.signal, headers: { Accept: "text/html" } });
      if (answer.ok && !answer.redirected) read = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      // Without it the commands remain.
    }
    if (asked !== request) return;
    asked = null;
    const isTime = read?.querySelector("[name=seen_at]");
    show(isTime ? [...shown, snoozeUntil(phrase, read)] : shown);
    choose(at);
  }

  function snoozeUntil(phrase, read) {
    const when = plain(read.querySelector(".reading-words b").textContent);
    const doubt = plain([...read.querySelectorAll(".flag span")].map((one) => one.textContent).join(" "));
    if (!target) return { name: _("Add a reminder: %(when)s", { when }), about: doubt, isDoubt: true, run: () => location.assign(`/add?phrase=${encodeURIComponent(phrase)}`) };
    return {
      name: _("Snooze: %(when)s", { when }),
      about: doubt || target.about,
      isDoubt: doubt !== "",
      run: () => {
        target.open();
        target.form.fill(phrase, read.body.innerHTML);
        target.form.requestSubmit(target.form.querySelector(".save"));
      },
    };
  }

  // A typed time is for the selected rows, else for the row; null if neither can be snoozed.
  function findTarget(row, selected) {
    const bulk = selected.length > 0 && document.querySelector("[data-bulk=snooze]");
    if (selected.length > 0) return bulk ? { about: selected[0].about, form: document.querySelector("#sheet form"), open: () => bulk.click() } : null;
    const form = row && sheetOf(row);
    return form ? { about: titleOf(row), form, open: () => window.openSheet(row) } : null;
  }

  function run(command) {
    if (!command) return;
    dialog.close();
    command.run();
  }

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) return dialog.close();
    if (document.querySelector("dialog[open]")) return;
    const row = window.currentRow();
    const selected = window.selection?.commands() ?? [];
    target = findTarget(row, selected);
    commands = [...selected, ...(row ? acts(row) : []), ...own(), ...pages(), ...forms()];
    field.value = "";
    filter();
    dialog.showModal();
  });
  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") { event.preventDefault(); choose(at + 1); }
    if (event.key === "ArrowUp") { event.preventDefault(); choose(at - 1); }
    if (event.key === "Enter") { event.preventDefault(); run(shown[at]); }
  });
  list.addEventListener("click", (event) => run(shown[[...list.children].indexOf(event.target.closest("li"))]));
  dialog.addEventListener("click", (event) => { if (event.target === dialog || event.target.closest("[data-close]")) dialog.close(); });
  dialog.addEventListener("close", () => asked?.abort());
  // The address may name a field of the page.
  document.querySelector("input:target, select:target")?.focus();
})();
