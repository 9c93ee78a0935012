import type { Failure } from "../faults/windows.ts";
import { bodyOf, type Client, type Question, type Reply } from "./asking.ts";

/** A place that is asked: a process by its own address, or the balancer before all. */
export interface Door {
  /** The process; null: the balancer. */
  target: string | null;
  client: Client;
}

/** All requests of a run: how many, and each that failed. */
export interface RequestLog {
  ask(door: Door, question: Question, needs: Failure["needs"]): Promise<Reply>;
  readonly failures: readonly Failure[];
  /** By status, or how there was no answer. */
  readonly counts: ReadonlyMap<string, number>;
  readonly total: number;
}

export function createRequestLog(): RequestLog {
  const failures: Failure[] = [];
  const counts = new Map<string, number>();
  let total = 0;
  return {
    failures,
    counts,
    get total() {
      return total;
    },
    async ask({ target, client }, question, needs) {
      const fromMs = performance.now();
      const reply = await client.ask(question);
      total += 1;
      const how = reply.status ?? reply.how;
      counts.set(String(how), (counts.get(String(how)) ?? 0) + 1);
      if (reply.status === null || reply.status >= 500) {
        const code = reply.status === null ? null : String(bodyOf(reply.text)?.code ?? "");
        const failure = { how, code: code || null, target, fromMs, toMs: performance.now(), needs };
        failures.push(failure as Failure);
      }
      return reply;
    },
  };
}
