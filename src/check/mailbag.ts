import type { MessagePort } from "node:worker_threads";

/**
 * Messages between a check thread and the main thread, those of a turn of the event loop in one: what is sent wakes the
 * other side, which costs both some 20 us, and a batch of a hundred new domains has as many questions at once.
 */
export class Mailbag<Out> {
  readonly #port: MessagePort;
  #messages: Out[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  send(message: Out): void {
    if (this.#messages.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const messages = this.#messages;
    this.#messages = [];
    this.#port.postMessage(messages);
  }
}

/** Hears, one after the other, what the `Mailbag` at the other end sends. */
export function openMailbags<In>(port: MessagePort, receive: (message: In) => void): void {
  port.on("message", (messages: readonly In[]) => {
    for (const message of messages) receive(message);
  });
}
