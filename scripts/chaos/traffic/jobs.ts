import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { SentRow } from "../verdict/rows.ts";
import { rowsOf } from "./addresses.ts";
import { bodyOf, type Question } from "./asking.ts";
import type { Door, RequestLog } from "./request-log.ts";

/** A list that was handed in. */
export interface SentJob {
  id: string;
  rows: readonly SentRow[];
}

export interface JobSetting {
  name: string;
  log: RequestLog;
  doors: readonly Door[];
  key: string;
  /** Rows of each list, by turns. */
  sizes: readonly number[];
  /** From the begin of one to the begin of the next. */
  everyMs: number;
}

export interface JobTraffic {
  readonly jobs: readonly SentJob[];
  /** Lists whose submission failed for good. */
  readonly refused: readonly string[];
  /** Submits no more; resolves once all submissions in progress have succeeded or been given up. */
  stop(): Promise<void>;
}

/** Every third list comes in the request, the others are uploaded. */
const INLINE_EVERY = 3;
const ANSWER_WITHIN_MS = 30_000;
const RETRY_MS = 500;
/** Longer than a claim of an Idempotency-Key outlives a killed process. */
const HANDED_IN_WITHIN_MS = 180_000;

const csvOf = (rows: readonly SentRow[]) =>
  `id,email\r\n${rows.map(({ email }, i) => `${i},${email}\r\n`).join("")}`;

/**
 * Submits lists one after another, as a careful client does: a failed request is retried with the same Idempotency-Key,
 * so that each list becomes one job.
 */
export function startJobs(setting: JobSetting): JobTraffic {
  const { name, log, doors, key, sizes, everyMs } = setting;
  const jobs: SentJob[] = [];
  const refused: string[] = [];
  const underWay = new Set<Promise<void>>();
  let asked = 0;
  let begun = 0;

  /** Asks until there is an answer of `wanted`. @throws Error when it is refused, or time is up */
  async function insist(question: Omit<Question, "timeoutMs">, wanted: number) {
    const untilMs = performance.now() + HANDED_IN_WITHIN_MS;
    for (;;) {
      const door = doors[asked++ % doors.length] as Door;
      const reply = await log.ask(door, { ...question, timeoutMs: ANSWER_WITHIN_MS }, "objects");
      const body = reply.status === null ? null : bodyOf(reply.text);
      if (reply.status === wanted && body !== null) return body;
      const mayPass = reply.status === null || reply.status >= 500 || body?.code === "idempotency_in_flight";
      if (!mayPass || performance.now() > untilMs)
        throw new Error(`${question.path}: ${reply.status ?? reply.how} ${String(body?.code ?? "")}`);
      await wait(RETRY_MS);
    }
  }

  async function source(rows: readonly SentRow[], turn: number): Promise<Record<string, unknown>> {
    if (turn % INLINE_EVERY === 0 && rows.length <= 10_000) return { emails: rows.map(({ email }) => email) };
    const headers = { "content-type": "text/csv", "idempotency-key": randomUUID() };
    const put = { method: "PUT", path: "/v1/uploads/list.csv", key, body: csvOf(rows), headers } as const;
    const { id } = await insist(put, 201);
    return { upload_id: id };
  }

  async function handIn(turn: number): Promise<void> {
    const rows = rowsOf(`${name}${turn}`, sizes[turn % sizes.length] ?? 100);
    try {
      const body = JSON.stringify(await source(rows, turn));
      const headers = { "content-type": "application/json", "idempotency-key": randomUUID() };
      const post = { method: "POST", path: "/v1/verify/bulk", key, body, headers } as const;
      const { id } = await insist(post, 202);
      jobs.push({ id: String(id), rows });
    } catch (error) {
      refused.push((error as Error).message);
    }
  }

  function next(): void {
    const one: Promise<void> = handIn(begun++).finally(() => underWay.delete(one));
    underWay.add(one);
  }

  next();
  const timer = setInterval(next, everyMs);
  return {
    jobs,
    refused,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
