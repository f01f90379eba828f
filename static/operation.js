// The page of an operation shows how far it is while it is under way. A part stays as it is while the focus or a selection
// is in it.
(() => {
  "use strict";
  const HANG = 30000;
  const PARTS = ["followed-progress", "followed-acts", "followed-rows"];
  const wait = Number(document.getElementById("followed").dataset.seconds) * 1000;

  function isUsed(part) {
    const selection = getSelection();
    const selected = !selection.isCollapsed && selection.rangeCount > 0 && selection.getRangeAt(0).intersectsNode(part);
    return selected || part.contains(document.activeElement);
  }

  // Whether all that is new is shown.
  function replaceParts(fresh) {
    let all = true;
    for (const id of PARTS) {
      const before = document.getElementById(id);
      const after = fresh.getElementById(id);
      if (!before || (after && before.isEqualNode(after))) continue;
      // A form has another token in each page.
      if (id === "followed-acts" && after) continue;
      if (isUsed(before)) all = false;
      else if (after) before.replaceWith(after);
      else before.remove();
    }
    return all;
  }

  async function follow() {
    let fresh;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html", "Snoozer-Refresh": "1" }, signal: AbortSignal.timeout(HANG) });
      if (answer.status < 500) fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      fresh = undefined;
    }
    if (fresh) {
      // The person is signed out, or has another role.
      if (!fresh.getElementById("followed-progress")) return location.reload();
      if (replaceParts(fresh) && !fresh.getElementById("followed")) return undefined;
    }
    return setTimeout(follow, wait);
  }
  setTimeout(follow, wait);
})();
