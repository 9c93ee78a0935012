import type { MessagePort } from "node:worker_threads";
import { LIMITS } from "../../config/limits/limits.ts";
import { runAtEndOfTick } from "../../platform/time/ticks.ts";

/**
 * Messages between a check thread and the main thread, those of a tick in one. A message that wakes the other side costs
 * both some 20 us, and a batch of a hundred new domains sends as many at once.
 */
export class MessageBatcher<Out> {
  readonly #port: MessagePort;
  readonly #gathered: () => Out | null;
  #messages: Out[] = [];
  #isFlushing = false;
  #later: NodeJS.Timeout | null = null;

  /** @param gathered returns a message about the tick, at its end; null: none */
  constructor(port: MessagePort, gathered: () => Out | null = () => null) {
    this.#port = port;
    this.#gathered = gathered;
  }

  send(message: Out): void {
    this.#messages.push(message);
    this.flushSoon();
  }

  /** Sends the messages at the end of this tick. */
  flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // The timer may be due in this very tick: it would find nothing to send.
    this.#cancelLater();
    runAtEndOfTick(() => this.#flush());
  }

  /**
   * Sends a message without a waiter with the next one, at most LIMITS.check.gatherMs later, and in order. A thread with
   * fifty slow sites woke the main thread a hundred times a second to report their answers.
   */
  sendLater(message: Out): void {
    this.#messages.push(message);
    if (this.#isFlushing || this.#later !== null) return;
    this.#later = setTimeout(() => this.#flush(), LIMITS.check.gatherMs);
    this.#later.unref();
  }

  #cancelLater(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
  }

  #flush(): void {
    this.#cancelLater();
    this.#isFlushing = false;
    const messages = this.#messages;
    this.#messages = [];
    const gathered = this.#gathered();
    if (gathered !== null) messages.push(gathered);
    if (messages.length > 0) this.#port.postMessage(messages);
  }
}

/**
 * Receives the messages of the `MessageBatcher` at the other end, one after the other. All work that a message starts in
 * its tick is done before the next one is received, as if each had been sent separately. So a granted slot has its
 * connection before the slot is requested back; that request comes once and would find no connection to close.
 */
export function receiveBatches<In>(port: MessagePort, receive: (message: In) => void): void {
  function receiveFrom(messages: readonly In[], next: number): void {
    try {
      receive(messages[next] as In);
    } finally {
      // A tick that a microtask requests starts when no microtask is left, and before the event loop continues.
      if (next + 1 < messages.length) queueMicrotask(() => process.nextTick(receiveFrom, messages, next + 1));
    }
  }
  port.on("message", (messages: readonly In[]) => receiveFrom(messages, 0));
}
