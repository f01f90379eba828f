// Notifications on this device: asks for them after a click only, and tells which row of the list is this device.
(() => {
  "use strict";
  const form = document.querySelector("form[data-state=off]");
  const error = document.querySelector("[data-error]");
  const show = (state) => {
    for (const one of document.querySelectorAll("[data-state]")) one.hidden = one.dataset.state !== state;
  };
  const fail = (text) => {
    error.hidden = false;
    error.querySelector("span").textContent = text;
  };
  const isSupported = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  const subscription = async () => (await navigator.serviceWorker.ready).pushManager.getSubscription();

  // The server shows a digest of each device's address, which is a secret.
  async function rowOf(own) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(own.endpoint)));
    const text = [...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return document.querySelector(`[data-endpoint="${text}"]`);
  }

  async function begin() {
    show("");
    if (!isSupported) return show("unsupported");
    const own = await subscription();
    const row = own && await rowOf(own);
    if (row) row.querySelector("[data-this]").hidden = false;
    row?.querySelector("[data-remove]").form.addEventListener("submit", () => { own.unsubscribe(); });
    show(row ? "on" : Notification.permission === "denied" ? "denied" : "off");
  }

  const posted = (url, fields) => fetch(url, { method: "POST", body: fields, redirect: "manual", headers: { Accept: "application/json" } });

  async function switchOn() {
    error.hidden = true;
    const fields = new URLSearchParams(new FormData(form));
    if (await Notification.requestPermission() !== "granted") return show(Notification.permission === "denied" ? "denied" : "off");
    const answer = await posted(form.dataset.keyUrl, fields).catch(() => null);
    if (!answer?.ok) return fail(form.dataset.away);
    const { key } = await answer.json();
    const manager = (await navigator.serviceWorker.ready).pushManager;
    let made;
    try {
      // One that was made with another key is of no use any more.
      await (await manager.getSubscription())?.unsubscribe();
      made = (await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key })).toJSON();
    } catch {
      return fail(form.dataset.failed);
    }
    fields.set("endpoint", made.endpoint);
    fields.set("p256dh", made.keys.p256dh);
    fields.set("auth", made.keys.auth);
    const saved = await posted(form.action, fields).catch(() => null);
    if (saved?.type === "opaqueredirect") return location.reload();
    fail(saved?.status === 422 ? (await saved.json()).error : form.dataset.away);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    switchOn().finally(() => { button.disabled = false; });
  });
  begin();
})();
