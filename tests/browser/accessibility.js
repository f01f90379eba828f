// Returns controls and fields without a name, icons exposed to screen readers, duplicate or dangling ids, targets below 44 px.
() => {
  const shown = (e) => e.getClientRects().length > 0;
  const name = (e) => (e.getAttribute("aria-label") || (e.labels && [...e.labels].map((l) => l.textContent).join(" ")) || e.textContent || "").trim();
  const wrong = [];
  for (const e of document.querySelectorAll("a, button, input:not([type=hidden]), textarea, select")) {
    if (shown(e) && !name(e)) wrong.push(e.outerHTML);
  }
  for (const e of document.querySelectorAll("svg")) if (e.getAttribute("aria-hidden") !== "true") wrong.push(e.outerHTML);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("h1: " + document.querySelectorAll("h1").length);
  if (document.querySelectorAll("main").length !== 1) wrong.push("main");
  if (!document.documentElement.lang || !document.title.trim()) wrong.push("lang or title");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) wrong.push("id twice: " + id);
  for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    for (const id of (e.getAttribute("aria-describedby") || e.getAttribute("aria-labelledby")).split(" ")) {
      if (!document.getElementById(id)) wrong.push("points nowhere: " + id);
    }
  }
  for (const e of document.querySelectorAll("main button, main .button, .nav a, main input:not([type=hidden]), main select")) {
    const box = e.getBoundingClientRect();
    if (shown(e) && box.height > 0 && box.height < 43.5 && !e.closest(".theme")) wrong.push("low: " + e.outerHTML);
  }
  return wrong;
}
