import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";

/** A fault of a request on its way to object storage; null: no fault. */
export type Fault =
  | null
  /** After this many bytes of the answer's body, the connection is cut or falls silent. */
  | { afterBytes: number; ending: "cut" | "silence" }
  /** Answered with this error; the request never arrives. */
  | { status: number; code: string }
  /** The request is executed, but the connection is cut before the answer. */
  | "answer lost"
  /** Waits until the promise resolves. */
  | { until: Promise<void> };

export interface PassingRequest {
  method: string;
  /** Path with query. */
  url: string;
  headers: IncomingMessage["headers"];
}

export interface FaultyS3 {
  endpoint: string;
  /** All requests so far. */
  seen: PassingRequest[];
  close(): Promise<void>;
}

async function cutAfter(answer: IncomingMessage, res: ServerResponse, bytes: number): Promise<void> {
  let left = bytes;
  for await (const piece of answer) {
    const part = (piece as Buffer).subarray(0, left);
    await new Promise((resolve) => res.write(part, resolve));
    left -= part.length;
    if (left === 0) return;
  }
}

async function answerWith(fault: Fault, answer: IncomingMessage, res: ServerResponse): Promise<void> {
  if (fault === "answer lost") {
    for await (const _ of answer);
    return void res.destroy();
  }
  res.writeHead(answer.statusCode ?? 500, answer.headers);
  if (fault === null || !("afterBytes" in fault)) return pipeline(answer, res);
  res.flushHeaders();
  await cutAfter(answer, res, fault.afterBytes);
  if (fault.ending === "cut") res.destroy();
}

/** A proxy before object storage that injects the fault that `fault` returns for each request. */
export async function startFaultyS3(
  realEndpoint: string,
  fault: (request: PassingRequest) => Fault,
): Promise<FaultyS3> {
  const target = new URL(realEndpoint);
  const seen: PassingRequest[] = [];

  async function pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const passing = { method: req.method ?? "", url: req.url ?? "", headers: req.headers };
    seen.push(passing);
    const what = fault(passing);
    if (what !== null && typeof what === "object") {
      if ("until" in what) await what.until;
      if ("status" in what) {
        req.resume();
        res.writeHead(what.status, { "content-type": "application/xml", connection: "close" });
        return void res.end(`<Error><Code>${what.code}</Code><Message>as told</Message></Error>`);
      }
    }
    // The signature covers the Host that the client saw.
    const onward = request({
      host: target.hostname,
      port: target.port,
      method: req.method,
      path: req.url,
      headers: req.headers,
      agent: false,
    });
    res.on("close", () => onward.destroy());
    const answered = once(onward, "response") as Promise<[IncomingMessage]>;
    const [[answer]] = await Promise.all([answered, pipeline(req, onward)]);
    await answerWith(what, answer, res);
  }

  const server = createServer((req, res) => {
    pass(req, res).catch(() => res.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
