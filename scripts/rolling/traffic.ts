import { setTimeout as wait } from "node:timers/promises";
import type { Client, ConnectionKind, Question, Reply } from "./asking.ts";
import { createLists, type Lists } from "./lists.ts";
import type { Sample } from "./tally.ts";

export interface TrafficSetting {
  client: Client;
  key: string;
  /** In every address of this run. */
  name: string;
  ratePerS: number;
}

export interface Traffic {
  readonly samples: readonly Sample[];
  /** Units that the answers to single verifications cost. */
  readonly units: number;
  readonly lists: Lists;
  /** One more question, counted as all are. null: it failed. */
  ask(what: string, question: Omit<Question, "key">, wanted: number): Promise<Reply | null>;
  /** Begins no more; resolves when all that was begun has ended. */
  stop(): Promise<void>;
}

const TICK_MS = 20;
const IN_FLIGHT_MAX = 200;
const KNOWN_ADDRESSES = 25;
const REASON_CHARS = 60;
/** Of reasons for `unknown`, those that cost nothing are failures; none is expected here, so any is one. */
const COSTS: ReadonlySet<string> = new Set(["valid", "invalid"]);

/** Requests at a steady rate, however long they take, by turns over both kinds of connection, of every kind of request. */
export function startTraffic({ client, key, name, ratePerS }: TrafficSetting): Traffic {
  const samples: Sample[] = [];
  const underWay = new Set<Promise<void>>();
  let units = 0;
  let turn = 0;

  async function ask(what: string, question: Omit<Question, "key">, wanted: number): Promise<Reply | null> {
    const kind: ConnectionKind = samples.length % 2 === 0 ? "keep-alive" : "new connection";
    const sample: Sample = { kind, what, ms: 0, failure: "no answer" };
    samples.push(sample);
    const begunMs = performance.now();
    try {
      const reply = await client.ask(kind, { ...question, key });
      sample.failure = reply.status === wanted ? null : `HTTP ${reply.status} ${reasonOf(reply)}`;
      return sample.failure === null ? reply : null;
    } catch (error) {
      sample.failure = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      return null;
    } finally {
      sample.ms = performance.now() - begunMs;
    }
  }

  async function verify(what: string, address: string, verdict: string): Promise<void> {
    const path = `/v1/verify?email=${encodeURIComponent(address)}`;
    const reply = await ask(what, { method: "GET", path }, 200);
    if (reply === null) return;
    const said = String(JSON.parse(reply.body).verdict);
    if (COSTS.has(said)) units += 1;
    if (said !== verdict) samples.push({ kind: "keep-alive", what, ms: 0, failure: `${address} is ${said}` });
  }

  const lists = createLists(name, ask);

  function one(): Promise<void> {
    const n = turn++;
    // Each kind has an even and an odd turn, so that it comes over both kinds of connection.
    switch (n % 25) {
      case 0:
      case 1:
        return lists.handInline();
      case 2:
      case 3:
        return lists.handUpload();
      case 4:
      case 5:
        return lists.lookAtJob();
      case 6:
      case 7:
        return lists.download();
      case 8:
      case 9:
      case 10:
        return verify("verify, uncached", `exists-${name}-${n}@plain.test`, "valid");
      case 11:
        return verify("verify, uncached", `missing-${name}-${n}@plain.test`, "invalid");
      default:
        return verify("verify, cached", `exists-${name}-k${n % KNOWN_ADDRESSES}@plain.test`, "valid");
    }
  }

  const startedMs = performance.now();
  let begun = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) / 1000) * ratePerS;
    for (; begun < due; begun++) {
      if (underWay.size >= IN_FLIGHT_MAX) continue;
      const work: Promise<void> = one().finally(() => underWay.delete(work));
      underWay.add(work);
    }
  }, TICK_MS);

  return {
    samples,
    get units() {
      return units;
    },
    lists,
    ask,
    async stop() {
      clearInterval(timer);
      while (underWay.size > 0) {
        await Promise.allSettled(underWay);
        await wait(0);
      }
    },
  };
}

/** Of a problem its code and what it says; of what a balancer says by itself the first line. */
function reasonOf({ body }: Reply): string {
  try {
    const { code, detail } = JSON.parse(body) as Record<string, unknown>;
    return `${String(code)} (${String(detail)})`;
  } catch {
    return body.split("\n", 1)[0]?.slice(0, REASON_CHARS) ?? "";
  }
}
