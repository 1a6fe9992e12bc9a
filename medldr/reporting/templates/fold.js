// A link to a folded section, from the navigation or another page, opens it.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target && (target.querySelector("details.section") ?? target); at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
};
addEventListener("hashchange", unfold);
unfold();
