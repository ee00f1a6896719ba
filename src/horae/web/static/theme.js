// Before anything is painted: the colours that were chosen here. Without a choice, as the system says.
"use strict";
{
  let chosen = null;
  try {
    chosen = localStorage.getItem("horae-theme");
  } catch {
    // no storage, no choice
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
