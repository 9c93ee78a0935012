import { VERDICTS, type Verdict } from "../words/reasons.ts";

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <span className={`badge ${verdict}`}>{VERDICTS[verdict]}</span>;
}
