const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = () => dark.matches
  ? ["#5bb8e0", "#f2a65a", "#7fd18b", "#e57bb0", "#b9a4f0", "#d9d35f", "#63d6cb", "#f08080", "#9fb4c7", "#c9a27e"]
  : ["#0b6e99", "#d1661b", "#2e8b57", "#b0307a", "#6a4fb3", "#8a8412", "#12857c", "#c23b3b", "#5d6b7a", "#7d5a3c"];

function themed(layout) {
  const axis = { gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line"), automargin: true };
  const narrow = innerWidth < 600;
  const theme = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", colorway: palette(),
    font: { color: css("--ink"), family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13 },
    margin: { l: narrow ? 44 : 60, r: 12, t: 8, b: 44 },
    legend: { orientation: "h", x: 0, yref: "container", y: 0, yanchor: "bottom", traceorder: "normal" },
    hoverlabel: { namelength: -1 },
  };
  for (const key of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
    theme[key] = { ...layout[key], ...axis };
  }
  return { ...layout, ...theme };
}

function draw() {
  charts.forEach((chart, at) => {
    if (chart.layout.height) document.getElementById("chart" + at).style.height = chart.layout.height + "px";
    Plotly.react("chart" + at, structuredClone(chart.data), themed(chart.layout), { responsive: true, displaylogo: false, displayModeBar: false });
  });
}
draw();
dark.addEventListener("change", draw);
