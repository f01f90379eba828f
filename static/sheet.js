// The snooze form: shows the reading while one types, Enter saves, Esc closes. 1–9 choose a preset and dots what was typed
// lately; alone they are saved after a moment in which a longer time can be begun ("3 days").
(() => {
  "use strict";
  const { _ } = window;
  const PAUSE = 120;
  const ALONE = 700;
  const STALE = 60000;
  const AGAIN = 2000;
  const loaded = Date.now();

  for (const form of document.querySelectorAll("form[data-sheet]")) live(form);
  window.liveSheet = live;

  function live(form) {
    const field = form.querySelector("[name=phrase]");
    const reading = form.querySelector(".reading");
    const save = form.querySelector(".save");
    form.classList.add("live");
    let timer = 0;
    let alone = 0;
    let running = null;
    // Of what repeats, a time for every occurrence means another thing.
    const series = () => (form.dataset.series && form.querySelector("[name=scope][value=every]").checked ? form.dataset.series : "");
    const wanted = () => `${field.value.trim()}\n${series()}`;
    let shown = wanted();
    const hint = document.createElement("p");
    hint.className = "quiet";
    hint.textContent = _("Say it as you would to a person, or take one of these.");

    const offers = () => [...form.querySelectorAll("button[data-key]")];
    const offerFor = (typed) => (/^([1-9]|\.{1,3})$/.test(typed) ? offers().find((offer) => offer.dataset.key === typed) : undefined);
    const choose = (chosen) => {
      for (const offer of offers()) offer.classList.toggle("chosen", offer === chosen);
    };
    save.addEventListener("click", (event) => {
      const offer = offerFor(field.value.trim());
      if (offer) { event.preventDefault(); if (!offer.disabled) form.requestSubmit(offer); }
    });
    const isRead = () => shown === wanted() && form.querySelector("[name=seen_at]") !== null;
    const settle = () => {
      save.hidden = false;
      const offer = offerFor(field.value.trim());
      save.disabled = offer ? offer.disabled : !isRead();
      field.toggleAttribute("aria-invalid", false);
      if (reading.querySelector(".error")) field.setAttribute("aria-invalid", "true");
    };

    async function read() {
      clearTimeout(timer);
      const typed = field.value.trim();
      running?.abort();
      running = null;
      choose(offerFor(typed));
      if (typed === "" || offerFor(typed)) {
        reading.replaceChildren(...(typed === "" ? [hint.cloneNode(true)] : []));
        shown = wanted();
        if (offerFor(typed)) {
          const words = document.createElement("p");
          words.className = "reading-words";
          const bold = document.createElement("b");
          bold.textContent = offerFor(typed).querySelector("b").textContent;
          const when = document.createElement("span");
          when.className = "quiet";
          when.textContent = offerFor(typed).title;
          words.append(bold, when);
          reading.append(words);
          if (isAlone(typed)) reading.append(Object.assign(document.createElement("p"), { className: "quiet small", textContent: _("Saved in a moment. Type on for another time.") }));
          if (offerFor(typed).disabled) when.textContent = _("is not offered now: its time has passed, or another one means the same. Nothing is saved.");
        }
        settle();
        return;
      }
      const request = new AbortController();
      const asked = wanted();
      const every = series() && `&every=${series()}`;
      running = request;
      const slow = setTimeout(() => reading.classList.add("busy"), 300);
      try {
        const answer = await fetch(`/when/preview?phrase=${encodeURIComponent(typed)}${every}`, { signal: request.signal, headers: { Accept: "text/html" } });
        if (answer.redirected) return location.reload();
        if (answer.status >= 500) throw new Error(answer.statusText);
        if (!answer.ok) return;
        const piece = await answer.text();
        if (request.signal.aborted) return;
        reading.innerHTML = piece;
        shown = asked;
        settle();
      } catch (problem) {
        if (problem.name === "AbortError") return;
        reading.replaceChildren(Object.assign(document.createElement("p"), { className: "error", textContent: _("The server cannot be reached.") }));
        settle();
        if (form.offsetParent) timer = setTimeout(read, AGAIN);
      } finally {
        clearTimeout(slow);
        reading.classList.remove("busy");
        if (running === request) running = null;
      }
    }

    // A key that was typed alone, where single letters act.
    const isAlone = (typed) => typed === field.value && offerFor(typed)?.disabled === false && document.documentElement.matches(".has-keys") && form.matches("dialog form, details form");
    field.addEventListener("input", ({ inputType }) => {
      clearTimeout(timer);
      clearTimeout(alone);
      if (inputType !== "insertText" || !offerFor(field.value)) return void (timer = setTimeout(read, PAUSE));
      read();
      if (isAlone(field.value)) alone = setTimeout(() => form.requestSubmit(offerFor(field.value)), ALONE);
    });
    for (const kind of ["submit", "focusout", "keydown"]) form.addEventListener(kind, () => clearTimeout(alone), true);
    // A phrase that was read elsewhere, with the piece of the page that says how.
    form.fill = (phrase, piece) => {
      clearTimeout(timer);
      field.value = phrase;
      reading.innerHTML = piece;
      shown = wanted();
      settle();
    };
    form.addEventListener("change", (event) => { if (event.target.name === "scope" && form.dataset.series) read(); });
    form.addEventListener("keydown", async (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      const inNote = event.target.name === "note";
      if (event.target !== field && !(inNote && (event.ctrlKey || event.metaKey)) && event.target.type !== "text") return;
      event.preventDefault();
      const offer = offerFor(field.value.trim());
      if (offer) return offer.disabled ? undefined : form.requestSubmit(offer);
      // What was read and refused is not read again: its suggestions would be replaced under a pointer.
      if (shown !== wanted()) await read();
      // Enter again takes the first suggestion, and once more saves it: its time is shown before.
      if (isRead()) form.requestSubmit(save); else (reading.querySelector("button[name=suggestion]") || field).focus();
    });
    form.addEventListener("click", (event) => {
      const suggestion = event.target.closest("button[name=suggestion]");
      if (!suggestion) return;
      event.preventDefault();
      field.value = suggestion.value;
      field.focus();
      read();
    });
    form.addEventListener("submit", (event) => { if (!event.defaultPrevented) setTimeout(() => form.classList.add("busy"), 300); });
    settle();
  }

  const dialog = document.getElementById("sheet");
  if (!dialog) return;
  const form = dialog.querySelector("form");
  const field = form.querySelector("[name=phrase]");
  const title = document.getElementById("sheet-title");
  const more = form.querySelector("[data-more]");
  const label = form.querySelector("label[for=phrase]");
  const away = form.querySelector("[data-offline]");

  // A finger gets the presets first and no field with the focus, whose keyboard would cover them. Times that
  // were typed lately come last, so that the field is in sight.
  let isTouched = matchMedia("(pointer:coarse)").matches;
  addEventListener("pointerdown", ({ pointerType }) => { isTouched = pointerType === "touch"; }, true);
  addEventListener("keydown", () => { isTouched = false; }, true);
  field.removeAttribute("autofocus");
  function order() {
    const [offers, lately] = form.querySelectorAll(".offers");
    const last = form.querySelector(".reading");
    if (isTouched) label.before(offers);
    else last.after(offers);
    if (lately && isTouched) last.after(lately);
    else if (lately) offers.append(lately);
  }

  const tellOffline = () => { away.hidden = navigator.onLine; };
  for (const kind of ["online", "offline"]) addEventListener(kind, tellOffline);

  async function refresh() {
    if (Date.now() - Number(dialog.dataset.fresh || loaded) < STALE) return;
    const answer = await fetch("/when/offers").catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const [offers, lately] = form.querySelectorAll(".offers");
    lately?.remove();
    offers.innerHTML = await answer.text();
    order();
    dialog.dataset.fresh = String(Date.now());
  }

  window.openSheet = (row) => {
    if (row.matches("[data-snooze]")) return window.editInPlace(row.querySelector("details.in-place"));
    if (!row.dataset.sheetUrl) return row.querySelector("a.button")?.click();
    form.action = row.dataset.sheetUrl;
    form.querySelector("[data-title]").textContent = row.dataset.title || (row.querySelector(".row-title") || document.querySelector("h1")).textContent;
    form.querySelector("[name=note]").value = row.dataset.note || "";
    const [policy, scope] = (row.dataset.reply || "keep").split(" ");
    form.querySelector("[name=reply_policy]").value = policy;
    form.querySelector("[name=reply_scope]").value = scope || "message";
    form.querySelector("[data-recurrence]").textContent = row.dataset.recurrence || "";
    form.dataset.series = row.dataset.series || "";
    form.querySelector("[data-occurrence-choice]").hidden = !row.dataset.recurrence;
    form.querySelector("[name=scope][value=once]").checked = true;
    const conversation = form.querySelector("[data-conversation-choice]");
    const { count = "1" } = row.dataset;
    conversation.hidden = count === "1";
    conversation.querySelector("legend span").textContent = conversation.dataset.conversationChoice.replace("#", count);
    form.querySelector("[name=only]").checked = false;
    // Of many, each keeps what a reply does.
    const many = row.matches("[data-many]");
    form.querySelector(".reply-field").hidden = many;
    for (const choice of form.querySelectorAll(".reply-field select")) choice.disabled = many;
    form.querySelector("[data-many-repeat]").hidden = !row.dataset.repeating;
    form.querySelector("[data-many-repeat]").textContent = row.dataset.repeating || "";
    field.value = row.dataset.phrase || "";
    delete row.dataset.phrase;
    field.dispatchEvent(new Event("input"));
    more.open = form.querySelector("[name=note]").value !== "" || (!many && policy !== "keep");
    order();
    tellOffline();
    dialog.showModal();
    (isTouched ? title : field).focus();
    refresh();
  };

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-open-sheet]");
    if (opener?.closest("[data-sheet-url]") && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      window.openSheet(opener.closest("[data-row]"));
    }
    if (event.target.closest("[data-close]") || event.target === dialog) dialog.close();
  });
})();
