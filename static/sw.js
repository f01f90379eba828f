// The service worker. `SHELL`, which the server puts before this script, names the files that it keeps: styles, scripts,
// icons and the page that is shown offline. It keeps no page of a person's, and answers nothing else from its store.
"use strict";
const PREFIX = "snoozer-shell-";
const STORE = PREFIX + SHELL.version;

self.addEventListener("install", (event) => {
  // Without cookies: what is kept is the same for everybody, and no waiting notice is used up by it.
  const asked = [...SHELL.files, SHELL.offline].map((url) => new Request(url, { credentials: "omit", cache: "no-cache" }));
  event.waitUntil(caches.open(STORE).then((store) => store.addAll(asked)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== STORE).map((name) => caches.delete(name)));
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (url.origin !== location.origin) return;
  if (event.request.mode === "navigate") {
    const isShare = event.request.method === "POST" && url.pathname === "/share";
    event.respondWith(isShare ? receive(event) : open(event.request));
  } else if (event.request.method === "GET" && SHELL.files.includes(url.pathname + url.search)) {
    event.respondWith(kept(event.request));
  }
});

// The page that is shown offline, in the language of a page that was opened.
self.addEventListener("message", (event) => {
  if (event.data?.lang) event.waitUntil(keepOffline(event.data.lang));
});

async function keepOffline(lang) {
  const store = await caches.open(STORE);
  const present = await store.match(SHELL.offline, { ignoreVary: true });
  if (!present || present.headers.get("Content-Language") === lang) return;
  const headers = { "Accept-Language": lang };
  const page = await fetch(SHELL.offline, { credentials: "omit", cache: "no-cache", headers }).catch(() => null);
  // It takes the place of the one before, whose request named no language either; at no moment is there none.
  if (page?.ok) await store.put(SHELL.offline, page);
}

const kept = async (request) => (await (await caches.open(STORE)).match(request, { ignoreVary: true })) || fetch(request);

async function open(request) {
  try {
    return await fetch(request);
  } catch {
    return (await (await caches.open(STORE)).match(SHELL.offline, { ignoreVary: true })) || Response.error();
  }
}

// Shared files cannot be put into a page's form by the server. They are handed to the Add page, in memory alone, when it
// asks for them; they are not sent before the person sends its form.
async function receive(event) {
  const sent = await event.request.clone().formData().catch(() => null);
  const files = sent ? sent.getAll("message").filter((one) => one instanceof File && one.size > 0) : [];
  if (files.length === 0) return open(event.request);
  event.waitUntil(handOver(files));
  return Response.redirect("/add#shared", 303);
}

const HANG = 30000;
const handOver = (files) => new Promise((resolve) => {
  const end = () => {
    self.removeEventListener("message", answer);
    resolve();
  };
  const answer = (event) => {
    if (event.data !== "shared files?") return;
    event.source.postMessage({ files });
    end();
  };
  self.addEventListener("message", answer);
  setTimeout(end, HANG);
});

// A push is one notification for one occurrence. Its buttons act by POST with a token that can do that alone.
self.addEventListener("push", (event) => {
  const content = event.data?.json();
  if (content?.title) event.waitUntil(notify(content.title, content));
});

const ICON = "/static/icons/192.png";
const BADGE = "/static/icons/badge-96.png";
const notify = (title, content) => self.registration.showNotification(title, {
  body: content.body || "",
  tag: content.tag,
  icon: ICON,
  badge: BADGE,
  data: content,
  silent: content.silent || false,
  actions: (content.buttons || []).map(({ name, title }) => ({ action: name, title })),
});

self.addEventListener("notificationclick", (event) => {
  const content = event.notification.data;
  event.notification.close();
  const button = (content.buttons || []).find(({ name }) => name === event.action);
  event.waitUntil(button ? act(content, button) : openPage(content.open));
});

// What came of it takes the place of the notification, silently; a click on that opens the page where it can be undone.
async function act(content, button) {
  let said = null;
  try {
    const answer = await fetch("/push/act", { method: "POST", body: new URLSearchParams({ token: button.token }) });
    said = await answer.json();
  } catch {
    // Offline, or no answer that can be read: the buttons stay.
  }
  if (!said?.text) return notify(content.title, { ...content, body: content.unsaved });
  return notify(said.text, { tag: content.tag, open: said.open || content.open, body: content.body, silent: true });
}

async function openPage(path) {
  const url = new URL(path, location.origin);
  if (url.origin !== location.origin) return;
  const [tab] = await self.clients.matchAll({ type: "window" });
  const isShown = tab && await tab.navigate(url.href).then((one) => one?.focus()).catch(() => null);
  if (!isShown) await self.clients.openWindow(url.href);
}
