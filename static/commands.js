// Ctrl-K: every page, act and preset by its name, found by typing.
(() => {
  "use strict";
  const { _ } = window;
  const dialog = document.getElementById("commands");
  const field = dialog.querySelector("input");
  const list = dialog.querySelector("[role=listbox]");
  const none = dialog.querySelector("[data-none]");
  let commands = [];
  let shown = [];
  let at = 0;

  // The row that has the focus, or that of what is open beside the list, or the open message or snooze; null in a row that
  // nothing can be done with.
  window.currentRow = () => {
    const row = document.activeElement.closest(".list .row") || window.pane?.row() || document.querySelector(".message-acts, [data-snooze]");
    return row?.matches("[data-row]") ? row : null;
  };

  // Its label; else that of what only screen readers read of an icon; else its text.
  const words = (element) => (element.getAttribute("aria-label") || element.querySelector(":scope > .visually-hidden")?.textContent || element.textContent).replace(/\s+/g, " ").trim();

  // What can be pressed of a message: in its row, and where it is open.
  function controls(row) {
    const isListed = row.matches(".list .row");
    const beside = isListed && row !== window.pane?.row() ? null : document.getElementById("pane");
    const places = isListed ? [row, beside] : [beside ?? document.getElementById("main")];
    const found = places.flatMap((place) => [...(place?.querySelectorAll("button, a.button, summary") ?? [])]);
    return found.filter((one) => one.checkVisibility() && !one.closest("dialog, form[data-sheet], .in-place form, .pane-list"));
  }

  function acts(row) {
    const title = (row.dataset.title || (row.querySelector(".row-title") || document.querySelector("h1")).textContent).trim();
    const form = row.dataset.sheetUrl ? document.getElementById("sheet") : row.querySelector("form[data-sheet]");
    const offers = [...(form?.querySelectorAll(".offers button:enabled") ?? [])];
    const named = new Map(controls(row).map((one) => [words(one).replace(`: ${title}`, ""), one]).reverse());
    return [
      ...[...named].reverse().map(([name, one]) => ({ name, about: title, run: () => one.click() })),
      ...offers.map((offer) => ({
        name: _("Snooze: %(when)s", { when: offer.querySelector("b").textContent }),
        about: offer.querySelector(".when > span").textContent.trim(),
        run: () => { window.openSheet(row); offer.form.requestSubmit(offer); },
      })),
    ];
  }

  function pages() {
    const undo = document.querySelector("form[data-undo]") ? [{ name: _("Undo"), about: _("what was done last"), run: () => window.undoLast() }] : [];
    const search = document.querySelector("[data-search]");
    const links = [...document.querySelectorAll(".nav a, .tabs a, .switch a, .folders a, .pager a"), ...dialog.querySelector("template").content.querySelectorAll("a")];
    const places = new Map(links.map((link) => [link.getAttribute("href"), link]).reverse());
    return [
      ...undo,
      ...(search ? [{ name: _("Search"), about: _("in this list"), run: () => { search.focus(); search.select(); } }] : []),
      ...[...places].reverse().map(([href, link]) => ({ name: _("Go to %(page)s", { page: words(link) }), about: "", run: () => location.assign(href) })),
      ...(document.getElementById("all-keys") ? [{ name: _("Show all keys"), about: "", run: () => document.getElementById("all-keys").showModal() }] : []),
    ];
  }

  function choose(index) {
    at = Math.min(Math.max(index, 0), shown.length - 1);
    [...list.children].forEach((option, number) => option.setAttribute("aria-selected", String(number === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    if (shown.length) field.setAttribute("aria-activedescendant", list.children[at].id);
    else field.removeAttribute("aria-activedescendant");
  }

  function filter() {
    const typed = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = commands.filter(({ name, about }) => typed.every((word) => `${name} ${about}`.toLowerCase().includes(word)));
    list.replaceChildren(...shown.map(({ name, about }, number) => {
      const option = document.createElement("li");
      Object.assign(option, { id: `command-${number}`, role: "option" });
      const quiet = Object.assign(document.createElement("span"), { className: "quiet", textContent: about });
      option.append(Object.assign(document.createElement("b"), { textContent: name }), quiet);
      return option;
    }));
    none.hidden = shown.length > 0;
    choose(0);
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
    commands = [...(window.selection?.commands() ?? []), ...(row ? acts(row) : []), ...pages()];
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
})();
