// Behind the page of a mailbox whose server has not answered yet: asks again, and shows the mailbox or why it failed.
(async () => {
  "use strict";
  const { href } = document.querySelector("[data-again]");
  const answer = await fetch(href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer || answer.ok) return location.replace(href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  document.body.className = page.body.className;
  document.getElementById("main").replaceWith(page.getElementById("main"));
  return document.getElementById("main").focus();
})();
