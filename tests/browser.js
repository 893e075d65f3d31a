// Looks at the page it is called on, and answers with {title, problems, links, ids}.
async () => {
  const problems = [];
  const report = (kind, what) => problems.push(`${kind}: ${String(what).trim().slice(0, 150)}`);
  const article = document.querySelector("article.bd-article") ?? document.body;
  const inside = (element, selector) => element.closest(selector) !== null;

  // Wait until the mathematics is set, unfold what is folded, and let every picture load.
  await window.MathJax?.startup?.promise;
  for (const one of document.querySelectorAll("details")) one.open = true;
  for (const one of document.querySelectorAll(".toggle-hidden button.toggle-button")) one.click();
  for (const one of document.images) one.loading = "eager";
  await Promise.all([...document.images].map((one) => one.decode().catch(() => {})));
  await document.fonts.ready;
  await new Promise((resolve) => setTimeout(resolve, 100)); // for what scripts still ask for

  // Mathematics.
  for (const one of article.querySelectorAll(".math")) {
    if (!one.querySelector("mjx-container")) report("formula not typeset", one.textContent);
  }
  for (const one of article.querySelectorAll("mjx-merror, [data-mml-node=merror]")) {
    report("formula with an error", one.dataset.mjxError ?? one.textContent);
  }
  for (const one of article.querySelectorAll("mjx-container [fill=red]")) {
    const tex = one.closest("mjx-container").querySelector("mjx-assistive-mml")?.textContent;
    report("formula with an unknown macro", tex);
  }

  // What Sphinx, MyST or MathJax leave in the text when a reference or a formula is not understood.
  const RAW = /\\[([)\]]|\\begin\{|\$[^$\d\s][^$]*\$|\\[a-zA-Z]+\{/;
  const MARKUP = /(^|[\s("])(\*\w([^*]*[^*\s])?\*|`[^`\s]+`)/;
  const UNRESOLVED =
    /\?\?|\[\?\]|\b(eq|fig|ref|prf|glue):[a-z]|\{[a-z]+(:[a-z]+)*\}|\[[^\]]*\]\(#/;
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data;
    if (inside(walker.currentNode.parentElement, "script, style, pre, code, .math, form")) continue;
    if (MARKUP.test(text)) report("markup not understood", text);
    if (RAW.test(text)) report("formula not typeset", text);
    if (UNRESOLVED.test(text)) report("unresolved reference", text);
    if (/^\d+ rows × \d+ columns$/.test(text)) report("table cut by pandas", text);
  }
  for (const one of article.querySelectorAll(".problematic, .system-message")) {
    report("complaint of the parser", one.textContent);
  }
  for (const one of article.querySelectorAll(".xref")) {
    if (!inside(one, "a[href]")) report("unresolved reference", one.textContent);
  }

  // Figures.
  const FILE = /\.(png|jpe?g|gif|svg|webp)$|^\S*[/\\]\S*$/i;
  for (const one of document.images) {
    if (!one.naturalWidth) report("image not loaded", one.getAttribute("src"));
    const text = one.getAttribute("alt")?.trim();
    if (!text) report("image without a text", one.getAttribute("src"));
    else if (FILE.test(text)) report("file name as text", text);
  }

  // Width.
  const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  const above = (one) => (one === article ? [] : boxes(one.parentElement));
  const boxes = (one) => [one, ...above(one)];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) {
    const culprit = [...article.querySelectorAll("*")].find(
      (one) => one.getBoundingClientRect().right > innerWidth + 1 && !boxes(one).some(scrolls),
    );
    const where = culprit?.outerHTML ?? "outside the text";
    report("scrolls sideways", `${wide} > ${innerWidth} px, ${where}`);
  }
  for (const one of article.querySelectorAll("mjx-container > svg")) {
    const right = one.getBoundingClientRect().right;
    for (const box of boxes(one.parentElement)) {
      if (scrolls(box)) break;
      const { overflowX } = getComputedStyle(box);
      if (overflowX !== "visible" && right > box.getBoundingClientRect().right + 1) {
        report("formula cut off", box.textContent);
        break;
      }
    }
  }

  // Hints to the browser that make it look up another machine.
  for (const one of document.querySelectorAll("link[rel~=preconnect], link[rel~=dns-prefetch]")) {
    report("reaches outside", one.href);
  }
  const title = article.querySelector("h1")?.cloneNode(true);
  for (const one of title?.querySelectorAll(".headerlink") ?? []) one.remove();
  return {
    title: title?.textContent.trim() ?? "",
    problems,
    links: [...document.querySelectorAll("a[href]")].map((one) => one.href),
    ids: [...document.querySelectorAll("[id]")].map((one) => one.id),
  };
}
