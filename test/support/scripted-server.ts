import { type Answering, type Received, startReceiver } from "./webhook-receiver.ts";

/** A server that answers requests by a script, in order; its last entry answers all further requests. */
export interface ScriptedServer {
  /** URL without a path. */
  url: string;
  received: Received[];
  close(): Promise<void>;
}

export async function startScripted(script: readonly Answering[]): Promise<ScriptedServer> {
  const server = await startReceiver();
  let step = 0;
  server.answer((received, response) => {
    const answering = script[Math.min(step, script.length - 1)];
    step += 1;
    answering?.(received, response);
  });
  return { url: `http://127.0.0.1:${server.port}`, received: server.received, close: () => server.close() };
}

/** JSON as the API sends it. */
export const withJson =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    void response
      .writeHead(status, { "Content-Type": "application/json", ...headers })
      .end(JSON.stringify(body));

/** A problem as the API sends it. */
export const withProblem =
  (status: number, code: string, headers: Record<string, string> = {}): Answering =>
  (_, response) => {
    const problem = {
      type: `/docs#${code}`,
      title: code,
      status,
      detail: `It is ${code}.`,
      code,
      request_id: "req_1",
    };
    response.writeHead(status, {
      "Content-Type": "application/problem+json",
      "X-Request-Id": "req_1",
      ...headers,
    });
    response.end(JSON.stringify(problem));
  };

/** Closes the connection before any answer. */
export const withReset: Answering = (_, response) => void response.socket?.destroy();

/** Sends part of a body, then breaks the connection. */
export const withBroken =
  (part: string | Uint8Array, headers: Record<string, string> = {}, status = 200): Answering =>
  (_, response) => {
    response.writeHead(status, headers);
    // The bytes must be sent before the connection is destroyed.
    response.write(part, () => setImmediate(() => response.socket?.destroy()));
  };

export const withText =
  (body: string | Uint8Array, headers: Record<string, string> = {}, status = 200): Answering =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);
