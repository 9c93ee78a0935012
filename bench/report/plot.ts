import { formatBound, formatFigure } from "./report.ts";
import { outcomeOf, type Target } from "./target.ts";

/**
 * The targets as bars: how far each figure is from its bound, on a logarithmic scale around 1. A bar to the right is
 * reached, to the left is missed, whether more or less was asked for. Colours are middling on purpose: the picture has no
 * background of its own and is read on white and on black.
 */

const WIDTH = 960;
const LABELS = 220;
/** Room for figure, unit and bound in any font that is there. */
const VALUES = 340;
const ROW = 26;
const BAR = 14;
const TOP = 64;
const BOTTOM = 34;
const FONT = "ui-sans-serif, system-ui, sans-serif";
const INK = "#7a7f87";
const COLOURS = { reached: "#2f9e62", missed: "#dd6b3d" } as const;
/** The scale goes to one of these, either way: what lies beyond is cut there. */
const REACHES = [2, 5, 10, 20, 50, 100];
const TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/** How often the bound is met: 1 is just reached, 2 is twice as good. null: there is no figure, or no bound. */
export function headroom({ figure, atLeast, atMost }: Target): number | null {
  if (figure === null || Number.isNaN(figure)) return null;
  const ratios = [
    ...(atLeast === undefined ? [] : [figure / atLeast]),
    ...(atMost === undefined ? [] : [atMost / figure]),
  ];
  return ratios.length === 0 ? null : Math.min(...ratios);
}

/** As text of an SVG: markup escaped, without what XML cannot hold. */
export function escapeXml(text: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  const legal = text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
  return legal.replaceAll(/[&<>"']/g, (found) => entities[found] ?? "");
}

const number = (value: number) => String(Math.round(value * 10) / 10);

function text(
  at: { x: number; y: number; anchor?: string; size?: number; weight?: number },
  content: string,
) {
  const { x, y, anchor = "start", size = 12, weight = 400 } = at;
  return `<text x="${number(x)}" y="${number(y)}" text-anchor="${anchor}" font-size="${size}" font-weight="${weight}" fill="${INK}">${escapeXml(content)}</text>`;
}

/** @param reach the scale's end: from 1/reach to reach */
function scaleTo(reach: number): (ratio: number) => number {
  const middle = LABELS + (WIDTH - LABELS - VALUES) / 2;
  const half = (WIDTH - LABELS - VALUES) / 2;
  return (ratio) => {
    const cut = Math.min(reach, Math.max(1 / reach, ratio));
    return middle + (half * Math.log(cut)) / Math.log(reach);
  };
}

function reachOf(targets: readonly Target[]): number {
  const distances = targets.flatMap((target) => {
    const ratio = headroom(target);
    return ratio === null ? [] : [Math.max(ratio, 1 / Math.max(ratio, Number.MIN_VALUE))];
  });
  const farthest = Math.max(1, ...distances);
  return REACHES.find((reach) => reach >= farthest) ?? REACHES[REACHES.length - 1] ?? 100;
}

function axis(reach: number, bottom: number): string[] {
  const x = scaleTo(reach);
  return TICKS.filter((tick) => tick >= 0.999 / reach && tick <= reach * 1.001).flatMap((tick) => {
    const isBound = tick === 1;
    const line = `<line x1="${number(x(tick))}" x2="${number(x(tick))}" y1="${TOP - 6}" y2="${number(bottom)}" stroke="${INK}" stroke-width="${isBound ? 1.5 : 0.5}" stroke-opacity="${isBound ? 1 : 0.4}"/>`;
    return [line, text({ x: x(tick), y: bottom + 16, anchor: "middle", size: 11 }, `${tick} ×`)];
  });
}

function row(target: Target, at: number, reach: number): string[] {
  const y = TOP + at * ROW;
  const middle = y + ROW / 2;
  const label = text({ x: LABELS - 12, y: middle + 4, anchor: "end" }, target.id);
  const ratio = headroom(target);
  const outcome = outcomeOf(target);
  if (ratio === null || target.figure === null || (outcome !== "reached" && outcome !== "missed"))
    return [
      label,
      text({ x: WIDTH - VALUES + 12, y: middle + 4 }, `void (${formatBound({ ...target, unit: "" })})`),
    ];
  const x = scaleTo(reach);
  const [from, to] = [x(1), x(ratio)].sort((a, b) => a - b) as [number, number];
  // A figure on its bound is seen as well.
  const width = Math.max(2, to - from);
  const figure = `${formatFigure(target.figure, target.unit)} (${formatBound({ ...target, unit: "" })})`;
  return [
    label,
    `<rect x="${number(from)}" y="${number(middle - BAR / 2)}" width="${number(width)}" height="${BAR}" rx="2" fill="${COLOURS[outcome]}"/>`,
    text({ x: WIDTH - VALUES + 12, y: middle + 4 }, figure),
  ];
}

/** A picture that needs nothing else: no script, no style sheet, no font. The same input makes the same bytes. */
export function renderPlot(targets: readonly Target[], caption: string): string {
  const bounded = targets.filter(({ atLeast, atMost }) => atLeast !== undefined || atMost !== undefined);
  const reach = reachOf(bounded);
  const bottom = TOP + bounded.length * ROW;
  const height = bottom + BOTTOM;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="${FONT}" role="img">`,
    `<title>${escapeXml(`Targets of npm run bench: ${caption}`)}</title>`,
    text({ x: 16, y: 22, size: 15, weight: 600 }, "How far each figure is from its bound"),
    text({ x: 16, y: 40 }, `${caption}. Right of 1: reached. Logarithmic.`),
    ...axis(reach, bottom),
    ...bounded.flatMap((target, at) => row(target, at, reach)),
    "</svg>",
    "",
  ].join("\n");
}
