// Registers the service worker: offline notice, files that are shared, push.
(() => {
  "use strict";
  const { serviceWorker } = navigator;
  serviceWorker?.register("/sw.js").catch(() => {});
  // The notice is kept in the language of the pages, which need not be the browser's.
  const { lang } = document.documentElement;
  serviceWorker?.ready.then((registration) => registration.active?.postMessage({ lang }));
})();
