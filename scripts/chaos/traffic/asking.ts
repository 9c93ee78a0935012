import { Agent, request } from "node:http";

/** What was asked. */
export interface Question {
  method: "GET" | "PUT" | "POST";
  /** With its query. */
  path: string;
  key: string;
  body?: Buffer | string;
  headers?: Record<string, string>;
  timeoutMs: number;
}

/** What came of it: an answer, or how there was none. */
export type Reply =
  | { status: number; text: string }
  | { status: null; how: "refused" | "cut" | "timeout"; detail: string };

/** A client of one address, with connections that stay open. */
export interface Client {
  ask(question: Question): Promise<Reply>;
  close(): void;
}

const CONNECTIONS_MAX = 256;
/** Less than the service, or a balancer, keeps an idle connection: no request goes into one that is being closed. */
const IDLE_MS = 3_000;
const REFUSED = new Set(["ECONNREFUSED", "EADDRNOTAVAIL"]);

export function createClient(url: string): Client {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS });
  return {
    ask: (question) => askOnce({ agent, hostname, port }, question),
    close: () => agent.destroy(),
  };
}

function askOnce(
  at: { agent: Agent; hostname: string; port: string },
  { method, path, key, body, headers, timeoutMs }: Question,
): Promise<Reply> {
  return new Promise((resolve) => {
    let late = false;
    const req = request({
      ...at,
      method,
      path,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
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
    req.end(body);
  });
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
