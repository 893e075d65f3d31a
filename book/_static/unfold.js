// A link may lead into what is folded: open it, in browsers that do not do so themselves.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.checkVisibility?.()) return;
  for (let one = target.closest("details"); one; one = one.parentElement?.closest("details")) {
    one.open = true;
  }
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
addEventListener("load", unfold);
