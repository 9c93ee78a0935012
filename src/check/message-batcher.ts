import type { MessagePort } from "node:worker_threads";
import { LIMITS } from "../core/limits.ts";

/**
 * Messages between a check thread and the main thread, those of a turn of the event loop in one: what is sent wakes the
 * other side, which costs both some 20 us, and a batch of a hundred new domains has as many questions at once.
 */
export class MessageBatcher<Out> {
  readonly #port: MessagePort;
  #messages: Out[] = [];
  #isClosing = false;
  #later: NodeJS.Timeout | null = null;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  send(message: Out): void {
    this.#messages.push(message);
    if (this.#isClosing) return;
    this.#isClosing = true;
    // Before that: it may be due in this very turn, and of two ends of a bag the second would find it empty.
    this.#forgetLater();
    setImmediate(() => this.#flush());
  }

  /**
   * What nobody waits for goes with the next message, LIMITS.check.gatherMs later at most, and in order: a thread that waits for fifty
   * slow sites woke the main thread a hundred times a second to say that they answer.
   */
  sendLater(message: Out): void {
    this.#messages.push(message);
    if (this.#isClosing || this.#later !== null) return;
    this.#later = setTimeout(() => this.#flush(), LIMITS.check.gatherMs);
    this.#later.unref();
  }

  #forgetLater(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
  }

  #flush(): void {
    this.#forgetLater();
    this.#isClosing = false;
    const messages = this.#messages;
    this.#messages = [];
    this.#port.postMessage(messages);
  }
}

/**
 * Hears, one after the other, what the `MessageBatcher` at the other end sends. All that a message sets going in its turn is done
 * before the next is heard, as if each had come by itself: a slot that is granted has its connection before it is wanted
 * back, which is said once and would find nothing to give back.
 */
export function receiveBatches<In>(port: MessagePort, receive: (message: In) => void): void {
  function hear(messages: readonly In[], next: number): void {
    try {
      receive(messages[next] as In);
    } finally {
      // A tick that a microtask asks for comes when no microtask is left, and still before the event loop goes on.
      if (next + 1 < messages.length) queueMicrotask(() => process.nextTick(hear, messages, next + 1));
    }
  }
  port.on("message", (messages: readonly In[]) => hear(messages, 0));
}
