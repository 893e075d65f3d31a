// The tables and code of the page that must be scrolled to be read, "width > place: first words".
() => {
  const boxes = [...document.querySelectorAll("article.bd-article :is(table, pre)")].map((one) => {
    const holds = (box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
    let box = one.matches("pre") ? one : one.parentElement;
    while (!holds(box) && box.parentElement) box = box.parentElement;
    return [box, one];
  });
  return boxes
    .filter(([box]) => box.scrollWidth > box.clientWidth + 1)
    .map(([box, one]) => {
      const words = one.innerText.replace(/\s+/g, " ").trim().slice(0, 60);
      return `${box.scrollWidth} > ${box.clientWidth} px: ${words}`;
    });
}
