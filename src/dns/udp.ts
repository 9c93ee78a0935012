import { createSocket, type Socket } from "node:dgram";
import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Exchange } from "./exchange.ts";
import { decodeResponse, encodeQuery, type Question, responseId } from "./message.ts";
import { randomId } from "./random-id.ts";
import type { ServerAddress } from "./server-address.ts";

interface Pending {
  question: Question;
  timer: Timer;
  settle(exchange: Exchange): void;
}

/** Room for the answers of all queries in flight while the event loop is busy. */
const RECEIVE_BUFFER_BYTES = 1_048_576;

/**
 * One UDP socket, connected: the kernel drops what comes from any other address, and tells when nobody listens.
 * A datagram that is no answer to a pending question is ignored, as if a stranger had sent it.
 */
export class UdpSocket {
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  #connected = false;
  #unsent: (() => void)[] = [];
  broken = false;

  constructor(server: ServerAddress, clock: Clock) {
    this.#clock = clock;
    const type = server.family === 4 ? "udp4" : "udp6";
    this.#socket = createSocket({ type, recvBufferSize: RECEIVE_BUFFER_BYTES });
    this.#socket.on("message", (bytes) => this.#receive(bytes));
    this.#socket.on("error", () => this.close());
    this.#socket.on("connect", () => this.#flush());
    this.#socket.connect(server.port, server.address);
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Sends one query and waits up to `LIMITS.dns.attemptTimeoutMs`. Never rejects. */
  ask(question: Question): Promise<Exchange> {
    return new Promise((resolve) => {
      if (this.broken) return resolve({ kind: "unreachable" });
      const id = randomId((taken) => this.#pending.has(taken));
      const settle = (exchange: Exchange) => {
        const pending = this.#pending.get(id);
        this.#pending.delete(id);
        pending?.timer.cancel();
        resolve(exchange);
      };
      const timer = this.#clock.after(LIMITS.dns.attemptTimeoutMs, () => settle({ kind: "timeout" }));
      this.#pending.set(id, { question, timer, settle });
      const send = () =>
        this.#socket.send(encodeQuery(id, question), (error) => {
          if (error) settle({ kind: "unreachable" });
        });
      if (this.#connected) send();
      else this.#unsent.push(send);
    });
  }

  close(): void {
    if (this.broken) return;
    this.broken = true;
    this.#unsent = [];
    this.#socket.close();
    for (const pending of [...this.#pending.values()]) pending.settle({ kind: "unreachable" });
  }

  #flush(): void {
    this.#connected = true;
    for (const send of this.#unsent.splice(0)) send();
  }

  #receive(bytes: Buffer): void {
    const pending = this.#pending.get(responseId(bytes));
    if (!pending) return;
    const packet = decodeResponse(bytes, pending.question);
    if (packet) pending.settle(packet.flag_tc ? { kind: "truncated" } : { kind: "answer", packet });
  }
}
