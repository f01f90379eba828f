// On the page of what was opened from a list: the one before and the next one of that list, and the way back to it as it
// was. On a list: remembers its rows for that, in this tab only.
(() => {
  "use strict";
  const LIST = "snoozer-list";
  const LEFT = "snoozer-left";
  const back = document.querySelector("main > a.back");

  if (document.getElementById("place")) {
    const titles = () => [...document.querySelectorAll("#place .list .row:not([hidden]) .row-title")];
    addEventListener("pagehide", () => {
      const url = new URL(location.href);
      url.searchParams.delete("open");
      const hrefs = titles().map((title) => title.getAttribute("href"));
      sessionStorage.setItem(LIST, JSON.stringify({ url: url.pathname + url.search, hrefs }));
    });
    const left = sessionStorage.getItem(LEFT);
    sessionStorage.removeItem(LEFT);
    titles().find((title) => title.getAttribute("href") === left)?.focus();
    return;
  }
  if (!back) return;
  const { url, hrefs } = JSON.parse(sessionStorage.getItem(LIST) ?? "{\"hrefs\":[]}");
  const at = hrefs.findIndex((href) => `${location.pathname}/`.startsWith(`${href}/`));
  if (at < 0) return;
  // The form of a new time leads back to its message.
  if (!back.pathname.startsWith(hrefs[at])) back.href = url;
  back.addEventListener("click", () => sessionStorage.setItem(LEFT, hrefs[at]));
  window.listOrder = { url, step: (step) => hrefs[at + step] };
})();
