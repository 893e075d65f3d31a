// The texts of the page that stand out too little from what is behind them, as "ratio: text".
() => {
  const light = (rgb) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(rgb[0]) + 0.7152 * part(rgb[1]) + 0.0722 * part(rgb[2]);
  };
  const colour = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return text.startsWith("color(srgb") ? numbers.map((v, i) => (i < 3 ? 255 * v : v)) : numbers;
  };
  // What shows through all backgrounds, up to that of the page.
  const behind = (one) => {
    if (!one) return [255, 255, 255];
    const [r, g, b, a = 1] = colour(getComputedStyle(one).backgroundColor);
    const under = a < 1 ? behind(one.parentElement) : [0, 0, 0];
    return [r, g, b].map((v, i) => a * v + (1 - a) * under[i]);
  };
  const SKIP = "mjx-container *, script, style, a.headerlink"; // the last is for the mouse only
  const article = document.querySelector("article.bd-article") ?? document.body;
  const faint = new Set();
  for (const one of article.querySelectorAll("*")) {
    const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !one.checkVisibility() || one.matches(SKIP)) continue;
    const [a, b] = [light(colour(getComputedStyle(one).color)), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.add(`${ratio.toFixed(1)}: ${one.textContent.trim().slice(0, 60)}`);
  }
  return [...faint];
}
