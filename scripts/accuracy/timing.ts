import { median } from "../../bench/report/figures.ts";
import type { RcptOutcome } from "../../src/smtp/wire/outcome.ts";
import { classify } from "../../src/verification/classify/classify.ts";
import { type Labelled, parsedReply, SELF } from "../../test/corpus/labelled.ts";
import { outcomeOf } from "./figures.ts";

const ROUNDS = 15;
const LENGTHS = [1, 4, 16] as const;

/** The reply with its text repeated, so that only its length differs. */
function longer(row: Labelled, times: number): RcptOutcome {
  const reply = parsedReply(row.lines);
  const lines = reply.lines.map((line) => Array.from({ length: times }, () => line).join(" "));
  return outcomeOf(row, { ...reply, lines });
}

/** Microseconds a reply, median of rounds over all rows, for each length. */
function microseconds(rows: readonly Labelled[], times: number): number {
  const outcomes = rows.map((row) => ({ outcome: longer(row, times), provider: row.provider }));
  const round = () => {
    const start = process.hrtime.bigint();
    for (const { outcome, provider } of outcomes) classify(outcome, { provider, self: SELF });
    return Number(process.hrtime.bigint() - start) / 1_000 / outcomes.length;
  };
  for (let i = 0; i < 5; i++) round();
  return median(Array.from({ length: ROUNDS }, round));
}

export function timingLines(rows: readonly Labelled[]): string[] {
  const measured = LENGTHS.map((times) => ({ times, us: microseconds(rows, times) }));
  const base = measured[0]?.us ?? 1;
  return [
    `time: µs a reply, median of ${ROUNDS} rounds over ${rows.length} replies`,
    ...measured.map(
      ({ times, us }) =>
        `  ${String(times).padStart(2)} x length  ${us.toFixed(1).padStart(7)} µs  x${(us / base).toFixed(1)}`,
    ),
  ];
}
