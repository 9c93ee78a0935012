import net from "node:net";
import * as v from "valibot";
import { systemClock } from "../../../src/core/clock.ts";
import { AppError } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createLog, type Logger } from "../../../src/core/log.ts";
import { createMetrics } from "../../../src/core/metrics.ts";
import { effectiveLimits } from "../../../src/core/tiers.ts";
import type { Gate } from "../../../src/http/dispatch.ts";
import { type Route, teamRoute } from "../../../src/http/route.ts";
import { createRoutes } from "../../../src/http/routes.ts";
import type { Readiness } from "../../../src/http/schemas.ts";
import { createHttpServer, type HttpLimits } from "../../../src/http/server.ts";
import type { Actor } from "../../../src/services/actor.ts";
import type { VerificationResult } from "../../../src/services/verification-result.ts";
import type { VerifyAddress } from "../../../src/services/verify-address.ts";
import type { VerifyInput } from "../../../src/services/verify-input.ts";

export const AUTHORIZATION = "Authorization: Bearer good";

export const actor: Actor = {
  teamId: "team_1",
  userId: "usr_1",
  keyId: "key_1",
  role: "member",
  livemode: true,
  tier: "enterprise",
  limits: effectiveLimits("enterprise", {}),
  overlay: { isBlocked: () => false },
};

export function resultFor(email: string): VerificationResult {
  return {
    email,
    verdict: "unknown",
    reason: "deadline",
    risk_score: 50,
    did_you_mean: null,
    checks: {
      format: { ok: true },
      mx: { ok: false, hosts: [], provider: null, status: "skipped" },
      disposable: { is_disposable: false, source: "none", status: "ok" },
      role: { is_role: false, role: null, status: "ok" },
      smtp: {
        ok: false,
        code: 0,
        latency_ms: 0,
        status: "skipped",
        catch_all: "not_probed",
        enhanced_code: null,
        fault: null,
      },
      reputation: { score: 50, risk: "medium", signals: [], status: "ok" },
    },
    cached: false,
    cache_ttl_seconds: 0,
    cache_expires_at: null,
    verified_at: "2026-01-01T00:00:00.000Z",
    livemode: true,
  };
}

export const READY: Readiness = {
  status: "ready",
  dependencies: { postgres: "ok", redis: "ok", objects: "ok", checks: "ok" },
};

/** A gate that knows one credential and never runs dry. */
export function openGate(overrides: Partial<Gate> = {}): Gate {
  return {
    authenticate(authorization) {
      if (authorization === "Bearer good") return actor;
      throw new AppError("unauthorized", "The credential is missing or unknown.");
    },
    rateLimit: { take: () => {} },
    rateLimitHeaders: () => ({ policy: '"default";q=10;w=1', limit: '"default";r=9;t=1' }),
    ...overrides,
  };
}

/** A route with a body, as the next issues bring them. */
export const EchoSchema = v.strictObject({
  label: v.pipe(v.string(), v.maxLength(50, "must be at most 50 characters")),
  tags: v.optional(v.array(v.string())),
  nested: v.optional(v.unknown()),
});

export function echoRoute(): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/echo",
    operationId: "echo",
    summary: "Echo",
    tag: "test",
    role: "member",
    rateLimited: false,
    errors: [],
    body: EchoSchema,
    success: { status: 201, description: "Echo", schema: v.unknown() },
    handler: ({ body }) => ({ label: body.label }),
  });
}

export function itemRoute(): Route {
  return teamRoute({
    method: "DELETE",
    path: "/v1/items/{id}",
    operationId: "deleteItem",
    summary: "Delete",
    tag: "test",
    role: "member",
    rateLimited: false,
    errors: ["not_found"],
    params: v.strictObject({ id: v.string() }),
    success: { status: 204, description: "Deleted", schema: null },
    handler: ({ params }) => {
      if (params.id !== "known one") throw new AppError("not_found", "No such item.");
      return null;
    },
  });
}

export interface Harness {
  port: number;
  verified: VerifyInput[];
  logged: Record<string, unknown>[];
  metrics: ReturnType<typeof createMetrics>;
  drain(): Promise<void>;
  /** Without draining. */
  closeNow(): void;
  /** Drains, then closes. */
  close(): Promise<void>;
}

export interface HarnessOptions {
  verify?: VerifyAddress;
  gate?: Gate;
  readiness?: () => Readiness | Promise<Readiness>;
  extraRoutes?: Route[];
  limits?: Partial<HttpLimits>;
  trustedProxies?: string[];
}

/** A log that keeps its events. */
function recordingLog(into: Record<string, unknown>[]): Logger {
  const log = createLog("silent");
  const record = (level: string) => (event: Record<string, unknown>, message: string) => {
    into.push({ ...event, level, message });
  };
  return Object.assign(Object.create(log), {
    info: record("info"),
    warn: record("warn"),
    error: record("error"),
  }) as Logger;
}

