import { InvalidRun } from "../report/figures.ts";

/** Reason in the answers to a team without probing. */
export const REASON = "smtp_not_in_tier";

/**
 * Counts verifications in the text of `/metrics`.
 * @returns `asked`: uncached ones for teams without probing; `others`: all others
 */
export function countAnswers(metrics: string): { asked: number; others: number } {
  const counts = { asked: 0, others: 0 };
  for (const [, labels = "", count] of metrics.matchAll(/^rcpt_verifications_total\{([^}]*)\} (\S+)$/gm)) {
    const isAsked = labels.includes(`reason="${REASON}"`) && labels.includes('cached="false"');
    counts[isAsked ? "asked" : "others"] += Number(count);
  }
  return counts;
}

/** @throws InvalidRun when other answers came between two looks, or fewer than clients took */
export function requireAsked(before: string, after: string, count: number): void {
  const [was, is] = [countAnswers(before), countAnswers(after)];
  const asked = is.asked - was.asked;
  const others = is.others - was.others;
  if (others > 0 || asked < count)
    throw new InvalidRun(`rcpt: ${count} answers, ${asked} of them uncached ${REASON}, and ${others} others`);
}

/** @returns what requires that so many such answers, and no others, were given since it was called last */
export async function watchAnswers(metricsPort: number): Promise<(count: number) => Promise<void>> {
  const look = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  let before = await look();
  return async (count) => {
    const after = await look();
    requireAsked(before, after, count);
    before = after;
  };
}
