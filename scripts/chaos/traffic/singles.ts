import { CHEAP_FROM, rowOf } from "./addresses.ts";
import { bodyOf, type Reply } from "./asking.ts";
import type { Door, RequestLog } from "./request-log.ts";
import { costOf, type Decisions, isFailure, isRight, type Said, type Truth } from "./truth.ts";

/** A team that sends single verifications, and the counts that bound its charges. */
export interface Asker {
  key: string;
  /** Answers that were not free. */
  charged: number;
  answered: number;
  /** Requests without an answer: each cost one unit, or none. */
  cutOff: number;
  /** 429 `quota_exceeded`. */
  overQuota: number;
  /** Other refusals, by status and code. */
  refused: Map<string, number>;
}

export function newAsker(key: string): Asker {
  return { key, charged: 0, answered: 0, cutOff: 0, overQuota: 0, refused: new Map() };
}

export interface SingleTraffic {
  readonly wrong: readonly string[];
  readonly decisions: Readonly<Decisions>;
  /** Ends it; resolves once all are answered. */
  stop(): Promise<void>;
}

export interface SingleSetting {
  /** Name of the phase, from which the addresses are made. */
  name: string;
  log: RequestLog;
  doors: readonly Door[];
  asker: Asker;
  /** A team that sends every CAPPED_EVERY-th request, and whose quota ends within the run. */
  capped: Asker;
  perS: number;
}

const CAPPED_EVERY = 12;
/** Every n-th request repeats the address of the request AGAIN_BACK before it. */
const AGAIN_EVERY = 4;
const AGAIN_BACK = 40;
const ANSWER_WITHIN_MS = 20_000;
const TICK_MS = 25;
/** More than can be in progress with every process silent: a safety bound, not a rate. */
const UNDER_WAY_MAX = 3_000;
const WRONG_KEPT = 20;

function account(asker: Asker, reply: Reply): Said | null {
  if (reply.status === null) {
    // A refused connection reached no process, so it cost nothing.
    if (reply.how !== "refused") asker.cutOff += 1;
    return null;
  }
  const body = bodyOf(reply.text);
  if (reply.status === 200 && body !== null) {
    const said = { verdict: String(body.verdict), reason: String(body.reason) };
    asker.answered += 1;
    asker.charged += costOf(said);
    return said;
  }
  if (reply.status === 429 && body?.code === "quota_exceeded") asker.overQuota += 1;
  else if (reply.status < 500) {
    const name = `${reply.status} ${String(body?.code ?? "")}`;
    asker.refused.set(name, (asker.refused.get(name) ?? 0) + 1);
  }
  return null;
}

/** Single verifications at a steady rate, alternating between the doors; they do not wait for earlier answers. */
export function startSingles({ name, log, doors, asker, capped, perS }: SingleSetting): SingleTraffic {
  const wrong: string[] = [];
  const decisions: Decisions = { answered: 0, undecided: 0 };
  const underWay = new Set<Promise<void>>();
  let sent = 0;
  const startedMs = performance.now();

  async function askOne(i: number): Promise<void> {
    const door = doors[i % doors.length];
    if (door === undefined) return;
    const at = i % AGAIN_EVERY === 0 && i >= AGAIN_BACK ? i - AGAIN_BACK : i;
    const row = rowOf(`${name}${Math.floor(at / CHEAP_FROM)}`, at % CHEAP_FROM);
    const team = i % CAPPED_EVERY === 0 ? capped : asker;
    const path = `/v1/verify?email=${encodeURIComponent(row.email)}`;
    const question = { method: "GET", path, key: team.key, timeoutMs: ANSWER_WITHIN_MS } as const;
    const said = account(team, await log.ask(door, question, "database"));
    if (said !== null) judge(row, said);
  }

  function judge({ email, truth }: { email: string; truth: Truth }, said: Said): void {
    decisions.answered += 1;
    if (isFailure(said)) decisions.undecided += 1;
    if (!isRight(truth, said) && wrong.length < WRONG_KEPT)
      wrong.push(`${email}: ${said.verdict} ${said.reason}`);
  }

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedMs) * perS) / 1_000);
    for (; sent < due && underWay.size < UNDER_WAY_MAX; sent++) {
      const one: Promise<void> = askOne(sent).finally(() => underWay.delete(one));
      underWay.add(one);
    }
    sent = Math.max(sent, due);
  }, TICK_MS);

  return {
    wrong,
    decisions,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
