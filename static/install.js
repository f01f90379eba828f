// Registers the service worker: offline notice, files that are shared, push.
(() => {
  "use strict";
  navigator.serviceWorker?.register("/sw.js").catch(() => {});
})();
