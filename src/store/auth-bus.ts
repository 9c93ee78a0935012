import type { Logger } from "../core/log.ts";
import type { AuthChange } from "./auth-changes.ts";
import type { RedisClients } from "./redis.ts";

/** Redis pub/sub channel of changes to credentials; a message is one `AuthChange` as JSON. */
const CHANNEL = "rcpt:auth-changes";

export interface AuthBus {
  /** Tells every process at once. Best effort: the table is the truth, and is polled. */
  announce(change: AuthChange): Promise<void>;
  /** `listener` gets each change announced by any process, this one included. */
  listen(listener: (change: AuthChange) => void): Promise<void>;
  /** Grows each time the subscription was lost: changes may have been missed in between. */
  readonly losses: number;
  /**
   * Resolves when everything announced before the call has been delivered here: the answer to a ping comes on the
   * subscriber's own connection, behind the messages. Rejects when Redis does not answer.
   */
  settle(): Promise<void>;
}

function parse(message: string): AuthChange | null {
  try {
    const { kind, subject } = JSON.parse(message) as Record<string, unknown>;
    if ((kind !== "credential" && kind !== "team") || typeof subject !== "string") return null;
    return { kind, subject };
  } catch {
    return null;
  }
}

export function createAuthBus(redis: RedisClients, log: Logger): AuthBus {
  const { commands, subscriber } = redis;
  let losses = 0;
  subscriber.on("close", () => {
    losses += 1;
  });
  return {
    async announce(change) {
      await commands.publish(CHANNEL, JSON.stringify(change));
    },
    async listen(listener) {
      subscriber.on("message", (channel: string, message: string) => {
        if (channel !== CHANNEL) return;
        const change = parse(message);
        if (change) listener(change);
        else log.warn({ channel }, "a message on the bus is no change");
      });
      await subscriber.subscribe(CHANNEL);
    },
    get losses() {
      return losses;
    },
    async settle() {
      await subscriber.ping();
    },
  };
}
