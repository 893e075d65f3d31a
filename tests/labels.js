// Answers with the figures of the page whose smallest text is shown in less than eight pixels.
async () => {
  const found = [];
  const look = (what, sizes) => {
    const least = Math.min(...sizes);
    if (least < 8) found.push(`${least.toFixed(1)} px: ${what}`);
  };
  const article = document.querySelector("article.bd-article") ?? document.body;
  for (const one of article.querySelectorAll("details")) one.open = true;
  for (const image of article.querySelectorAll("img[src$='.svg']")) {
    await image.decode();
    const text = await (await fetch(image.src)).text();
    const unit = image.getBoundingClientRect().width / Number(text.match(/viewBox="0 0 ([\d.]+)/)[1]);
    // Matplotlib draws text as outlines, a hundred units high before they are scaled.
    const outlines = [...text.matchAll(/scale\(([\d.]+) -\1\)/g)].map((one) => 100 * one[1]);
    const written = [...text.matchAll(/font-size: ([\d.]+)px/g)].map((one) => Number(one[1]));
    look(image.getAttribute("src"), [...outlines, ...written].map((size) => size * unit));
  }
  for (const svg of article.querySelectorAll("svg:not(mjx-container svg, svg svg)")) {
    const size = (one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a;
    const labels = svg.querySelectorAll("text:not(svg svg text)"); // what is inside are marks
    look(svg.ariaLabel, [...labels].map(size));
  }
  return found;
}
