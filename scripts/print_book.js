// Turns the first page of the rendered book into one long page that holds all of them, ready for
// printing. Called with the style sheet for paper; answers with the names of the pages and with the
// text of every heading.
async (style) => {
  const here = new URL(location.href);
  const parse = async (url) =>
    new DOMParser().parseFromString(await (await fetch(url)).text(), "text/html");
  const first = await parse(here);
  const name = (url) => decodeURIComponent(url.pathname).replace(/^\//, "").replace(/\.html$/, "");

  // The sidebar has the pages in their order, under the names of their parts.
  const contents = first.querySelector("nav.bd-links");
  const pages = new Map();
  for (const link of contents.querySelectorAll("a.internal")) {
    const url = new URL(link.getAttribute("href").replace(/^#.*/, ""), here);
    pages.set(name(url), url);
  }

  // An id is unique on its page only, so the page's name comes before it: book/notation--scores.
  const lead = (link, base) => {
    const url = new URL(link.getAttribute("href"), base);
    if (url.origin !== here.origin) return;
    if (!pages.has(name(url))) link.removeAttribute("href"); // no page of the book: a download
    else link.setAttribute("href", `#${name(url)}--${decodeURIComponent(url.hash.slice(1))}`);
  };

  const book = document.createElement("main");
  const rules = [style];
  for (const [page, url] of pages) {
    const document_ = page === name(here) ? first : await parse(url);
    const article = document_.querySelector("article.bd-article");
    for (const one of article.querySelectorAll("script, button, a.headerlink")) one.remove();
    for (const one of article.querySelectorAll("[id]")) one.id = `${page}--${one.id}`;
    for (const one of article.querySelectorAll("a[href]")) lead(one, url);
    for (const one of article.querySelectorAll("[src]")) {
      one.setAttribute("src", new URL(one.getAttribute("src"), url));
    }
    for (const one of article.querySelectorAll("details")) one.open = true;
    const title = article.querySelector("h1").textContent.trim();
    const paper = `page${rules.length}`;
    article.id = `${page}--`;
    article.style.page = paper;
    rules.push(`@page ${paper} { @top-center { content: ${JSON.stringify(title)} } }`);
    book.append(document.importNode(article, true));
  }

  const textOf = (selector) => first.querySelector(selector)?.textContent.trim() ?? "";
  const title = first.title.split(" \u2014 ").pop();
  const front = document.createElement("section");
  const heading = document.createElement("p");
  const [main, ...rest] = title.split(": ");
  heading.className = "book-title";
  heading.textContent = main;
  front.className = "book-front";
  front.append(heading);
  for (const [kind, text] of [
    ["book-subtitle", rest.join(": ")],
    ["book-author", textOf(".component-author").replace(/^By /, "")],
    ["book-date", textOf(".last-updated").replace(/^.* on |\.$/g, "")],
  ]) {
    const line = document.createElement("p");
    line.className = kind;
    line.textContent = text;
    front.append(line);
  }
  for (const link of contents.querySelectorAll("a.internal")) lead(link, here);
  const list = document.createElement("nav");
  list.className = "book-contents";
  list.innerHTML = contents.innerHTML;
  for (const one of list.querySelectorAll("[role=heading]")) one.removeAttribute("role");
  for (const one of list.querySelectorAll("details")) one.open = true;
  for (const one of list.querySelectorAll("summary")) one.hidden = true;
  for (const one of list.querySelectorAll("a")) {
    // Room for the number of a page, which is known once all are printed.
    one.append(Object.assign(document.createElement("span"), { textContent: "000" }));
  }
  book.prepend(front, document.importNode(list, true));

  document.documentElement.dataset.theme = document.documentElement.dataset.mode = "light";
  document.title = title;
  document.body.replaceChildren(book);
  document.head.append(Object.assign(document.createElement("style"), {
    textContent: rules.join("\n"),
  }));

  await window.MathJax?.startup?.promise;
  await window.MathJax?.typesetPromise?.([book]);
  const images = [...document.images];
  for (const image of images) image.loading = "eager";
  await Promise.all(images.map((image) => image.decode().catch(() => {})));

  // Paper does not scroll: what is wider than its column becomes smaller.
  for (const one of book.querySelectorAll("table, .math mjx-container")) {
    const column = one.closest("li, dd, div, section, article").clientWidth;
    const width = Math.max(one.scrollWidth, one.querySelector("svg")?.clientWidth ?? 0);
    if (width > column) one.style.zoom = Math.max(0.4, column / width);
  }
  const headings = [...book.querySelectorAll("h1, h2, h3, h4, h5, h6")];
  return { pages: [...pages.keys()], headings: headings.map((one) => one.textContent.trim()) };
}
