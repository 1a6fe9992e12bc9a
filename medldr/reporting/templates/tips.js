// The numbers of a point at once, also for a finger; without this script browsers show them later.
const tip = document.createElement("div");
tip.className = "shown-tip";
tip.hidden = true;
document.body.append(tip);
for (const point of document.querySelectorAll("svg .tip")) {
  const text = point.textContent;
  point.replaceChildren();
  point.addEventListener("pointerenter", () => {
    tip.textContent = text;
    tip.hidden = false;
    const [at, wide] = [point.getBoundingClientRect(), document.documentElement.clientWidth];
    const left = Math.min(at.left, wide - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left) + scrollX}px`;
    tip.style.top = `${at.top + scrollY - tip.offsetHeight - 4}px`;
  });
  // A finger leaves as soon as it is lifted; its tip stays until it touches something else.
  point.addEventListener("pointerleave", (event) => { tip.hidden = event.pointerType !== "touch"; });
}
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".tip")) tip.hidden = true;
});
