import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import type { Socket } from "node:net";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock, Timer } from "../../../platform/time/clock.ts";
import { readWebhookUrl } from "../url.ts";
import type { AttemptError, DeliveryAttempt } from "./outcome.ts";
import { createResponseBeginning } from "./response-text.ts";
import { type ConnectionPhase, openConnection } from "./webhook-connection.ts";
import { type HostLookup, resolveTarget, type WebhookTarget } from "./webhook-target.ts";

/**
 * Sends one message to an untrusted URL. Whatever the receiver does, an attempt ends within LIMITS.webhooks.attemptMs and
 * `responseBodyMs`, and reads at most `responseBytes`. It connects only to the checked addresses, with a new connection
 * each time, follows no redirect, and uses no proxy of the environment.
 */
export interface WebhookClient {
  /** Never rejects: every failure of the receiver, or of the network, is a value. */
  post(message: {
    url: string;
    headers: Readonly<Record<string, string>>;
    body: string;
  }): Promise<DeliveryAttempt>;
}

interface WebhookClientDeps {
  lookup: HostLookup;
  clock: Clock;
  /** The setting: private addresses and plain http are allowed. */
  privateAddresses: boolean;
}

type ExchangeOutcome = { status: number; retryAfter: string | null; body: string } | { error: AttemptError };
type Reachable = Extract<WebhookTarget, { ok: true }>;
type Message = Parameters<WebhookClient["post"]>[0];

function optionsOf(url: URL, target: Reachable, message: Message): RequestOptions {
  return {
    host: target.host,
    port: url.port === "" ? null : Number(url.port),
    path: url.pathname + url.search,
    method: "POST",
    headers: {
      ...message.headers,
      "content-length": Buffer.byteLength(message.body),
      connection: "close",
    },
    maxHeaderSize: LIMITS.webhooks.responseHeaderBytes,
    insecureHTTPParser: false,
  };
}

function errorOf(error: NodeJS.ErrnoException, phase: ConnectionPhase): AttemptError {
  const { code = "" } = error;
  if (code === "ECONNREFUSED") return "connection_refused";
  if (phase === "connecting") return code === "ETIMEDOUT" ? "connect_timeout" : "connection_failed";
  if (phase === "securing") return "tls_failure";
  return code.startsWith("HPE_") ? "invalid_response" : "connection_closed";
}

/** Calls back when an answer is too long. */
function limitResponseBytes(socket: Socket, tooMuch: () => void): void {
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LIMITS.webhooks.responseBytes) tooMuch();
  });
}

/**
 * One request and its answer's header, within `leftMs`. The body is read until it ends, is too long or takes too long; only
 * its beginning is kept. Resolves when the connection is closed.
 */
function exchange(
  url: URL,
  target: Reachable,
  message: Message,
  { clock, leftMs, onAnswer }: { clock: Clock; leftMs: number; onAnswer: () => void },
): Promise<ExchangeOutcome> {
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    let phase: ConnectionPhase = "connecting";
    /** The answer so far; null: none. */
    let answered: (() => ExchangeOutcome) | null = null;
    const outOfTime = () => end({ error: phase === "connecting" ? "connect_timeout" : "timeout" });
    let timer = clock.after(leftMs, outOfTime);
    let handshake: Timer | null = null;

    const connection = openConnection(url, target, {
      onPhase(reached) {
        phase = reached;
        handshake?.cancel();
        if (phase === "securing") handshake = clock.after(LIMITS.webhooks.handshakeMs, outOfTime);
      },
      onError: (error) => end({ error: errorOf(error, phase) }),
      onTooMuchData: tooMuch,
    });
    // No agent: connections are neither shared nor kept, and the environment's settings are not used.
    const createConnection = () => connection.stream;
    const request = send({ ...optionsOf(url, target, message), createConnection });

    function tooMuch(): void {
      end({ error: phase === "securing" ? "tls_failure" : "invalid_response" });
    }
    function end(ending: ExchangeOutcome): void {
      timer.cancel();
      handshake?.cancel();
      request.destroy();
      connection.close();
      resolve(answered?.() ?? ending);
    }
    function read(response: IncomingMessage): void {
      const { statusCode: status = 0 } = response;
      response.on("error", () => undefined);
      // RFC 9110 §15: other statuses do not exist, though the parser accepts them.
      if (status < 100 || status > 599) {
        end({ error: "invalid_response" });
        return;
      }
      const beginning = createResponseBeginning();
      const retryAfter = response.headers["retry-after"] ?? null;
      const soFar = () => ({ status, retryAfter, body: beginning.text() });
      answered = soFar;
      onAnswer();
      timer.cancel();
      timer = clock.after(LIMITS.webhooks.responseBodyMs, () => end(soFar()));
      response.once("close", () => end(soFar()));
      response.on("data", (chunk: Buffer) => beginning.add(chunk));
    }
    // Now, not before: the parser must get data that arrives with the end of a header first.
    request.once("socket", (socket) => limitResponseBytes(socket, tooMuch));
    request.once("response", read);
    // 101: no other protocol was requested.
    request.once("upgrade", (_response, socket) => {
      socket.on("error", () => undefined);
      socket.destroy();
      end({ error: "invalid_response" });
    });
    request.on("error", (error) => end({ error: errorOf(error, phase) }));
    request.once("close", () => end({ error: "connection_closed" }));
    request.end(message.body);
  });
}

/** The result of `work`, or null after `ms`. */
function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(null));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

export function createWebhookClient({ lookup, clock, privateAddresses }: WebhookClientDeps): WebhookClient {
  async function attempt(
    message: Message,
    startedMs: number,
    onAnswer: () => void,
  ): Promise<ExchangeOutcome> {
    const { attemptMs } = LIMITS.webhooks;
    const read = readWebhookUrl(message.url, privateAddresses);
    if ("problem" in read) return { error: "invalid_url" };
    const url = new URL(read.url);
    const target = await within(resolveTarget(url, lookup, privateAddresses), attemptMs, clock);
    if (target === null) return { error: "dns_failure" };
    if (!target.ok) return { error: target.error };
    const leftMs = attemptMs - (clock.monotonic() - startedMs);
    return exchange(url, target, message, { clock, leftMs, onAnswer });
  }

  return {
    async post(message) {
      const startedMs = clock.monotonic();
      let endedMs: number | null = null;
      const ending = await attempt(message, startedMs, () => {
        endedMs = clock.monotonic();
      });
      const durationMs = (endedMs ?? clock.monotonic()) - startedMs;
      if ("error" in ending) return { answered: false, error: ending.error, durationMs };
      return { answered: true, ...ending, durationMs };
    },
  };
}
