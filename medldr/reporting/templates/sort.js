// Click on a column's heading to sort its table; once more to turn the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  if (body.rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = [...body.rows].some((row) => row.cells[column].dataset.value !== undefined);
      const key = (row) => {
        const cell = row.cells[column];
        return numeric ? parseFloat(cell.dataset.value) : cell.textContent;
      };
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (typeof x === "string") return x.localeCompare(y, "en", { numeric: true });
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
        return x - y;
      };
      const rows = [...body.rows].sort(order);
      if (down) {
        const empty = rows.filter((row) => Number.isNaN(key(row)));
        const full = rows.filter((row) => !Number.isNaN(key(row)));
        body.append(...full.reverse(), ...empty);
      } else {
        body.append(...rows);
      }
    });
  });
}
