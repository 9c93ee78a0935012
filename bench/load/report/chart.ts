/** Plots as SVG text: no script, nothing from elsewhere, colours from the page's CSS. */

export interface Series {
  name: string;
  /** CSS class that colours it: `a`, `b`, `c`. */
  tone: string;
  points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  /** Position of a value on the axis, 0 to 1. */
  place(value: number): number;
  ticks: readonly { value: number; label: string }[];
}

export interface Chart {
  title: string;
  x: Axis;
  y: Axis;
  series: readonly Series[];
}

const WIDTH = 860;
const HEIGHT = 300;
const LEFT = 74;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 34;

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** From nought to a round figure that holds `max`. @param write of a tick */
export function linearAxis(max: number, write: (value: number) => string, from = 0): Axis {
  const span = Math.max(max - from, Number.EPSILON);
  const magnitude = 10 ** Math.floor(Math.log10(span / 4));
  const step = [1, 2, 5, 10].map((n) => n * magnitude).find((n) => span / n <= 6) ?? 10 * magnitude;
  const count = Math.max(1, Math.ceil(span / step - 1e-9));
  const top = from + count * step;
  const ticks = Array.from({ length: count + 1 }, (_, i) => {
    const value = from + i * step;
    return { value, label: write(value) };
  });
  return { place: (value) => (value - from) / (top - from), ticks };
}

/** Whole powers of ten around the values, which are above nought. */
export function logAxis(min: number, max: number, write: (value: number) => string): Axis {
  const low = Math.floor(Math.log10(min));
  const high = Math.max(low + 1, Math.ceil(Math.log10(max)));
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => {
    const value = 10 ** (low + i);
    return { value, label: write(value) };
  });
  return { place: (value) => (Math.log10(value) - low) / (high - low), ticks };
}

/** Shares from 0 to 1, each nine as far from the next: 0, 90 %, 99 %, 99.9 %, … */
export function ninesAxis(maxShare: number): Axis {
  const nines = (share: number) => -Math.log10(Math.max(1e-9, 1 - share));
  const most = Math.max(1, Math.ceil(nines(maxShare) - 1e-9));
  const ticks = Array.from({ length: most + 1 }, (_, i) => {
    const percent = Number(((1 - 10 ** -i) * 100).toFixed(Math.max(0, i - 2)));
    return { value: 1 - 10 ** -i, label: `${percent} %` };
  });
  return { place: (share) => nines(share) / most, ticks };
}

const round = (value: number) => Number(value.toFixed(1));

function frame({ x, y }: Chart, toX: (v: number) => number, toY: (v: number) => number): string {
  const rows = y.ticks.map(({ value, label }) => {
    const at = round(toY(value));
    return (
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>` +
      `<text class="tick" x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${escapeHtml(label)}</text>`
    );
  });
  const columns = x.ticks.map(
    ({ value, label }) =>
      `<text class="tick" x="${round(toX(value))}" y="${HEIGHT - 12}" text-anchor="middle">${escapeHtml(label)}</text>`,
  );
  return [...rows, ...columns].join("");
}

/** A `<figure>` with the plot and its legend. Points in the order of their x; without any, a sentence. */
export function renderChart(chart: Chart): string {
  const series = chart.series.filter(({ points }) => points.length > 0);
  if (series.length === 0) return `<p class="none">${escapeHtml(chart.title)}: nothing to plot.</p>`;
  const toX = (value: number) => LEFT + chart.x.place(value) * (WIDTH - LEFT - RIGHT);
  const toY = (value: number) => HEIGHT - BOTTOM - chart.y.place(value) * (HEIGHT - TOP - BOTTOM);
  const lines = series.map(({ tone, points }) => {
    const path = points.map(([x, y]) => `${round(toX(x))},${round(toY(y))}`).join(" ");
    const [only] = points;
    if (points.length === 1 && only)
      return `<circle class="dot ${tone}" cx="${round(toX(only[0]))}" cy="${round(toY(only[1]))}" r="3"/>`;
    return `<polyline class="line ${tone}" points="${path}"/>`;
  });
  const legend = series.map(({ name, tone }) => `<li class="${tone}">${escapeHtml(name)}</li>`).join("");
  return (
    `<figure><figcaption>${escapeHtml(chart.title)}<ul class="legend">${legend}</ul></figcaption>` +
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(chart.title)}">` +
    `${frame(chart, toX, toY)}${lines.join("")}</svg></figure>`
  );
}
