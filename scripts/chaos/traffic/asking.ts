import { Agent, type ClientRequest, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

/** One HTTP request. */
export interface Question {
  method: "GET" | "PUT" | "POST";
  /** With its query. */
  path: string;
  key: string;
  body?: Buffer | string;
  headers?: Record<string, string>;
  timeoutMs: number;
  /** Over a new connection; absent: over one kept alive. */
  fresh?: boolean;
  /** Sends the body in pieces over this many milliseconds. */
  bodyOverMs?: number;
}

/** The answer, or how the request failed. */
export type Reply =
  | { status: number; text: string }
  | { status: null; how: "refused" | "cut" | "timeout"; detail: string };

/** A client of one address, with connections that are kept alive. */
export interface Client {
  ask(question: Question): Promise<Reply>;
  close(): void;
}

const CONNECTIONS_MAX = 256;
/**
 * Less than the idle timeout of the service and of a balancer: no request goes into a connection that is being closed.
 */
const IDLE_MS = 3_000;
const PIECES = 8;
const REFUSED = new Set(["ECONNREFUSED", "EADDRNOTAVAIL"]);

export function createClient(url: string): Client {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS });
  const fresh = new Agent({ keepAlive: false });
  return {
    ask: (question) => askOnce({ agent: question.fresh ? fresh : agent, hostname, port }, question),
    close() {
      agent.destroy();
      fresh.destroy();
    },
  };
}

function askOnce(
  at: { agent: Agent; hostname: string; port: string },
  { method, path, key, body = "", headers, timeoutMs, bodyOverMs = 0 }: Question,
): Promise<Reply> {
  return new Promise((resolve) => {
    let late = false;
    const req = request({
      ...at,
      method,
      path,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
        ...headers,
      },
    });
    const timer = setTimeout(() => {
      late = true;
      req.destroy(new Error("no answer in time"));
    }, timeoutMs);
    const fail = (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const how = late ? "timeout" : REFUSED.has(error.code ?? "") ? "refused" : "cut";
      resolve({ status: null, how, detail: error.code ?? error.message });
    };
    req.once("error", fail);
    req.once("response", (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.once("error", fail);
      response.once("end", () => {
        clearTimeout(timer);
        if (!response.complete) return fail(new Error("the answer ended early"));
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString("utf8") });
      });
    });
    if (bodyOverMs === 0) req.end(body);
    else void sendSlowly(req, body, bodyOverMs / PIECES);
  });
}

async function sendSlowly(req: ClientRequest, body: Buffer | string, everyMs: number): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length && !req.destroyed; at += size) {
    req.write(body.slice(at, at + size));
    await wait(everyMs);
  }
  req.end();
}

/** The parsed body of an answer; null when it is no JSON object. */
export function bodyOf(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
