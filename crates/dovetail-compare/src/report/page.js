// Says what is under the pointer, or where the arrow keys are: of each series the point next to it along the horizontal axis.
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
  tip.className = "tip"; tip.hidden = true; tip.ariaHidden = "true"; line.className = "here away"; area.append(line, tip);
  const places = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((one, other) => one - other);
  let shown = 0;
  const away = () => { tip.hidden = true; line.classList.add("away"); };
  const show = (at) => {
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
    tip.hidden = false;
    line.classList.remove("away");
    line.style.left = `${place / side * 100}%`;
    tip.style.left = place < side / 2 ? `calc(${place / side * 100}% + 0.6rem)` : "auto";
    tip.style.right = place < side / 2 ? "auto" : `calc(${100 - place / side * 100}% + 0.6rem)`;
    shown = place;
    line.ariaValueNow = places.indexOf(place);
    line.ariaValueText = [head, ...rows].map((part) => part.textContent).join("; ");
  };
  area.addEventListener("pointermove", (event) => {
    const box = area.querySelector("svg").getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * side;
    if (at < 0 || at > side) away(); else show(at);
  });
  area.addEventListener("pointerleave", away);
  // The same by keyboard: the line is a slider from point to point.
  if (places.length === 0) continue;
  line.tabIndex = 0; line.role = "slider"; line.ariaLabel = "Values at"; line.ariaValueMin = 0; line.ariaValueMax = places.length - 1;
  line.ariaValueNow = 0; line.ariaValueText = "";
  line.addEventListener("focus", () => show(shown));
  line.addEventListener("blur", away);
  line.addEventListener("keydown", (event) => {
    const last = places.length - 1, now = Math.max(0, places.indexOf(shown)), far = Math.max(1, Math.round(last / 10));
    const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageDown: now - far, PageUp: now + far,
      Home: 0, End: last }[event.key];
    if (event.key === "Escape") away();
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    show(places[Math.min(last, Math.max(0, to))]);
  });
}
