// Says what is under the pointer: of each series the point next to it along the horizontal axis.
for (const area of document.querySelectorAll(".area[data-x]")) {
  const side = 4000;
  const ruler = (text) => { const [scale, low, high] = text.split(" "); return { log: scale === "log", low: +low, high: +high }; };
  const x = ruler(area.dataset.x), y = ruler(area.dataset.y), names = area.dataset.names ? area.dataset.names.split("\n") : null;
  const value = (of, part) => of.log ? of.low * (of.high / of.low) ** part : of.low + (of.high - of.low) * part;
  const figure = (number) => Number(number.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  const series = [...area.querySelectorAll("[data-of]")].reverse().map((path) => ({
    name: path.dataset.of, colour: path.getAttribute("class"), stacked: path.classList.contains("stack"),
    points: [...path.getAttribute("d").matchAll(/(-?\d+) (-?\d+)/g)].map((point) => [+point[1], +point[2]]),
  })).filter((one) => one.points.length);
  const tip = document.createElement("div"), line = document.createElement("i");
  tip.className = "tip"; line.className = "here"; tip.hidden = line.hidden = true; area.append(line, tip);
  area.addEventListener("pointermove", (event) => {
    const box = area.querySelector("svg").getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * side;
    if (at < 0 || at > side) { tip.hidden = line.hidden = true; return; }
    let place = null, below = side;
    const rows = series.map((one) => {
      const near = one.points.reduce((best, point) => Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best);
      if (place === null || Math.abs(near[0] - at) < Math.abs(place - at)) place = near[0];
      const height = value(y, 1 - near[1] / side) - (one.stacked ? value(y, 1 - below / side) : 0);
      if (one.stacked) below = near[1];
      const row = document.createElement("li");
      row.className = one.colour.match(/c\d( again)?/)[0]; row.textContent = `${one.name}: ${figure(height)}`;
      return row;
    });
    const where = value(x, place / side), head = document.createElement("b"), list = document.createElement("ul");
    head.textContent = names ? names[Math.round(where)] ?? "" : figure(where);
    list.className = "legend"; list.append(...rows); tip.replaceChildren(head, list);
    tip.hidden = line.hidden = false;
    line.style.left = `${place / side * 100}%`;
    tip.style.left = place < side / 2 ? `calc(${place / side * 100}% + 0.6rem)` : "auto";
    tip.style.right = place < side / 2 ? "auto" : `calc(${100 - place / side * 100}% + 0.6rem)`;
  });
  area.addEventListener("pointerleave", () => { tip.hidden = line.hidden = true; });
}
