// No line ends between a formula and its comma or bracket, nor within "6.0 ± 5.5" and "33 %".
const together = () => {
  const article = document.querySelector("article.bd-article");
  for (const formula of article?.querySelectorAll("span.math") ?? []) {
    const text = (node) => (node?.nodeType === Node.TEXT_NODE ? node : null);
    const after = text(formula.nextSibling);
    const before = text(formula.previousSibling);
    const ends = after?.data.match(/^[.,;:!?)\]”’]+/)?.[0].length;
    const begins = before?.data.match(/[([“‘]+$/)?.index;
    if (!ends && begins === undefined) continue;
    const both = document.createElement("span");
    both.className = "together";
    formula.before(both);
    both.append(formula);
    if (begins !== undefined) formula.before(before.splitText(begins));
    if (ends) {
      after.splitText(ends);
      both.append(after);
    }
  }
  const walker = document.createTreeWalker(article ?? document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!/ [±%]/.test(node.data) || node.parentElement.closest("pre, code, script, .math")) continue;
    node.data = node.data.replace(/ (?=[±%])|(?<=±) /g, "\u00a0");
  }
};
document.addEventListener("DOMContentLoaded", together);
