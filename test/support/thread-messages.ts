import { serialize } from "node:v8";
import { MessagePort } from "node:worker_threads";

/** Messages of this thread to others. */
export interface ThreadMessages {
  sent: number;
  /** Bytes of their structured clones; shared memory is not counted. */
  sentBytes: number;
  received: number;
  receivedBytes: number;
}

function bytesOf(value: unknown): number {
  try {
    return serialize(value).length;
  } catch {
    // A port or another value that cannot be cloned: in messages at start-up only.
    return 0;
  }
}

/**
 * Counts messages between this thread and those started from now on, until `stop`. Call it before the threads start: it
 * does not see listeners that exist already.
 */
export function countThreadMessages(): { counts: ThreadMessages; stop(): void } {
  const counts: ThreadMessages = { sent: 0, sentBytes: 0, received: 0, receivedBytes: 0 };
  const { prototype } = MessagePort;
  const { postMessage, on } = prototype;
  const listened = new WeakSet<MessagePort>();
  prototype.postMessage = function (this: MessagePort, ...args: Parameters<typeof postMessage>) {
    counts.sent += 1;
    counts.sentBytes += bytesOf(args[0]);
    return postMessage.apply(this, args);
  } as typeof postMessage;
  prototype.on = function (this: MessagePort, ...args: Parameters<typeof on>) {
    if (args[0] === "message" && !listened.has(this)) {
      listened.add(this);
      on.call(this, "message", (value: unknown) => {
        counts.received += 1;
        counts.receivedBytes += bytesOf(value);
      });
    }
    return on.apply(this, args);
  } as typeof on;
  return {
    counts,
    stop() {
      prototype.postMessage = postMessage;
      prototype.on = on;
    },
  };
}
