// node --import tsx burst.ts JSON: asks one API for a while, and prints what came of it as JSON. A process of its own, so that
// the mail world does not wait for it, nor it for the mail world. Its parent's end is its own.
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { CHEAP_FROM, rowOf } from "./addresses.ts";
import { bodyOf } from "./asking.ts";
import { type Burst, type BurstOrder, percentile } from "./burst-order.ts";

const order = JSON.parse(process.argv[2] ?? "") as BurstOrder;
const { hostname, port } = new URL(order.url);
const agent = new Agent({ keepAlive: true, maxSockets: order.connections, timeout: 3_000 });
const accepted: number[] = [];
const refused: number[] = [];
const counts: Record<string, number> = {};
let underWay = 0;
let unsent = 0;

/** Of lists that are short enough for all their mail servers to be asked. */
function emailOf(i: number): string {
  return rowOf(`${order.name}${Math.floor(i / CHEAP_FROM)}`, i % CHEAP_FROM).email;
}

function note(how: string, ms: number): void {
  counts[how] = (counts[how] ?? 0) + 1;
  if (how.startsWith("200")) accepted.push(ms);
  else refused.push(ms);
}

function outcomeOf(status: number, text: string): string {
  const body = bodyOf(text);
  if (status !== 200) return `${status} ${String(body?.code ?? "")}`;
  return body?.reason === "deadline" ? "200 deadline" : "200";
}

/** Its time counts from when it is sent: what this process was late with is not the service's. */
function ask(i: number): Promise<void> {
  return new Promise((resolve) => {
    underWay += 1;
    const sentMs = performance.now();
    const done = (how: string) => {
      underWay -= 1;
      note(how, performance.now() - sentMs);
      resolve();
    };
    const path = `/v1/verify?email=${encodeURIComponent(emailOf(i))}`;
    const headers = { authorization: `Bearer ${order.key}` };
    const req = request({ agent, hostname, port, path, headers, timeout: order.timeoutMs }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        text += piece;
      });
      response.once("end", () => done(outcomeOf(response.statusCode ?? 0, text)));
      response.once("error", () => done("cut"));
    });
    req.once("timeout", () => req.destroy(new Error("timeout")));
    req.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    req.end();
  });
}

async function openLoop(perS: number): Promise<void> {
  const startedMs = performance.now();
  const all: Promise<void>[] = [];
  for (let sent = 0; performance.now() - startedMs < order.forMs; ) {
    const due = Math.floor(((performance.now() - startedMs) * perS) / 1_000);
    for (; sent < due; sent++) {
      if (underWay < order.connections) all.push(ask(sent));
      else unsent += 1;
    }
    await wait(2);
  }
  await Promise.all(all);
}

async function closedLoop(): Promise<void> {
  const untilMs = performance.now() + order.forMs;
  let next = 0;
  const caller = async () => {
    while (performance.now() < untilMs) await ask(next++);
  };
  await Promise.all(Array.from({ length: order.connections }, caller));
}

process.once("disconnect", () => process.exit(1));
const startedMs = performance.now();
await (order.perS === null ? closedLoop() : openLoop(order.perS));
const burst: Burst = {
  counts,
  unsent,
  tookS: (performance.now() - startedMs) / 1_000,
  accepted: { count: accepted.length, p50Ms: percentile(accepted, 0.5), p99Ms: percentile(accepted, 0.99) },
  refused: { count: refused.length, p50Ms: percentile(refused, 0.5), p99Ms: percentile(refused, 0.99) },
};
process.stdout.write(JSON.stringify(burst), () => process.exit(0));
