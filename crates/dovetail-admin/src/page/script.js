'use strict';
const by = (id) => document.getElementById(id);
const KEPT = 600, TOKEN = 'dovetail-token';

// Data from the network is text, never markup.
function element(name, text, classes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (classes) made.className = classes;
  return made;
}
const cell = (text, classes) => element('td', text, classes);
function drawn(name, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function scaled(value, base, units) {
  let at = 0;
  while (value >= base && at < units.length - 1) { value /= base; at += 1; }
  return `${value < 9.95 && at > 0 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}
const bytes = (value) => scaled(value, 1000, ['B', 'kB', 'MB', 'GB', 'TB']);
const rate = (value) => value === null || value === undefined ? '–' : scaled(value * 8, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);
const part = (value) => `${Math.round(value * 100)} %`;
const millis = (value) => value === null || value === undefined ? '–' : value < 9.95 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
function time(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}
const several = (count, one, many) => `${count} ${count === 1 ? one : many}`;
// A region that is read out when it changes is written only when it does.
function put(id, text) {
  if (by(id).textContent !== text) by(id).textContent = text;
  by(id).hidden = !text;
}

// Rows that are drawn each second: equal cells stay, and so does the focus, wherever its row has moved.
function renew(place, made) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  made.forEach((row, i) => {
    const old = place.children[i];
    if (!old) place.append(row);
    else if (old.children.length !== row.children.length) old.replaceWith(row);
    else {
      old.className = row.className;
      [...row.children].forEach((cell, j) => { if (!old.children[j].isEqualNode(cell)) old.children[j].replaceWith(cell); });
    }
  });
  while (place.children.length > made.length) place.lastElementChild.remove();
  if (held && !held.isConnected) [...place.querySelectorAll(held.tagName)].find((one) => one.textContent === held.textContent)?.focus({ preventScroll: true });
}

// The page stands still while someone reads it, if they want.
let paused = false;
by('pause').addEventListener('click', () => {
  paused = !paused;
  by('pause').setAttribute('aria-pressed', paused);
  look();
});
const colour = (at) => `var(--c${at % 8})`;
const sum = (list) => list.reduce((all, one) => all + one, 0);

// Charts: the last second is at the right. They are as wide as there is room, and go back as far as is known: 2, 5, 10, 30 or 60 minutes.
const LEFT = 58, TOP = 10, BOTTOM = 162, HEIGHT = 190;
let right = 510, minutes = 10;
function measure(chart, shown = samples) {
  right = Math.max(260, Math.round(chart.clientWidth)) - 8;
  chart.setAttribute('viewBox', `0 0 ${right + 8} ${HEIGHT}`);
  const known = (shown[shown.length - 1].at_s - shown[0].at_s) / 60;
  minutes = [2, 5, 10, 30].find((span) => known <= span) || 60;
}
const across = (sample, last) => right - (last.at_s - sample.at_s) / 60 / minutes * (right - LEFT);

function axes(chart, most, unit, write) {
  for (let step = 0; step <= 4; step += 1) {
    const y = BOTTOM - step / 4 * (BOTTOM - TOP);
    chart.append(drawn('line', { class: 'grid', x1: LEFT, x2: right, y1: y, y2: y }));
    chart.append(drawn('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, write(most * step / 4) + (step === 4 ? ` ${unit}` : '')));
  }
  const each = minutes === 2 ? .5 : minutes / 5;
  const space = each / minutes * (right - LEFT);
  for (let ago = 0; ago <= minutes; ago += each) {
    // On a phone there is no room beside the first label, which has the unit.
    if (space < 56 && ago === minutes - each) continue;
    const x = right - ago / minutes * (right - LEFT), is = { now: ago === 0, first: ago === minutes };
    const anchor = is.now ? 'end' : is.first ? 'start' : 'middle';
    chart.append(drawn('text', { x, y: BOTTOM + 18, 'text-anchor': anchor }, is.now ? 'now' : `−${ago}${is.first ? ' min' : ''}`));
  }
}
const height = (value, most) => BOTTOM - Math.min(value / most, 1) * (BOTTOM - TOP);
const point = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
