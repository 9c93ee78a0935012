import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Answers a completely received request; does nothing to leave it unanswered. */
export type Answering = (received: Received, response: ServerResponse) => void;

/** A receiver of webhooks on 127.0.0.1 that stores its requests. */
export interface WebhookReceiver {
  url: string;
  port: number;
  received: Received[];
  /** Sets the answer from the next request on; 204 at first. */
  answer(how: Answering): void;
  close(): Promise<void>;
}

/** Answers with a status and an empty body. */
export const withStatus =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    void response.writeHead(status, headers).end();

/** Leaves every request open until the receiver is closed. */
export const inSilence: Answering = () => undefined;

export async function startReceiver(): Promise<WebhookReceiver> {
  const received: Received[] = [];
  let answering = withStatus(204);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const whole = { method, path: url, headers, body: Buffer.concat(chunks).toString("utf8") };
      received.push(whole);
      answering(whole, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    answer(how) {
      answering = how;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
