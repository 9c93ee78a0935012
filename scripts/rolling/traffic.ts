import { setTimeout as wait } from "node:timers/promises";
import { bodyOf, type Client } from "../chaos/traffic/asking.ts";
import { createLists, type Lists } from "./lists.ts";
import type { Ask, ConnectionKind, Sample } from "./tally.ts";

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
  /** Starts no more requests; resolves when all in progress have ended. */
  stop(): Promise<void>;
}

const TICK_MS = 20;
const IN_FLIGHT_MAX = 200;
const ANSWER_WITHIN_MS = 40_000;
const KNOWN_ADDRESSES = 25;
const REASON_CHARS = 60;
/**
 * Verdicts that are charged. `unknown` is free for some reasons, which are failures; no `unknown` is expected here, so
 * any counts as a failure.
 */
const COSTS: ReadonlySet<string> = new Set(["valid", "invalid"]);

/** By turns over both kinds of connection; nothing is sent a second time. */
function createAsk({ client, key }: TrafficSetting, samples: Sample[]): Ask {
  return async (what, question, wanted) => {
    const kind: ConnectionKind = samples.length % 2 === 0 ? "keep-alive" : "new connection";
    const sample: Sample = { kind, what, ms: 0, failure: "no answer" };
    samples.push(sample);
    const begunMs = performance.now();
    const fresh = kind === "new connection";
    const reply = await client.ask({ ...question, key, fresh, timeoutMs: ANSWER_WITHIN_MS });
    sample.ms = performance.now() - begunMs;
    if (reply.status === null) sample.failure = `${reply.how}: ${reply.detail}`;
    else sample.failure = reply.status === wanted ? null : `HTTP ${reply.status} ${reasonOf(reply.text)}`;
    return reply.status === wanted ? reply.text : null;
  };
}

type SendRequest = (n: number) => Promise<void>;

/**
 * The request of each turn. Each kind of request has an even and an odd turn, so that it uses both kinds of connection.
 */
function turns(
  lists: Lists,
  verify: (what: string, address: string, verdict: string) => Promise<void>,
  name: string,
): SendRequest {
  return (n) => {
    const turn = n % 25;
    if (turn < 2) return lists.handInline();
    if (turn < 4) return lists.handUpload();
    if (turn < 6) return lists.lookAtJob();
    if (turn < 8) return lists.download();
    if (turn < 11) return verify("verify, uncached", `exists-${name}-${n}@plain.test`, "valid");
    if (turn === 11) return verify("verify, uncached", `missing-${name}-${n}@plain.test`, "invalid");
    return verify("verify, cached", `exists-${name}-k${n % KNOWN_ADDRESSES}@plain.test`, "valid");
  };
}

/** Requests at a steady rate, however long they take, of every kind of request. */
export function startTraffic(setting: TrafficSetting): Traffic {
  const { name, ratePerS } = setting;
  const samples: Sample[] = [];
  const underWay = new Set<Promise<void>>();
  let units = 0;
  const ask = createAsk(setting, samples);
  const lists = createLists(name, ask);
  const turn = turns(lists, verify, name);

  async function verify(what: string, address: string, verdict: string): Promise<void> {
    const path = `/v1/verify?email=${encodeURIComponent(address)}`;
    const body = await ask(what, { method: "GET", path }, 200);
    if (body === null) return;
    const said = String(JSON.parse(body).verdict);
    if (COSTS.has(said)) units += 1;
    if (said !== verdict) samples.push({ kind: "keep-alive", what, ms: 0, failure: `${address} is ${said}` });
  }

  const startedMs = performance.now();
  let begun = 0;
  let turned = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) / 1000) * ratePerS;
    for (; begun < due; begun++) {
      if (underWay.size >= IN_FLIGHT_MAX) continue;
      const work: Promise<void> = turn(turned++).finally(() => underWay.delete(work));
      underWay.add(work);
    }
  }, TICK_MS);

  return {
    samples,
    get units() {
      return units;
    },
    lists,
    async stop() {
      clearInterval(timer);
      while (underWay.size > 0) {
        await Promise.allSettled(underWay);
        await wait(0);
      }
    },
  };
}

/** Code and detail of a problem; of another body, as a balancer's own, the first line. */
function reasonOf(body: string): string {
  const problem = bodyOf(body);
  if (problem !== null) return `${String(problem.code)} (${String(problem.detail)})`;
  return body.split("\n", 1)[0]?.slice(0, REASON_CHARS) ?? "";
}
