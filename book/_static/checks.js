// Cells that only check what a page says are hidden behind one switch under its title.
document.addEventListener("DOMContentLoaded", () => {
  const cells = [...document.querySelectorAll("article.bd-article div.cell")].filter(
    (cell) => cell.querySelector("details.hide > summary .collapsed")?.textContent.trim() === "Check",
  );
  const title = document.querySelector("article.bd-article h1");
  if (!cells.length || !title) return;
  const button = document.createElement("button");
  const show = (shown) => {
    for (const cell of cells) cell.hidden = !shown;
    button.setAttribute("aria-pressed", shown);
    const many = cells.length === 1 ? "the check" : `the ${cells.length} checks`;
    button.textContent = `${shown ? "Hide" : "Show"} ${many} of this page`;
  };
  button.type = "button";
  button.className = "checks";
  button.addEventListener("click", () => show(cells[0].hidden));
  show(false);
  title.after(button);
});
