import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { RedisClients } from "../../stores/redis.ts";
import type { AuthChange } from "./auth-changes.ts";

/**
 * Redis pub/sub channel of credential changes; a message is one `AuthChange` as JSON. Channels are common to all logical
 * databases of a Redis. The name contains the database number, so that deployments that share a server do not receive each
 * other's messages.
 */
const CHANNEL = "rcpt:auth-changes";

export interface AuthBus {
  /** Tells every process at once. Best effort: the table is the truth, and processes poll it. */
  announce(change: AuthChange): Promise<void>;
  /** `listener` gets each change that any process announces, this one included, while Redis is reachable. */
  listen(listener: (change: AuthChange) => void): void;
  /** Identifies the current unbroken subscription; null without one. After a new value, changes may have been missed. */
  readonly session: number | null;
  /**
   * Resolves when everything announced before the call has been delivered here: the reply to a ping comes on the
   * subscriber's own connection, behind the messages. Rejects when Redis does not answer.
   */
  settle(): Promise<void>;
}

/** The named domains; empty, which means any, where the list is unreadable. */
function readNames(domains: unknown): string[] {
  const named = Array.isArray(domains) && domains.length <= LIMITS.keys.domainsPerNote ? domains : [];
  return named.every((domain) => typeof domain === "string") ? named : [];
}

function parse(message: string): AuthChange | null {
  try {
    const { kind, subject, domains } = JSON.parse(message) as Record<string, unknown>;
    if (typeof subject !== "string") return null;
    if (kind !== "credential" && kind !== "team" && kind !== "lists" && kind !== "all") return null;
    return domains === undefined ? { kind, subject } : { kind, subject, domains: readNames(domains) };
  } catch {
    return null;
  }
}

export function createAuthBus(redis: RedisClients, log: Logger): AuthBus {
  const { commands, subscriber } = redis;
  const channel = `${CHANNEL}:${commands.options.db ?? 0}`;
  let sessions = 0;
  let session: number | null = null;
  let connection = 0;

  async function subscribe(): Promise<void> {
    const on = connection;
    try {
      await subscriber.subscribe(channel);
      if (on === connection) session = ++sessions;
    } catch (error) {
      log.debug({ err: error }, "cannot follow the bus");
      // Without a subscription the connection is useless: take a new one, which subscribes when it is ready.
      if (on === connection && subscriber.status === "ready") subscriber.disconnect(true);
    }
  }

  return {
    async announce(change) {
      await commands.publish(channel, JSON.stringify(change));
    },
    listen(listener) {
      subscriber.on("close", () => {
        connection += 1;
        session = null;
      });
      subscriber.on("ready", () => void subscribe());
      subscriber.on("message", (name: string, message: string) => {
        if (name !== channel) return;
        const change = parse(message);
        if (change) listener(change);
        else log.warn({ channel }, "ignoring a malformed message on the auth bus");
      });
      if (subscriber.status === "ready") void subscribe();
    },
    get session() {
      return session;
    },
    async settle() {
      await subscriber.ping();
    },
  };
}
