import {
  Bar,
  BarChart,
  CartesianGrid,
  Legend,
  pattern,
  patterns,
  type RechartsFill,
  type RechartsPattern,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { grouped } from "../../words/numbers.ts";

const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact" });

/** Textures that distinguish the parts of a bar besides their colour; the first has none. */
const TEXTURES: readonly (RechartsPattern | null)[] = [
  null,
  patterns.diagonal,
  patterns.dots,
  patterns.crosshatch,
];

const fills = new Map<string, RechartsFill>();

/** A colour with the texture of a part's place; one object for each, as the chart compares them. */
function fillOf(color: string, place: number): string | RechartsFill {
  const texture = TEXTURES[place % TEXTURES.length] ?? null;
  if (texture === null) return color;
  const key = `${place} ${color}`;
  const fill = fills.get(key) ?? {
    color,
    definition: pattern({ ...texture, color: "var(--surface)", opacity: 0.65 }),
  };
  fills.set(key, fill);
  return fill;
}

/** One part of a bar. */
export interface Part {
  name: string;
  /** A colour of the tokens, such as `var(--valid)`. */
  color: string;
}

interface Props {
  /** Description of the chart for screen readers. */
  title: string;
  parts: readonly Part[];
  /** Bars from left to right; `values` in the order of the parts. */
  bars: readonly { label: string; values: readonly number[] }[];
}

/** Stacked bars in SVG. The arrow keys move between bars. */
export function StackedBars({ title, parts, bars }: Props) {
  return (
    <BarChart
      data={bars}
      title={title}
      responsive
      className="stacked-bars"
      barCategoryGap="12%"
      margin={{ top: 8, right: 8, bottom: 0, left: 0 }}
    >
      <CartesianGrid vertical={false} stroke="var(--line)" />
      <XAxis
        dataKey="label"
        minTickGap={24}
        tickLine={false}
        stroke="var(--line-strong)"
        tick={{ fill: "var(--muted)" }}
      />
      <YAxis
        width={56}
        allowDecimals={false}
        tickFormatter={(value: number) => COMPACT.format(value)}
        tickLine={false}
        axisLine={false}
        tick={{ fill: "var(--muted)" }}
      />
      <Tooltip
        isAnimationActive={false}
        formatter={(value) => grouped(Number(value))}
        cursor={{ fill: "var(--hover)" }}
        wrapperClassName="chart-tooltip"
        contentStyle={{ background: "var(--surface)", borderColor: "var(--line-strong)" }}
        itemStyle={{ color: "var(--text)" }}
      />
      <Legend
        itemSorter={null}
        iconSize={14}
        formatter={(name) => <span className="legend-name">{name}</span>}
      />
      {parts.map(({ name, color }, place) => (
        <Bar
          key={name}
          name={name}
          dataKey={(bar: Props["bars"][number]) => bar.values[place]}
          stackId="all"
          fill={fillOf(color, place)}
          stroke="var(--surface)"
          isAnimationActive={false}
        />
      ))}
    </BarChart>
  );
}
