import { grouped, percent } from "../../words/numbers.ts";
import { VERDICT_ADVICE, VERDICTS, type Verdict } from "../../words/reasons.ts";

type VerdictCounts = Readonly<Record<Verdict, number>>;

export const VERDICT_NAMES = Object.keys(VERDICTS) as Verdict[];

export const totalOf = (counts: VerdictCounts): number =>
  VERDICT_NAMES.reduce((sum, verdict) => sum + counts[verdict], 0);

interface Props {
  counts: VerdictCounts;
  /** Rows of the list, answered or not; absent: the answered ones. */
  rows?: number;
}

/** How rows are spread over the verdicts, as a bar that is empty where rows are not answered; in words for screen readers. */
export function VerdictBar({ counts, rows = 0 }: Props) {
  const answered = totalOf(counts);
  if (answered === 0) return <span className="muted">–</span>;
  const whole = Math.max(rows, answered);
  const shown = VERDICT_NAMES.filter((verdict) => counts[verdict] > 0);
  const shares = shown.map((verdict) => `${VERDICTS[verdict]} ${percent(counts[verdict] / whole)}`);
  if (answered < whole) shares.push(`not answered ${percent((whole - answered) / whole)}`);
  const words = shares.join(", ");
  return (
    <div className="verdict-bar" role="img" aria-label={words} title={words}>
      {shown.map((verdict) => (
        <span key={verdict} className={verdict} style={{ flexGrow: counts[verdict] }} />
      ))}
      {answered < whole && <span className="open" style={{ flexGrow: whole - answered }} />}
    </div>
  );
}

/** The same as numbers, with advice for the addresses of each verdict. Shares are told once all rows are answered. */
export function VerdictTiles({ counts, rows = 0 }: Props) {
  const answered = totalOf(counts);
  const hasShares = answered > 0 && answered >= rows;
  return (
    <dl className="tiles">
      {VERDICT_NAMES.map((verdict) => (
        <div key={verdict} className={`tile ${verdict}`}>
          <dt>{VERDICTS[verdict]}</dt>
          <dd>
            <strong>{grouped(counts[verdict])}</strong>{" "}
            {hasShares && <span className="muted">{percent(counts[verdict] / answered)}</span>}
          </dd>
          <dd className="muted">{VERDICT_ADVICE[verdict]}</dd>
        </div>
      ))}
    </dl>
  );
}
