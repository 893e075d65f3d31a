// The tables of the page that must be scrolled to be read, as "width > place: first words".
() => {
  const boxes = [...document.querySelectorAll("article.bd-article table")].map((table) => {
    const holds = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
    let box = table.parentElement;
    while (!holds(box) && box.parentElement) box = box.parentElement;
    return [box, table];
  });
  return boxes
    .filter(([box]) => box.scrollWidth > box.clientWidth + 1)
    .map(([box, table]) => {
      const words = table.innerText.replace(/\s+/g, " ").trim().slice(0, 60);
      return `${box.scrollWidth} > ${box.clientWidth} px: ${words}`;
    });
}
