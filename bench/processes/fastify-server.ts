import type { AddressInfo } from "node:net";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { loadConfig } from "../../src/core/config.ts";
import { AppError } from "../../src/core/errors.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { createLog } from "../../src/core/log.ts";
import { createRequestObserver } from "../../src/http/observe.ts";
import { problemReply } from "../../src/http/problem.ts";
import { createRequestIds, saneRequestId } from "../../src/http/request-id.ts";
import type { Actor } from "../../src/services/actor.ts";
import { limitText } from "../../src/services/limits-view.ts";
import type { CredentialHandle, ReadyAddress, ReadyAnswer } from "../../src/services/verify/ready-answers.ts";
import { usageNow } from "../busy.ts";
import { answerParent } from "../child.ts";
import { type CachedServices, holderOf, startCachedServices } from "../fastify-services.ts";

declare module "fastify" {
  interface FastifyRequest {
    actor: Actor | null;
    startedMs: number;
  }
}

const PATH = "/v1/verify";
interface Query {
  email: string;
  refresh?: boolean;
  evidence?: boolean;
}

/** Decoded and checked by fastify's own validator. */
const QUERY = {
  type: "object",
  required: ["email"],
  additionalProperties: false,
  properties: {
    email: { type: "string", minLength: 1, maxLength: LIMITS.http.emailBytes },
    refresh: { type: "boolean" },
    evidence: { type: "boolean" },
  },
};

/**
 * `GET /v1/verify` as fastify's users write it, on the service's own parts: credentials from memory, a token and a unit from
 * their leases, the answer in the bytes that were rendered once, what it costs counted alike. Its own line a request is
 * off, as in ours: the observer logs the same sample.
 */
function createApp(
  { answers, authenticator, clock, metrics, take }: CachedServices,
  log: Parameters<typeof createRequestObserver>[0]["log"],
) {
  const ids = createRequestIds();
  const observer = createRequestObserver({ log, metrics, clock, limits: LIMITS.http });
  const known = new Map<string, ReadyAddress>();
  const app = fastify({
    logger: false,
    requestIdHeader: false,
    genReqId: ({ headers }) => saneRequestId(String(headers["x-request-id"] ?? "")) ?? ids.next(),
    bodyLimit: 16_384,
    keepAliveTimeout: 0,
  });
  app.decorateRequest("actor", null);
  app.decorateRequest("startedMs", 0);

  function authenticate(authorization: string, nowMs: number): Actor | Promise<Actor> {
    const credential = authenticator.findCached(authorization, nowMs);
    if (credential === null) return authenticator.authenticate(authorization);
    authenticator.noteUse(credential, nowMs);
    return credential.actor;
  }

  function addressOf(email: string): ReadyAddress | null {
    const found = known.get(email);
    if (found !== undefined) return found;
    const address = answers.understand(email);
    if (address !== null && known.size < LIMITS.http.readyQueries) known.set(email, address);
    return address;
  }

  /** What is ready, paid from leases; null: somebody has to be asked. */
  function readyFor(email: string, actor: Actor, nowMs: number): ReadyAnswer | null {
    const address = addressOf(email);
    const answer = address === null ? null : answers.find(address, actor, nowMs);
    return answer !== null && answers.charge(answer, answers.handleOf(holderOf(actor)), nowMs)
      ? answer
      : null;
  }

  /** The body is sent after the turn in which it was found; a lap of the ring, thousands of other answers, cannot come in between. */
  function send(
    reply: FastifyReply,
    answer: ReadyAnswer,
    { rate, quota, policy }: CredentialHandle,
  ): FastifyReply {
    const nowMs = clock.monotonic();
    const left = rate.remaining(nowMs);
    const limits = {
      rate: left,
      rateResetS: rate.resetS(nowMs, left),
      quota: quota.remaining(nowMs),
      quotaResetS: quota.resetS(nowMs),
    };
    return reply
      .headers({
        "X-Request-Id": reply.request.id,
        "X-Content-Type-Options": "nosniff",
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "RateLimit-Policy": policy,
        RateLimit: limitText(limits),
      })
      .send(answer.body);
  }

  app.addHook("onRequest", (request, _reply, done) => {
    request.startedMs = clock.monotonic();
    let actor: Actor | Promise<Actor>;
    try {
      actor = authenticate(request.headers.authorization ?? "", request.startedMs);
    } catch (error) {
      done(error as AppError);
      return;
    }
    if (!(actor instanceof Promise)) {
      request.actor = actor;
      done();
      return;
    }
    actor.then((found) => {
      request.actor = found;
      done();
    }, done);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const bytes = Number(reply.getHeader("content-length") ?? 0);
    const outcome = { status: reply.statusCode, bytes, code: null, headMs: null };
    observer.recordFinished(request, PATH, outcome);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const known = error instanceof AppError ? error : new AppError("validation_failed", String(error));
    const { status, body, contentType } = problemReply(known, request.id);
    return reply.code(status).type(contentType).send(body);
  });
  app.get(
    PATH,
    { schema: { querystring: QUERY } },
    (request: FastifyRequest<{ Querystring: Query }>, reply) => {
      const { actor } = request;
      const { email, refresh, evidence } = request.query;
      if (refresh || evidence) throw new AppError("unavailable", "This server knows cached answers alone.");
      if (actor === null) throw new AppError("unauthorized", "Send a key.");
      const answer = readyFor(email, actor, request.startedMs);
      if (answer !== null) return send(reply, answer, answers.handleOf(holderOf(actor)));
      return take(email, actor).then((learnt) => send(reply, learnt, answers.handleOf(holderOf(actor))));
    },
  );
  return app;
}

let services: CachedServices | null = null;
let app: ReturnType<typeof createApp> | null = null;

const verbs = {
  async start(settings: Record<string, string>) {
    const config = loadConfig(settings);
    const log = createLog(config.logLevel, { role: "fastify" });
    services = await startCachedServices(config, log);
    app = createApp(services, log);
    await app.listen({ host: "127.0.0.1", port: 0 });
    return { port: (app.server.address() as AddressInfo).port, pid: process.pid };
  },

  usage: usageNow,
};

export type FastifyServer = typeof verbs;

answerParent(verbs, async () => {
  await app?.close();
  await services?.stop();
});
