// node --import tsx burst.ts JSON: asks one API for a while, and prints what came of it as JSON. A process of its own, so that
// the mail world does not wait for it, nor it for the mail world. Its parent's end is its own.
import { setTimeout as wait } from "node:timers/promises";
import { CHEAP_FROM, rowOf } from "../traffic/addresses.ts";
import { bodyOf } from "../traffic/asking.ts";
import {
  type Burst,
  type BurstOrder,
  type BurstTeam,
  ONSET_MS,
  percentile,
  type TeamCounts,
} from "./burst-order.ts";
import { createLeanClient, type Outcome } from "./lean-client.ts";

const TICK_MS = 1;
const SWEEP_MS = 500;

const order = JSON.parse(process.argv[2] ?? "") as BurstOrder;
const client = createLeanClient(Number(new URL(order.url).port), order.connections);
const lateMs: number[] = [];

/** What came of a team's requests. */
class Tally {
  readonly accepted: number[] = [];
  /** Of them, what was due at the beginning. */
  readonly onset: number[] = [];
  readonly sustained: number[] = [];
  readonly refused: number[] = [];
  readonly counts: Record<string, number> = {};

  /** @param dueMs after the beginning */
  note(how: string, dueMs: number, ms: number): void {
    this.counts[how] = (this.counts[how] ?? 0) + 1;
    if (!how.startsWith("200")) {
      this.refused.push(ms);
      return;
    }
    this.accepted.push(ms);
    (dueMs < ONSET_MS ? this.onset : this.sustained).push(ms);
  }

  add({ accepted, onset, sustained, refused, counts }: Tally): void {
    for (const ms of accepted) this.accepted.push(ms);
    for (const ms of onset) this.onset.push(ms);
    for (const ms of sustained) this.sustained.push(ms);
    for (const ms of refused) this.refused.push(ms);
    for (const [how, count] of Object.entries(counts)) this.counts[how] = (this.counts[how] ?? 0) + count;
  }

  told(): TeamCounts {
    return { counts: this.counts, accepted: latenciesOf(this.accepted), refused: latenciesOf(this.refused) };
  }
}

function latenciesOf(ms: readonly number[]) {
  return { count: ms.length, p50Ms: percentile(ms, 0.5), p99Ms: percentile(ms, 0.99) };
}

/** Of lists that are short enough for all their mail servers to be asked. */
function emailOf({ name }: BurstTeam, i: number): string {
  return rowOf(`${name}${Math.floor(i / CHEAP_FROM)}`, i % CHEAP_FROM).email;
}

function requestOf(team: BurstTeam, i: number): string {
  const path = `/v1/verify?email=${encodeURIComponent(emailOf(team, i))}`;
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${team.key}\r\n\r\n`;
}

function howOf({ status, body }: Outcome): string {
  if (status === 0) return body;
  if (status !== 200) return `${status} ${String(bodyOf(body)?.code ?? "")}`;
  return body.includes('"reason":"deadline"') ? "200 deadline" : "200";
}

/** Each at its time, and told from its time on: what had to wait for this process counts as late. */
async function openLoop(team: BurstTeam, perS: number, tally: Tally): Promise<void> {
  const startedMs = performance.now();
  const all: Promise<void>[] = [];
  for (let sent = 0; performance.now() - startedMs < order.forMs; ) {
    const due = Math.floor(((performance.now() - startedMs) * perS) / 1_000);
    for (; sent < due; sent++) {
      const dueMs = startedMs + ((sent + 1) * 1_000) / perS;
      const request = requestOf(team, sent);
      lateMs.push(performance.now() - dueMs);
      all.push(
        new Promise((resolve) => {
          const answered = (outcome: Outcome) => {
            tally.note(howOf(outcome), dueMs - startedMs, performance.now() - dueMs);
            resolve();
          };
          client.send(request, answered);
        }),
      );
    }
    await wait(TICK_MS);
  }
  await Promise.all(all);
}

async function closedLoop(team: BurstTeam, tally: Tally): Promise<void> {
  const startedMs = performance.now();
  const untilMs = startedMs + order.forMs;
  let next = 0;
  const ask = () =>
    new Promise<void>((resolve) => {
      const sentMs = performance.now();
      const answered = (outcome: Outcome) => {
        tally.note(howOf(outcome), sentMs - startedMs, performance.now() - sentMs);
        resolve();
      };
      client.send(requestOf(team, next++), answered);
    });
  const caller = async () => {
    while (performance.now() < untilMs) await ask();
  };
  await Promise.all(Array.from({ length: order.callers }, caller));
}

process.once("disconnect", () => process.exit(1));
await client.open();
const sweeping = setInterval(() => client.sweep(order.timeoutMs), SWEEP_MS);
const startedMs = performance.now();
const all = new Tally();
const teams: Record<string, TeamCounts> = {};
await Promise.all(
  order.teams.map(async (team) => {
    const tally = new Tally();
    await (team.perS === null ? closedLoop(team, tally) : openLoop(team, team.perS, tally));
    all.add(tally);
    teams[team.name] = tally.told();
  }),
);
const tookS = (performance.now() - startedMs) / 1_000;
clearInterval(sweeping);
client.close();
const burst: Burst = {
  teams,
  all: all.told(),
  onset: latenciesOf(all.onset),
  sustained: latenciesOf(all.sustained),
  lateP99Ms: percentile(lateMs, 0.99),
  tookS,
};
process.stdout.write(JSON.stringify(burst), () => process.exit(0));
