import type { Idempotency, KeyedAttempt, Replay } from "../../features/idempotency/idempotency.ts";
import type { Actor } from "../../features/identity/actor.ts";
import { AppError, type ErrorCode } from "../../platform/errors.ts";
import { problemReply } from "../reply/problem.ts";
import { type ContentType, HttpReply, isStream, type ReplyBody } from "../reply/reply.ts";
import type { HttpRequest } from "../request/request.ts";
import type { TeamRoute } from "./route.ts";

/**
 * Refusals that are stored: they report that something exists already, as the answer to a repeated request would. All
 * others release the key, since the cause may end within the day: a tier is raised, room is made, a dependency is back.
 */
const FINAL_REFUSALS: ReadonlySet<string> = new Set<ErrorCode>([
  "already_blocked",
  "already_member",
  "account_exists",
]);

function isFinal({ status, code }: HttpReply): boolean {
  return code === null ? status < 300 : FINAL_REFUSALS.has(code);
}

/** The body as text; null: none. Routes that honour the key do not stream a body. */
function textOf(body: ReplyBody): string | null {
  if (body === null || typeof body === "string") return body;
  if (isStream(body)) throw new Error("a streamed body cannot be kept");
  return Buffer.from(body).toString("utf8");
}

/** The body without the secret, which is shown only once. */
function withoutSecret(body: string, secretField: string | undefined): string {
  if (secretField === undefined) return body;
  const value: unknown = JSON.parse(body);
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, secretField)) return body;
  return JSON.stringify({ ...value, [secretField]: null });
}

/** The instant that a member of the answer names, if it does. */
function instantOf(body: string, field: string): Date | null {
  const value: unknown = JSON.parse(body);
  const text =
    typeof value === "object" && value !== null
      ? Object.entries(value).find(([name]) => name === field)
      : null;
  const instant = new Date(String(text?.[1]));
  return Number.isNaN(instant.getTime()) ? null : instant;
}

async function settleAttempt(attempt: KeyedAttempt, reply: HttpReply, route: TeamRoute): Promise<void> {
  if (!isFinal(reply)) return attempt.release();
  const { status, contentType, headers } = reply;
  const text = textOf(reply.body);
  const kept = text === null ? null : withoutSecret(text, route.secretField);
  const { validUntilField: holdsUntilField } = route;
  const holdsUntil = text === null || holdsUntilField === undefined ? null : instantOf(text, holdsUntilField);
  const answer = { status, contentType, headers: { ...headers }, body: kept };
  await attempt.settle(holdsUntil === null ? answer : { ...answer, holdsUntil });
}

function replayReply({ replay }: Replay): HttpReply {
  return new HttpReply(replay.status, replay.body, {
    // Content type and header fields of the stored reply.
    contentType: replay.contentType as ContentType,
    headers: { ...replay.headers, "Idempotent-Replayed": "true" },
  });
}

/** The reply of the work, or the reply to an error that the caller caused. @throws errors that are our fault */
async function replyOf(work: () => HttpReply | Promise<HttpReply>, requestId: string): Promise<HttpReply> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) return problemReply(error, requestId);
    throw error;
  }
}

/**
 * Does `work` once for all requests that come with the key, and gives its answer to each.
 * @throws AppError see `Idempotency`, and those of reading the body
 */
export async function invokeOnce(
  idempotency: Idempotency,
  exchange: { route: TeamRoute; request: HttpRequest; actor: Actor; key: string },
  work: () => HttpReply | Promise<HttpReply>,
): Promise<HttpReply> {
  const { route, request, actor, key } = exchange;
  const body = (await request.body?.bytes) ?? new Uint8Array();
  const begun = await idempotency.begin({
    teamId: actor.teamId,
    livemode: actor.livemode,
    key,
    method: request.method,
    target: `${request.path}?${request.rawQuery}`,
    body,
  });
  if ("replay" in begun) return replayReply(begun);
  try {
    const reply = await replyOf(work, request.id);
    await settleAttempt(begun, reply, route);
    return reply;
  } catch (error) {
    await begun.release();
    throw error;
  }
}
