import type { AddressInfo } from "node:net";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { problemReply } from "../../src/api/reply/problem.ts";
import { createRequestIds, saneRequestId } from "../../src/api/request/request-id.ts";
import { createRequestObserver } from "../../src/api/server/observe.ts";
import { loadConfig } from "../../src/config/config.ts";
import { LIMITS } from "../../src/config/limits/limits.ts";
import type { Actor } from "../../src/features/identity/actor.ts";
import { limitText } from "../../src/features/quota/limits-view.ts";
import type { CachedAnswer } from "../../src/features/verify/answer/answer-note.ts";
import { AppError } from "../../src/platform/errors.ts";
import { createLog } from "../../src/platform/log.ts";
import { type CachedServices, startCachedServices } from "../api/fastify-services.ts";
import { usageNow } from "../cpu/busy.ts";
import { answerParent } from "../setup/child.ts";

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

/** At once where the credential is in memory. */
function authenticate(
  authenticator: CachedServices["authenticator"],
  request: FastifyRequest,
  done: (error?: Error) => void,
): void {
  let actor: Actor | Promise<Actor>;
  try {
    actor = authenticator.authenticate(request.headers.authorization ?? "");
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
}

/**
 * `GET /v1/verify` as users of fastify write it, on the service's own parts. Credentials come from memory, a token and
 * a unit from their leases, the answer from the bytes rendered once, with the same metrics. fastify's own request log
 * is off, as in ours: the observer logs the same sample.
 */
function createApp(
  { authenticator, clock, limitsLeft, metrics, take }: CachedServices,
  log: Parameters<typeof createRequestObserver>[0]["log"],
) {
  const ids = createRequestIds();
  const observer = createRequestObserver({ log, metrics, clock, limits: LIMITS.http });
  const app = fastify({
    logger: false,
    requestIdHeader: false,
    genReqId: ({ headers }) => saneRequestId(String(headers["x-request-id"] ?? "")) ?? ids.text(ids.take()),
    bodyLimit: 16_384,
    keepAliveTimeout: 0,
  });
  app.decorateRequest("actor", null);
  app.decorateRequest("startedMs", 0);

  function send(reply: FastifyReply, { json }: CachedAnswer, actor: Actor): FastifyReply {
    const limits = limitsLeft(actor, "verify");
    return reply
      .headers({
        "X-Request-Id": reply.request.id,
        "X-Content-Type-Options": "nosniff",
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "RateLimit-Policy": limits.policy,
        RateLimit: limitText(limits),
      })
      .send(json.body);
  }

  app.addHook("onRequest", (request, _reply, done) => {
    request.startedMs = clock.monotonic();
    authenticate(authenticator, request, done);
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
      const answer = take({ email, refresh: false, withEvidence: false, probe: true }, actor);
      return answer instanceof Promise
        ? answer.then((learnt) => send(reply, learnt, actor))
        : send(reply, answer, actor);
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
