// What is edited where it stands: its field has the focus as soon as it is opened; Esc and "Leave it" close it and forget
// what was typed.
(() => {
  "use strict";
  const OPEN = "details.in-place[open]";

  const field = (editor) => ["[name=phrase]", "textarea", "[name=end]"].map((one) => editor.querySelector(one)).find(Boolean);

  function leave(editor) {
    editor.open = false;
    const form = editor.querySelector("form");
    form.reset();
    editor.querySelector("[name=phrase]")?.dispatchEvent(new Event("input"));
    editor.querySelector("summary").focus();
  }

  window.editInPlace = (editor) => {
    editor.open = true;
    field(editor).focus();
  };

  // A toggle does not bubble.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.(OPEN)) field(event.target).focus();
  }, true);
  document.addEventListener("click", (event) => {
    const editor = event.target.closest("[data-leave]")?.closest("details.in-place");
    if (editor) leave(editor);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
    const editor = event.target.closest(OPEN) || document.querySelector(OPEN);
    if (!editor) return;
    event.preventDefault();
    leave(editor);
  });
})();
