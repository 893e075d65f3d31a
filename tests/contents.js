// What the page holds: {shows, coarse}. Figures are told by their size on the screen.
async () => {
  const article = document.querySelector("article.bd-article") ?? document.body;
  for (const one of document.querySelectorAll("details")) one.open = true;
  for (const one of document.images) one.loading = "eager";
  await Promise.all([...document.images].map((one) => one.decode().catch(() => {})));

  const drawn = /\.svg([?#]|$)|^data:image\/svg/;
  const coarse = [...article.querySelectorAll("img")]
    .filter((one) => one.clientWidth && !drawn.test(one.currentSrc || one.src))
    .filter((one) => one.naturalWidth < 2 * one.clientWidth)
    .map((one) => `${one.naturalWidth} px shown at ${one.clientWidth}: ${one.alt.slice(0, 60)}`);
  return {
    shows: article.querySelector("figure, img, table") !== null,
    coarse,
  };
}
