// Where there is room, a row opens beside its list: its page is shown in a region, which has the focus. j and k show the
// next one and the one before, Esc and u close it. The address names what is open, so that reload and Back work.
(() => {
  "use strict";
  const { _ } = window;
  const PAUSE = 120;
  const READ = 1000;
  const HANG = 30000;
  const roomy = matchMedia("(min-width: 75rem)");
  const main = document.getElementById("main");
  let pane = null;
  let open = null;
  let shown = null;
  let asked = null;
  let timer = 0;
  let since = 0;
  let order = [];

  const titles = () => [...document.querySelectorAll("#place .list .row:not([hidden]) .row-title")];
  const titleOf = (href) => titles().find((title) => title.getAttribute("href") === href);
  const hasFocus = () => pane !== null && pane.contains(document.activeElement);
  const address = (href) => {
    const url = new URL(location.href);
    if (href) url.searchParams.set("open", href);
    else url.searchParams.delete("open");
    return url;
  };

  function mark() {
    for (const title of titles()) {
      const isOpen = title.getAttribute("href") === open;
      title.closest(".row").classList.toggle("opened", isOpen);
      if (isOpen) title.setAttribute("aria-current", "true");
      else title.removeAttribute("aria-current");
    }
    if (titleOf(open)) order = titles().map((title) => title.getAttribute("href"));
  }

  // The index from which a step leads to the next row or the one before: that of what is open or, where that has left the
  // list, as if it were there.
  function index(step) {
    if (open === null) return -1;
    const hrefs = titles().map((title) => title.getAttribute("href"));
    if (hrefs.includes(open)) return hrefs.indexOf(open);
    const at = order.indexOf(open);
    const stays = (href) => hrefs.includes(href);
    const near = step > 0 ? order.slice(at).find(stays) ?? hrefs.at(-1) : order.slice(0, at).findLast(stays) ?? hrefs[0];
    return hrefs.indexOf(near) - step;
  }

  // The row stays where it was on the screen, while the rows above it become taller or lower, unless the top of the page
  // is seen.
  function inPlace(change) {
    const title = titleOf(open);
    const top = title?.getBoundingClientRect().top;
    change();
    if (title && scrollY > 0) scrollBy(0, title.getBoundingClientRect().top - top);
  }

  function section(label) {
    const made = document.createElement("section");
    Object.assign(made, { id: "pane", tabIndex: -1, ariaLabel: label });
    return made;
  }

  function hide() {
    if (open === null) return;
    forget();
    const title = titleOf(open);
    const isLeft = hasFocus() || document.activeElement === document.body;
    inPlace(() => {
      pane.remove();
      document.body.classList.remove("has-pane");
    });
    pane = open = shown = null;
    mark();
    if (isLeft) (title ?? main).focus({ preventScroll: true });
  }

  function close() {
    if (open === null) return;
    hide();
    if (history.state?.pane) history.back();
    else history.replaceState(null, "", address(null));
  }

  // An id that the list has, too, would lead a label to the wrong field.
  function rename(content) {
    for (const one of content.querySelectorAll("[id]")) one.id = `pane-${one.id}`;
    for (const name of ["for", "aria-labelledby", "aria-describedby"]) {
      for (const one of content.querySelectorAll(`[${name}]`)) one.setAttribute(name, `pane-${one.getAttribute(name)}`);
    }
  }

  // What makes it a page of its own is left out: dialogs, banners, the way back. Its heading is below that of the list.
  function contentOf(page) {
    const content = page.getElementById("main");
    for (const own of content.querySelectorAll("dialog, script, .banner, a.back")) own.remove();
    for (const list of content.querySelectorAll(".list")) list.classList.replace("list", "pane-list");
    for (const marked of content.querySelectorAll("[autofocus]")) marked.removeAttribute("autofocus");
    for (const button of content.querySelectorAll("[data-leave]")) button.hidden = false;
    rename(content);
    const heading = Object.assign(document.createElement("h2"), { className: "first" });
    const title = content.querySelector("h1");
    heading.append(...title.childNodes);
    title.replaceWith(heading);
    const subject = heading.textContent.trim();
    for (const row of content.querySelectorAll("[data-row]")) row.dataset.title = subject;
    const away = document.createElement("a");
    Object.assign(away, { className: "back", href: address(null).href });
    away.append(document.querySelector("[data-close] .icon").cloneNode(true), Object.assign(document.createElement("span"), { textContent: _("Close") }));
    return { subject, nodes: [away, ...content.childNodes] };
  }

  // Where there is room for the list as well, its heading is the first one of the page.
  function level() {
    for (const heading of pane?.querySelectorAll("h2.first") ?? []) heading.ariaLevel = roomy.matches ? "2" : "1";
  }
  roomy.addEventListener("change", level);

  // What has the focus, by a selector that finds it when the same is rendered anew.
  function focused() {
    const editor = document.activeElement.closest("details[id]");
    if (editor) return `#${editor.id} > summary`;
    const { act } = document.activeElement.dataset;
    return act ? `[data-act=${act}]` : null;
  }

  function fill(page, href) {
    const isSame = href === shown;
    const hadFocus = hasFocus();
    const selector = isSame && hadFocus ? focused() : null;
    const unfolded = isSame ? [...pane.querySelectorAll("details[id][open]:not(.in-place)")].map((one) => one.id) : [];
    const { subject, nodes } = contentOf(page);
    const top = pane.scrollTop;
    if (!isSame) {
      // A new region is read out when the focus comes to it.
      const fresh = section(subject);
      pane.replaceWith(fresh);
      pane = fresh;
    }
    shown = href;
    pane.replaceChildren(...nodes);
    pane.removeAttribute("aria-busy");
    level();
    if (isSame) pane.scrollTop = top;
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    for (const form of pane.querySelectorAll("form[data-sheet]")) window.liveSheet(form);
    if (hadFocus) ((selector && pane.querySelector(selector)) || pane).focus({ preventScroll: true });
  }

  function forget() {
    const earlier = asked;
    asked = null;
    earlier?.abort();
    clearTimeout(timer);
  }

  async function load(href) {
    forget();
    const request = new AbortController();
    asked = request;
    const hang = setTimeout(() => request.abort(), HANG);
    pane.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(href, { headers: { Accept: "text/html" }, signal: request.signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (asked !== request) return;
      if (answer.redirected || !page.querySelector("main h1")) return location.assign(href);
      fill(page, href);
      timer = setTimeout(markRead, READ);
    } catch {
      if (asked !== request) return;
      pane.removeAttribute("aria-busy");
      window.announce(_("The server cannot be reached."));
    } finally {
      clearTimeout(hang);
    }
  }

  // As the page of a message does, once it was looked at for a moment.
  async function markRead() {
    const button = pane?.querySelector("[data-mark-read]");
    if (!button || document.visibilityState !== "visible") return;
    const { form } = button;
    const row = titleOf(open)?.closest(".row");
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" }).catch(() => null);
    if (answer?.type !== "opaqueredirect") return;
    form.hidden = true;
    for (const back of form.parentElement.querySelectorAll("[data-mark-unread]")) back.hidden = false;
    row?.classList.replace("unread", "read");
    row?.querySelector(".dot")?.remove();
  }

  function show(title, { push = true } = {}) {
    const href = title.getAttribute("href");
    if (href === open) return;
    forget();
    const isFirst = open === null;
    open = href;
    if (isFirst) {
      pane = section(title.textContent);
      inPlace(() => {
        document.body.classList.add("has-pane");
        main.append(pane);
      });
    }
    mark();
    title.scrollIntoView({ block: "nearest" });
    if (push && isFirst) history.pushState({ pane: true }, "", address(href));
    else if (push) history.replaceState(history.state, "", address(href));
    // Rows that one only passes by are not asked for.
    const pause = Date.now() - since < PAUSE ? PAUSE : 0;
    since = Date.now();
    timer = setTimeout(() => load(href), pause);
  }

  window.pane = {
    hasFocus,
    index,
    row: () => (open === null ? undefined : titleOf(open)?.closest(".row")),
    // Shows another row where one is shown; without one there is nothing to show.
    follow: (title) => {
      if (open === null) return;
      if (title) show(title);
      else close();
    },
    // What the row of the list can do, it does. Returns whether there is such an act.
    press: (url) => {
      const same = [...(window.pane.row()?.querySelectorAll("button[formaction]") ?? [])].find((button) => button.formAction === url);
      same?.click();
      return same !== undefined;
    },
    // What a form in the pane is about.
    subject: () => pane?.getAttribute("aria-label"),
    href: () => new URL(open, location.href).href,
  };

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a[href]");
    if (link?.closest("#pane")) {
      if (link.matches(".back")) {
        event.preventDefault();
        close();
      } else if (!link.hasAttribute("download") && !link.hasAttribute("data-open-sheet") && link.pathname === new URL(open, location.href).pathname && link.origin === location.origin) {
        event.preventDefault();
        load(link.getAttribute("href"));
      }
    } else if (link?.matches("#place .list .row-title") && (roomy.matches || open !== null)) {
      event.preventDefault();
      show(link);
      pane.focus({ preventScroll: true });
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || open === null || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.closest("#place input:not([type=checkbox]), details.in-place[open]")) return;
    // First what is selected, then what is edited, is let go of.
    if (document.documentElement.matches(".selecting.has-keys") || pane.querySelector("details.in-place[open]")) return;
    event.preventDefault();
    close();
  }, true);

  document.addEventListener("list:shown", mark);
  document.addEventListener("list:saved", ({ detail: href }) => {
    if (open !== null && shown !== null && href === window.pane.href()) load(shown);
  });

  // What is open by the address: after Back and Forward, and when the page is loaded. Nothing but a row of the list is.
  function follow() {
    const href = new URL(location.href).searchParams.get("open");
    const title = href && titleOf(href);
    if (!title) {
      hide();
      if (href) history.replaceState(null, "", address(null));
      return;
    }
    show(title, { push: false });
    pane.focus({ preventScroll: true });
  }
  addEventListener("popstate", follow);
  follow();
})();
