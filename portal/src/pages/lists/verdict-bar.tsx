import { grouped } from "../../words/numbers.ts";
import { VERDICT_ADVICE, VERDICTS, type Verdict } from "../../words/reasons.ts";

type VerdictCounts = Readonly<Record<Verdict, number>>;

export const VERDICT_NAMES = Object.keys(VERDICTS) as Verdict[];

const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

export const totalOf = (counts: VerdictCounts): number =>
  VERDICT_NAMES.reduce((sum, verdict) => sum + counts[verdict], 0);

/** A share as a percentage; "–" while the whole is 0. */
export const share = (part: number, whole: number): string =>
  whole === 0 ? "–" : PERCENT.format(part / whole);

/** How rows are spread over the verdicts, as a bar; in words for screen readers. */
export function VerdictBar({ counts }: { counts: VerdictCounts }) {
  const total = totalOf(counts);
  if (total === 0) return <span className="muted">–</span>;
  const shown = VERDICT_NAMES.filter((verdict) => counts[verdict] > 0);
  const words = shown.map((verdict) => `${VERDICTS[verdict]} ${share(counts[verdict], total)}`).join(", ");
  return (
    <div className="verdict-bar" role="img" aria-label={words} title={words}>
      {shown.map((verdict) => (
        <span key={verdict} className={verdict} style={{ flexGrow: counts[verdict] }} />
      ))}
    </div>
  );
}

/** The same as numbers, with advice for the addresses of each verdict. */
export function VerdictTiles({ counts }: { counts: VerdictCounts }) {
  const total = totalOf(counts);
  return (
    <dl className="tiles">
      {VERDICT_NAMES.map((verdict) => (
        <div key={verdict} className={`tile ${verdict}`}>
          <dt>{VERDICTS[verdict]}</dt>
          <dd>
            <strong>{grouped(counts[verdict])}</strong>{" "}
            <span className="muted">{share(counts[verdict], total)}</span>
          </dd>
          <dd className="muted">{VERDICT_ADVICE[verdict]}</dd>
        </div>
      ))}
    </dl>
  );
}
