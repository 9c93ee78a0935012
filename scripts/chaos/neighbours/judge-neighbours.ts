import { quantile } from "../../../bench/report/figures.ts";
import { type Finding, none, noted, within } from "../verdict/closing.ts";
import type { Meeting } from "./neighbours.ts";
import { QUESTIONS, type QuestionName, type Suffered } from "./victim.ts";

/** Most that an answer's p99 may take beside an attacker, as a multiple of its p99 alone. */
const TIMES = 2;
/**
 * A lower p99 says nothing about the attacker: the stores, both clients and the mail world share a core, in scheduler
 * slices of some milliseconds.
 */
const NOISE_MS = 10;

/** Milliseconds, one decimal; 0 for no values. */
export function percentileMs(values: readonly number[], share: number): number {
  return Math.round(quantile(values, share) * 10) / 10;
}

const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

const listed = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([how, count]) => `${how}: ${count}`)
    .join(", ") || "none";

function latency(question: QuestionName, { alone, beside }: Meeting): Finding {
  const of = ({ latenciesMs }: Suffered, share: number) => percentileMs(latenciesMs[question], share);
  const p99 = { alone: of(alone, 0.99), beside: of(beside, 0.99) };
  const boundMs = Math.max(NOISE_MS, TIMES * p99.alone);
  return within(
    `  ${question}, ms p50/p99`,
    `${of(alone, 0.5)}/${p99.alone} -> ${of(beside, 0.5)}/${p99.beside} of ${beside.latenciesMs[question].length}`,
    `p99 ${Math.round(boundMs * 10) / 10} ms`,
    beside.latenciesMs[question].length > 0 && p99.beside <= boundMs,
  );
}

function judgeMeeting(meeting: Meeting): Finding[] {
  const { attacker, alone, beside, attack, crashed } = meeting;
  const refused = attacker.refusals.reduce((sum, how) => sum + (attack[how] ?? 0), 0);
  return [
    noted(`neighbour ${attacker.name}`, `answered ${listed(attack)}`),
    ...QUESTIONS.map((question) => latency(question, meeting)),
    noted("  victim's client late, p99", `${percentileMs(beside.lateMs, 0.99)} ms`),
    none("  victim: 5xx or no answer", sumOf(alone.failures) + sumOf(beside.failures)),
    none("  victim: refused", sumOf(alone.refusals) + sumOf(beside.refusals)),
    within("  attacker refused", refused, attacker.refusals.join(" or "), refused > 0),
    none("  crashes", crashed ? 1 : 0),
  ];
}

/** Every bound of a victim beside its attackers, with what failed in detail. */
export function judgeNeighbours(meetings: readonly Meeting[]): { findings: Finding[]; details: string[] } {
  const details = meetings.flatMap(({ attacker, beside, alone }) =>
    [beside.failures, beside.refusals, alone.failures, alone.refusals]
      .filter((counts) => sumOf(counts) > 0)
      .map((counts) => `victim of ${attacker.name}: ${listed(counts)}`),
  );
  return { findings: meetings.flatMap(judgeMeeting), details };
}
