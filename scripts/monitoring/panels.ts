/** Panels of a Grafana dashboard, as far as ours uses them, and their places on its grid of 24 columns. */

/** Unit of a graph or number, by its name in Grafana. */
export type Unit = "short" | "reqps" | "s" | "percentunit" | "bytes" | "ops" | "cps";

export interface Query {
  /** PromQL. `$namespace` is the dashboard's variable. */
  expr: string;
  /** Label of a line; `{{label}}` for a label's value. */
  legend: string;
}

export interface PanelPlan {
  kind: "timeseries" | "stat";
  title: string;
  /** A sentence or two on the figures shown, and how to judge them. */
  words: string;
  unit?: Unit;
  queries: readonly Query[];
  /** Columns of 24. */
  width: number;
  stacked?: boolean;
  /** From here on it is coloured as trouble. */
  troubleFrom?: number;
}

export interface RowPlan {
  title: string;
  panels: readonly PanelPlan[];
}

const COLUMNS = 24;
const HEIGHTS: Record<PanelPlan["kind"], number> = { timeseries: 8, stat: 4 };
const SOURCE = { type: "prometheus", uid: "$datasource" };

function fieldsOf({ kind, unit = "short", stacked = false, troubleFrom }: PanelPlan) {
  const steps = [
    { color: "green", value: null },
    ...(troubleFrom === undefined ? [] : [{ color: "red", value: troubleFrom }]),
  ];
  const custom = {
    drawStyle: "line",
    lineWidth: 1,
    fillOpacity: stacked ? 40 : 10,
    showPoints: "never",
    stacking: { mode: stacked ? "normal" : "none", group: "A" },
    thresholdsStyle: { mode: troubleFrom === undefined ? "off" : "dashed" },
  };
  return {
    defaults: {
      unit,
      min: 0,
      thresholds: { mode: "absolute", steps },
      ...(kind === "timeseries" ? { custom } : {}),
    },
    overrides: [],
  };
}

function optionsOf({ kind }: PanelPlan) {
  if (kind === "stat")
    return {
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
      colorMode: "value",
      graphMode: "area",
    };
  return {
    legend: { displayMode: "list", placement: "bottom", showLegend: true },
    tooltip: { mode: "multi", sort: "desc" },
  };
}

function panelOf(plan: PanelPlan, id: number, x: number, y: number) {
  const { kind, title, words, queries, width } = plan;
  return {
    id,
    type: kind,
    title,
    gridPos: { h: HEIGHTS[kind], w: width, x, y },
    description: words,
    datasource: SOURCE,
    fieldConfig: fieldsOf(plan),
    options: optionsOf(plan),
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

/** Panels from left to right, a line full after the other, under a heading for each row. Ids count from 1. */
export function placePanels(rows: readonly RowPlan[]): object[] {
  const placed: object[] = [];
  let y = 0;
  let id = 0;
  for (const { title, panels } of rows) {
    const gridPos = { h: 1, w: COLUMNS, x: 0, y };
    placed.push({ id: ++id, type: "row", title, collapsed: false, gridPos, panels: [] });
    y += 1;
    let x = 0;
    let tallest = 0;
    for (const plan of panels) {
      if (x + plan.width > COLUMNS) {
        y += tallest;
        x = 0;
        tallest = 0;
      }
      placed.push(panelOf(plan, ++id, x, y));
      x += plan.width;
      tallest = Math.max(tallest, HEIGHTS[plan.kind]);
    }
    y += tallest;
  }
  return placed;
}