/** A real server on a free loopback port with the real route table over fakes. */
export async function startServer(options: HarnessOptions = {}): Promise<Harness> {
  const verified: VerifyInput[] = [];
  const logged: Record<string, unknown>[] = [];
  const metrics = createMetrics();
  const routes = createRoutes({
    verify(input, context) {
      verified.push(input);
      return options.verify?.(input, context) ?? resultFor(input.email);
    },
    readiness: options.readiness ?? (() => READY),
    publicUrl: null,
  });
  const server = createHttpServer({
    routes: [...routes, ...(options.extraRoutes ?? [])],
    gate: options.gate ?? openGate(),
    log: recordingLog(logged),
    metrics,
    clock: systemClock,
    config: { host: "127.0.0.1", port: 0, trustedProxies: options.trustedProxies ?? [] },
    limits: { ...LIMITS.http, logSampleEvery: 1, ...options.limits },
  });
  const { port } = await server.listen();
  return {
    port,
    verified,
    logged,
    metrics,
    drain: () => server.drain(),
    closeNow: () => server.close(),
    async close() {
      await server.drain();
      server.close();
    },
  };
}

export interface RawReply {
  status: number;
  headers: Record<string, string>;
  body: string;
  json(): Record<string, unknown>;
}

function parseReplies(text: string, headOnly: boolean): { replies: RawReply[]; rest: string } {
  const replies: RawReply[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return { replies, rest };
    const [line = "", ...fields] = rest.slice(0, end).split("\r\n");
    const headers: Record<string, string> = {};
    for (const field of fields) {
      const colon = field.indexOf(":");
      headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
    }
    const length = headOnly ? 0 : Number(headers["content-length"] ?? 0);
    if (rest.length < end + 4 + length) return { replies, rest };
    const body = rest.slice(end + 4, end + 4 + length);
    rest = rest.slice(end + 4 + length);
    const status = Number(line.split(" ")[1]);
    if (status !== 100)
      replies.push({ status, headers, body, json: () => JSON.parse(Buffer.from(body, "latin1").toString()) });
  }
}

/** A connection that sends exact bytes (strings are latin1: one character, one byte) and parses what comes. */
export interface RawClient {
  send(bytes: string | Buffer): void;
  /** The next reply. @throws Error when the connection closes first */
  reply(headOnly?: boolean): Promise<RawReply>;
  /** Resolves when the server has closed, with what was received and not taken. */
  closed(): Promise<string>;
  destroy(): void;
}

export function connect(port: number): RawClient {
  const socket = net.connect(port, "127.0.0.1");
  let received = "";
  let isClosed = false;
  let wake: (() => void)[] = [];
  const notify = () => {
    for (const resolve of wake.splice(0)) resolve();
  };
  socket.setNoDelay(true);
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    notify();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
    notify();
  });
  const changed = () => new Promise<void>((resolve) => wake.push(resolve));
  return {
    send: (bytes) => void socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes),
    async reply(headOnly = false) {
      for (;;) {
        const parsed = parseReplies(received, headOnly);
        const [first] = parsed.replies;
        if (first) {
          const end = received.indexOf("\r\n\r\n", received.indexOf(`HTTP/1.1 ${first.status}`)) + 4;
          received = received.slice(end + (headOnly ? 0 : first.body.length));
          return first;
        }
        if (isClosed) throw new Error(`closed before a reply: ${JSON.stringify(received.slice(0, 200))}`);
        await changed();
      }
    },
    async closed() {
      while (!isClosed) await changed();
      return received;
    },
    destroy() {
      wake = [];
      socket.destroy();
    },
  };
}

/** One request on a connection of its own. `head` is everything before the empty line. */
export async function exchange(port: number, head: string[], body: string | Buffer = ""): Promise<RawReply> {
  const client = connect(port);
  try {
    client.send(`${head.join("\r\n")}\r\nHost: test\r\n\r\n`);
    if (body.length > 0) client.send(body);
    return await client.reply(head[0]?.startsWith("HEAD") ?? false);
  } finally {
    client.destroy();
  }
}

export function get(port: number, target: string, ...fields: string[]): Promise<RawReply> {
  return exchange(port, [`GET ${target} HTTP/1.1`, AUTHORIZATION, ...fields]);
}

export function postJson(
  port: number,
  target: string,
  body: string | Buffer,
  ...fields: string[]
): Promise<RawReply> {
  const length = Buffer.byteLength(body);
  return exchange(
    port,
    [
      `POST ${target} HTTP/1.1`,
      AUTHORIZATION,
      "Content-Type: application/json",
      `Content-Length: ${length}`,
      ...fields,
    ],
    typeof body === "string" ? Buffer.from(body) : body,
  );
}
