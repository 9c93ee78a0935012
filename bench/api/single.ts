import { loneDomain } from "../probing/plan.ts";
import { planInternet } from "../probing/plan-internet.ts";
import type { ApiProcess } from "../processes/api.ts";
import type { BareClient } from "../processes/bare-client.ts";
import { InvalidRun, median, quantile } from "../report/figures.ts";
import type { Section } from "../report/table.ts";
import { type Child, startChild } from "../setup/child.ts";
import { type BenchContext, settingsFor, withChildren } from "../setup/context.ts";
import { makeTeam } from "../setup/teams.ts";
import { startMail } from "../sinks/mail.ts";
import { getRequest, HttpConnection } from "./http-connection.ts";

/**
 * Counted checks of each subject, and uncounted ones before. Few: the JIT of an idle service has not compiled its code.
 */
const CHECKS = { full: 15, quick: 5 };
const WARM = { full: 5, quick: 2 };
/** Between two checks: event loops sleep, and leases of tokens go back to Redis. */
const REST_MS = 1000;
/** Bound on a check of an unknown domain in milliseconds, request and answer included. */
const MOST_MS = 8;
const VALID = '"reason":"accepted_mailbox"';

/** One after the other, on one connection. @returns what asks once: milliseconds until it is answered */
function createAsker(port: number, key: string): { ask(address: string): Promise<number>; close(): void } {
  let settle: (body: string | Error) => void = () => {};
  const connection = new HttpConnection(
    port,
    ({ body }) => settle(body),
    (error) => settle(error),
  );
  return {
    async ask(address) {
      const beganMs = performance.now();
      const answered = new Promise<string | Error>((resolve) => {
        settle = resolve;
      });
      connection.send(getRequest(`/v1/verify?email=${encodeURIComponent(address)}`, key));
      const body = await answered;
      const tookMs = performance.now() - beganMs;
      if (body instanceof Error) throw body;
      if (!body.includes(VALID)) throw new InvalidRun(`a wrong answer: ${body}`);
      return tookMs;
    },
    close: () => connection.close(),
  };
}

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS));

type Name = "never seen" | "known domain" | "bare client";

interface World {
  bare: Child<BareClient>;
  dnsServer: string;
  smtpPort: number;
  ask(address: string): Promise<number>;
}

async function askBare({ bare, dnsServer, smtpPort }: World, index: number): Promise<number> {
  const address = `user1@${loneDomain(index)}`;
  const tookMs = await bare.call("single", { address, dnsServer, port: smtpPort });
  if (tookMs === null) throw new InvalidRun("bare client: a wrong answer");
  return tookMs;
}

/** By turns, one at a time, with a rest before each: the first address of a domain, a second one, and the bare client. */
async function askAll(world: World, count: number, warm: number): Promise<Record<Name, number[]>> {
  const took: Record<Name, number[]> = { "never seen": [], "known domain": [], "bare client": [] };
  for (let index = 0; index < warm + count; index++) {
    const first = await rest().then(() => world.ask(`user1@${loneDomain(index)}`));
    const second = await rest().then(() => world.ask(`user2@${loneDomain(index)}`));
    const bare = await rest().then(() => askBare(world, index));
    if (index < warm) continue;
    took["never seen"].push(first);
    took["known domain"].push(second);
    took["bare client"].push(bare);
  }
  return took;
}

function rowOf(name: Name, took: readonly number[]): string[] {
  const at = (share: number) => `${quantile(took, share).toFixed(1)} ms`;
  return [name, at(0.5), at(0.1), at(0.9), at(0.99)];
}

/** Measures how long one check takes alone, without network delay. */
export async function benchSingleCheck(context: BenchContext): Promise<Section> {
  const kind = context.quick ? "quick" : "full";
  const [count, warm] = [CHECKS[kind], WARM[kind]];
  return withChildren(async (keep) => {
    const { liveKey } = await makeTeam(context, "single");
    const [world, bare, api] = await Promise.all([
      startMail(context, keep, planInternet({ worlds: [], lone: count + warm })),
      startChild<BareClient>("bare-client", context).then(keep),
      startChild<ApiProcess>("api", context).then(keep),
    ]);
    const { port } = await api.call("start", settingsFor(context, world));
    const asker = createAsker(port, liveKey);
    const took = await askAll({ ...world, bare, ask: asker.ask }, count, warm).finally(asker.close);
    const [first, known, ceiling] = Object.values(took).map(median);
    return {
      title: "One check on an idle service, no network delay",
      configuration: [
        `GET /v1/verify, one at a time, ${REST_MS} ms of rest before each; ${count} of each subject by turns behind ${warm} that do not count`,
        "never seen: the first address of a domain with an exchanger of its own; known domain: the second one; SPF and DMARC look-ups as shipped",
        "bare client: MX, address, connection, EHLO, the address and one that nobody has, by Node.js alone, of the same domains",
      ],
      unit: "checks",
      lines: [],
      table: [
        ["", "p50", "p10", "p90", "p99"],
        ...Object.entries(took).map(([name, all]) => rowOf(name as Name, all)),
      ],
      notes: [],
      targets: [
        {
          id: "single.unseen",
          what: "one check of a domain never seen, idle, no delay, p50",
          unit: "ms",
          figure: first ?? null,
          atMost: MOST_MS,
        },
        { id: "single.known", what: "one check of a known domain, p50", unit: "ms", figure: known ?? null },
        {
          id: "single.bare",
          what: "the same dialogue by a bare client, p50",
          unit: "ms",
          figure: ceiling ?? null,
        },
      ],
    };
  });
}
