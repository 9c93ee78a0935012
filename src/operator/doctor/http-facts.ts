import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { errorLine } from "./finding.ts";

/** The response to `GET /healthz`. */
export interface HealthAnswer {
  status: number;
  /** HTTP version of the response, e.g. `1.1`. */
  httpVersion: string;
  /** Field `Server`, "" when absent: usually the proxy's own name. */
  server: string;
  /** Field `Location`; "" where there is none. */
  location: string;
  /** The first BODY_BYTES of the body. */
  body: string;
}

/** No response: the reason, in one line. */
export type HealthLook = HealthAnswer | { failure: string };

/** The same request, through the proxies before us and directly. */
export interface HttpFacts {
  byPublicUrl: HealthLook;
  /** Sent to HOST:PORT, where our process listens if the doctor runs beside it. */
  directly: HealthLook;
}

const WITHIN_MS = 5_000;
/** Enough of an error page to recognise the server that wrote it. */
const BODY_BYTES = 4_096;

async function beginningOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= BODY_BYTES) break;
  }
  return Buffer.concat(pieces).toString("latin1").slice(0, BODY_BYTES);
}

/** Asks once, over a connection of its own. Redirects are not followed. Never rejects. */
export async function askHealth(baseUrl: string): Promise<HealthLook> {
  const url = new URL(`${baseUrl.replace(/\/+$/, "")}/healthz`);
  const request = url.protocol === "https:" ? tlsRequest : plainRequest;
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const signal = AbortSignal.timeout(WITHIN_MS);
      request(url, { agent: false, signal }, resolve).on("error", reject).end();
    });
    const { statusCode = 0, httpVersion, headers } = answer;
    const body = await beginningOf(answer);
    return {
      status: statusCode,
      httpVersion,
      server: String(headers.server ?? ""),
      location: headers.location ?? "",
      body,
    };
  } catch (error) {
    return { failure: errorLine(error) };
  }
}
