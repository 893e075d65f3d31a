// On a telephone a wide figure scrolls in a box of its own: shrunk to the screen, its labels would be
// too small to read. custom.css has the rule.
const widen = (image) => {
  if (image.naturalWidth < 512 || image.closest(".wide")) return;
  const box = document.createElement("div");
  box.className = "wide";
  image.before(box);
  box.append(image);
};
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll("article.bd-article :is(figure, .cell_output) img")) {
    if (one.complete) widen(one);
    else one.addEventListener("load", () => widen(one));
  }
});
