// Click on a column's heading to sort its table; once more to turn the order round. Rows that stand
// apart, such as controls, stay below the others and are sorted among themselves.
for (const table of document.querySelectorAll("table.sortable")) {
  const bodies = [...table.tBodies];
  if (bodies.every((body) => body.rows.length < 2)) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    const value = (row) => row.cells[column].dataset.value;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = [...table.tBodies].some((body) =>
        [...body.rows].some((row) => value(row) !== undefined));
      const key = (row) => (numeric ? parseFloat(value(row)) : row.cells[column].textContent);
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (typeof x === "string") return x.localeCompare(y, "en", { numeric: true });
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
        return x - y;
      };
      for (const body of bodies) {
        const rows = [...body.rows].sort(order);
        const empty = rows.filter((row) => Number.isNaN(key(row)));
        const full = rows.filter((row) => !Number.isNaN(key(row)));
        body.append(...(down ? full.reverse() : full), ...empty);
      }
    });
  });
}
// A table that was moved sideways has a shadow between its first column and what that hides.
for (const box of document.querySelectorAll(".scroll")) {
  box.addEventListener("scroll", () => box.classList.toggle("moved", box.scrollLeft > 0));
}
