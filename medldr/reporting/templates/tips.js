// The numbers of a point at once, also for a finger and from the keyboard: a figure is one stop of the
// tab key, arrow keys go from point to point, Escape closes. Without this script browsers show them later.
const tip = document.createElement("div");
tip.className = "shown-tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);
const hide = () => {
  tip.hidden = true;
  for (const point of document.querySelectorAll(".tip.at")) point.classList.remove("at");
};
const show = (point) => {
  hide();
  tip.textContent = point.dataset.text;
  tip.hidden = false;
  const [at, wide] = [point.getBoundingClientRect(), document.documentElement.clientWidth];
  tip.style.left = `${Math.max(8, Math.min(at.left, wide - tip.offsetWidth - 8)) + scrollX}px`;
  tip.style.top = `${at.top + scrollY - tip.offsetHeight - 4}px`;
};
for (const box of document.querySelectorAll(".drawing")) {
  const points = [...box.querySelectorAll(".tip")];
  for (const point of points) {
    point.dataset.text = point.textContent;
    point.replaceChildren();
    point.addEventListener("pointerenter", () => show(point));
    // A finger leaves as soon as it is lifted; its tip stays until it touches something else.
    point.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
  }
  if (!points.length) continue;
  let place = -1;
  box.tabIndex = 0;
  box.setAttribute("aria-roledescription", "figure; arrow keys read its points");
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", (event) => {
    const last = points.length - 1;
    const next = { ArrowRight: Math.min(place + 1, last), ArrowLeft: Math.max(place - 1, 0), Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    place = next;
    points[place].scrollIntoView({ block: "nearest", inline: "nearest" });
    show(points[place]);
    points[place].classList.add("at");
  });
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".tip")) hide(); });
