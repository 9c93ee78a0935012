// node --import tsx attack.ts: reads an AttackOrder from standard input, attacks until a message over IPC stops it,
// then prints its AttackCounts. A process of its own, so that it does not delay the victim's client.
import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { bodyOf } from "../traffic/asking.ts";
import type { AttackCounts, AttackOrder } from "./attack-order.ts";
import { ATTACKERS, type AttackRequest } from "./attackers.ts";

/** Another address than the victim's, as strangers have. */
const FROM = "127.0.0.2";
const ANSWER_WITHIN_MS = 30_000;
const TRICKLE_MS = 250;
/** Pause after a refusal: otherwise the attacking client itself is the bottleneck. */
const PAUSE_MS = 1;

const order = JSON.parse(await text(process.stdin)) as AttackOrder;
const found = ATTACKERS.find(({ name }) => name === order.name);
if (found === undefined) throw new Error(`there is no attacker ${order.name}`);
const attacker = found;
const agent = new Agent({ keepAlive: true, maxSockets: attacker.connections, localAddress: FROM });
const counts: AttackCounts = {};
let stopped = false;
let sent = 0;

function count(how: string): void {
  counts[how] = (counts[how] ?? 0) + 1;
}

function codeOf(status: number, body: string): string {
  const code = status < 400 ? "" : String(bodyOf(body)?.code ?? "");
  return `${status} ${code}`.trim();
}

async function trickle(open: ClientRequest, { bytes, bytesPerS }: NonNullable<AttackRequest["trickle"]>) {
  const piece = Math.max(1, Math.round((bytesPerS * TRICKLE_MS) / 1_000));
  for (let left = bytes; left > 0 && !open.destroyed && !stopped; left -= piece) {
    open.write(" ".repeat(Math.min(piece, left)));
    await wait(TRICKLE_MS);
  }
}

/** Resolves to how it went; never rejects. */
function send({ method, path, key, headers = {}, body, trickle: slowly }: AttackRequest): Promise<string> {
  return new Promise((resolve) => {
    const length = slowly?.bytes ?? (body === undefined ? undefined : Buffer.byteLength(body));
    const open = request({
      agent,
      host: "127.0.0.1",
      port: order.port,
      method,
      path,
      timeout: ANSWER_WITHIN_MS,
      headers: {
        ...headers,
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(length === undefined ? {} : { "content-length": length }),
      },
    });
    open.once("timeout", () => open.destroy(new Error("timeout")));
    open.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    open.once("response", (response: IncomingMessage) => {
      text(response).then(
        (answer) => resolve(codeOf(response.statusCode ?? 0, answer)),
        () => resolve("cut"),
      );
    });
    if (slowly === undefined) open.end(body);
    else void trickle(open, slowly);
  });
}

async function attackOn(): Promise<void> {
  while (!stopped) {
    const how = await send(attacker.request(sent++, order.keys));
    if (!stopped) count(how);
    await wait(PAUSE_MS);
  }
}

process.once("disconnect", () => process.exit(1));
void Promise.all(Array.from({ length: attacker.connections }, attackOn));
await once(process, "message");
stopped = true;
process.stdout.write(JSON.stringify(counts), () => process.exit(0));
