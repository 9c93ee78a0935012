import { Agent, type IncomingMessage, request } from "node:http";

/** How a request comes to the balancer: over a connection that is kept, or over one of its own. */
export type ConnectionKind = "keep-alive" | "new connection";

export interface Question {
  method: "GET" | "POST" | "PUT";
  path: string;
  key: string;
  type?: string;
  body?: string;
  /** The body is sent in pieces, so long from the first to the last. */
  bodyOverMs?: number;
}

export interface Reply {
  status: number;
  body: string;
}

/** Asks once: nothing here, nor in Node's client, sends a request a second time. */
export interface Client {
  /** @throws Error whose `code` says what became of the connection */
  ask(kind: ConnectionKind, question: Question): Promise<Reply>;
  close(): void;
}

const ANSWER_WITHIN_MS = 40_000;
const KEPT_CONNECTIONS = 24;
const PIECES = 8;

async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response) text += chunk;
  // A length that was not reached ends the iteration with an error; so must a body in chunks that breaks off.
  if (!response.complete) throw Object.assign(new Error("the answer broke off"), { code: "BROKEN_OFF" });
  return text;
}

export function createClient(base: string): Client {
  const kept = new Agent({ keepAlive: true, maxSockets: KEPT_CONNECTIONS, scheduling: "fifo" });
  const fresh = new Agent({ keepAlive: false });

  return {
    ask(kind, { method, path, key, type, body, bodyOverMs = 0 }) {
      return new Promise((resolve, reject) => {
        const sent = request(base + path, {
          method,
          agent: kind === "keep-alive" ? kept : fresh,
          signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
          headers: {
            authorization: `Bearer ${key}`,
            ...(type === undefined ? {} : { "content-type": type }),
            ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
          },
        });
        sent.once("error", reject);
        sent.once("response", (response) => {
          bodyOf(response).then((text) => resolve({ status: response.statusCode ?? 0, body: text }), reject);
        });
        if (body === undefined || bodyOverMs === 0) sent.end(body);
        else void sendSlowly(sent, body, bodyOverMs / PIECES);
      });
    },
    close() {
      kept.destroy();
      fresh.destroy();
    },
  };
}

async function sendSlowly(
  sent: { write(text: string): unknown; end(): unknown; destroyed: boolean },
  body: string,
  everyMs: number,
): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length; at += size) {
    if (sent.destroyed) return;
    sent.write(body.slice(at, at + size));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  sent.end();
}
