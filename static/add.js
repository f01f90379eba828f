// Drop message files anywhere on the page; sizes are checked before anything is sent.
(() => {
  "use strict";
  const { _ } = window;
  const form = document.querySelector("[data-drop]");
  const field = form.querySelector("[type=file]");
  const zone = form.querySelector(".drop");
  const error = document.getElementById("file-error");
  const largest = Number(form.dataset.largest);

  const showError = (text) => {
    error.hidden = text === "";
    error.querySelector("span").textContent = text;
    if (text === "") return field.removeAttribute("aria-invalid");
    field.setAttribute("aria-invalid", "true");
    field.focus();
  };
  const check = () => {
    const files = [...field.files];
    const large = files.find((file) => file.size > largest);
    const sum = files.reduce((total, file) => total + file.size, 0);
    const most = Math.round(largest / 1048576);
    if (large) showError(_("%(name)s has %(size)s MB, and Snoozer keeps at most %(most)s MB. Nothing was sent.", { name: large.name, size: Math.ceil(large.size / 1048576), most }));
    else if (sum > largest) showError(_("Together these have more than %(most)s MB. Add them in smaller groups. Nothing was sent.", { most }));
    else showError("");
    return error.hidden;
  };

  field.addEventListener("change", check);
  form.addEventListener("submit", (event) => { if (!check()) event.preventDefault(); });
  document.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) zone.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length === 0) return;
    field.files = event.dataTransfer.files;
    if (check()) form.requestSubmit();
  });

  // Files that another app has shared wait in the service worker.
  if (location.hash !== "#shared" || !navigator.serviceWorker?.controller) return;
  history.replaceState(null, "", "/add");
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    if (!data?.files) return;
    const taken = new DataTransfer();
    for (const file of data.files) taken.items.add(file);
    field.files = taken.files;
    check();
    form.querySelector("button").focus();
  });
  navigator.serviceWorker.startMessages();
  navigator.serviceWorker.controller.postMessage("shared files?");
})();
