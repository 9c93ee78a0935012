import { inColumns } from "../../bench/report/table.ts";
import type { ServiceAnswer } from "./comparison.ts";
import type { WornOut } from "./dialogue.ts";
import { type Burst, EXPECTED, type Kind, keepers, type LogReading, MISSING } from "./mail-server.ts";

export interface BurstAsk {
  address: string;
  kind: "existing" | "missing";
}

export interface BurstAnswers {
  server: string;
  burst: Burst;
  ms: number;
  /** Number of addresses by their kind and their answer, e.g. `missing: invalid/mailbox_not_found`. */
  counts: Map<string, number>;
  wrong: number;
}

export interface BurstOutcome extends BurstAnswers {
  reading: LogReading;
}

/** Spreads the existing addresses evenly among the missing ones, so that each session asks about both. */
export function burstAddresses({ domain, missing, existing }: Burst): BurstAsk[] {
  const asks: BurstAsk[] = [];
  const names = keepers(existing);
  const every = missing / Math.max(1, existing);
  let added = 0;
  names.forEach((local, index) => {
    asks.push({ address: `${local}@${domain}`, kind: "existing" });
    for (; added < Math.round((index + 1) * every); added++)
      asks.push({ address: `${MISSING}${added}@${domain}`, kind: "missing" });
  });
  return asks;
}

const isRight = (kind: Kind, { verdict, reason }: ServiceAnswer) =>
  verdict === EXPECTED[kind].verdict && (EXPECTED[kind].reasons as readonly string[]).includes(reason);

/** Asks for all at once. An ask that fails counts as wrong, by its message: nothing may be lost. */
export async function askBurst(
  server: string,
  burst: Burst,
  ask: (address: string) => Promise<ServiceAnswer>,
): Promise<BurstAnswers> {
  const started = performance.now();
  const counts = new Map<string, number>();
  let wrong = 0;
  await Promise.all(
    burstAddresses(burst).map(async ({ address, kind }) => {
      const answer = await ask(address).catch((error: Error) => error);
      const right = !(answer instanceof Error) && isRight(kind, answer);
      const said =
        answer instanceof Error
          ? answer.message.replace(address, "…")
          : `${answer.verdict}/${answer.reason}${right ? "" : ` (${answer.code} by ${answer.rule})`}`;
      counts.set(`${kind}: ${said}`, (counts.get(`${kind}: ${said}`) ?? 0) + 1);
      if (!right) wrong++;
    }),
  );
  const ms = Math.round(performance.now() - started);
  return { server, burst, ms, counts, wrong };
}

/**
 * Faults of a burst: wrong or missing answers, and sessions that the server ended for too many wrong recipients, which
 * the service must recycle before that. Reaching other limits is no fault, since servers do not announce them.
 */
export function burstFaults({ wrong, reading }: BurstOutcome): string[] {
  const faults = wrong === 0 ? [] : [`${wrong} wrong`];
  if (reading.wornOut > 0) faults.push(`${reading.wornOut} sessions ended for wrong recipients`);
  return faults;
}

const HEADINGS = [
  "MTA",
  "limit on",
  "met by us",
  "asked at once",
  "ms",
  "sessions",
  "most refused in one",
  "limit met",
  "",
];

function provocation(worn: WornOut | undefined): string {
  if (worn === undefined) return "";
  const { asked, last, ms } = worn;
  if (last === null) return `never, in ${asked}`;
  return `${last.code} after ${asked}, in ${(ms / 1_000).toFixed(1)} s`;
}

/** The bursts as a table, with the sessions in the server's log, and the answers below each. */
export function renderBursts(
  outcomes: readonly BurstOutcome[],
  provoked: ReadonlyMap<Burst, WornOut>,
): string[] {
  const rows = outcomes.map((outcome) => {
    const { server, burst, ms, reading } = outcome;
    const faults = burstFaults(outcome);
    return [
      server,
      burst.situation,
      provocation(provoked.get(burst)),
      `${burst.missing} missing, ${burst.existing} existing`,
      String(ms),
      String(reading.sessions),
      String(reading.mostRejections),
      String(reading.limited),
      faults.length === 0 ? "ok" : `FAIL: ${faults.join("; ")}`,
    ];
  });
  const [headings = "", ...lines] = inColumns([HEADINGS, ...rows]);
  return [
    headings,
    ...lines.flatMap((line, index) => [
      line,
      ...[...(outcomes[index]?.counts ?? [])].sort().map(([said, count]) => `    ${count} ${said}`),
    ]),
  ];
}

/** The reply of each server at its limit. */
export function renderLimits(
  outcomes: readonly BurstOutcome[],
  provoked: ReadonlyMap<Burst, WornOut>,
): string[] {
  return outcomes.flatMap(({ server, burst }) => {
    const worn = provoked.get(burst);
    if (!worn?.last) return [];
    const lines = worn.last.lines.map((line) => `    ${line}`);
    return [`${server}, ${burst.situation}, to ${worn.last.to} after ${worn.asked}:`, ...lines];
  });
}
