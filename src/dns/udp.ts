import { createSocket, type Socket } from "node:dgram";
import { LIMITS } from "../config/limits/limits.ts";
import type { Clock, Timer } from "../platform/time/clock.ts";
import { remainingAttemptMs, type UdpExchange } from "./exchange.ts";
import { type DnsQuestion, decodeResponse, echoesCase, encodeQuery, responseId } from "./message.ts";
import { randomId } from "./random.ts";
import type { ServerAddress } from "./server-address.ts";

interface Pending {
  question: DnsQuestion;
  mixedName: string | null;
  timer: Timer;
  settle(exchange: UdpExchange): void;
}

/** Room for the answers of all queries in flight while the event loop is busy. */
const RECEIVE_BUFFER_BYTES = 1_048_576;

/**
 * One connected UDP socket: the kernel drops datagrams from other addresses, and reports a closed port. A datagram that
 * answers no pending question is ignored, since it may be forged.
 */
export class UdpSocket {
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  #connected = false;
  #unsent: (() => void)[] = [];
  readonly #openedAtMs: number;
  #queriesSent = 0;
  #isSuspect = false;
  #isDraining = false;
  closed = false;

  constructor(server: ServerAddress, clock: Clock) {
    this.#clock = clock;
    this.#openedAtMs = clock.monotonic();
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

  /** True when its port was in use for too long, or may have been guessed. */
  get isExpired(): boolean {
    if (this.#isSuspect || this.#queriesSent >= LIMITS.dns.socketQueries) return true;
    return this.#clock.monotonic() - this.#openedAtMs >= LIMITS.dns.socketAgeMs;
  }

  /**
   * Sends one query and waits up to `LIMITS.dns.attemptTimeoutMs`, and not after `untilMs`. Never rejects.
   * @param mixedName the name in the case in which it is sent and must come back; null: sent in lower case, accepted in any
   */
  ask(question: DnsQuestion, mixedName: string | null, untilMs: number): Promise<UdpExchange> {
    return new Promise((resolve) => {
      if (this.closed) return resolve({ kind: "unreachable" });
      const id = randomId((taken) => this.#pending.has(taken));
      const settle = (exchange: UdpExchange) => {
        const pending = this.#pending.get(id);
        if (pending?.settle !== settle) return;
        this.#pending.delete(id);
        pending.timer.cancel();
        resolve(exchange);
        if (this.#isDraining && this.#pending.size === 0) this.close();
      };
      const timer = this.#clock.after(remainingAttemptMs(this.#clock, untilMs), () =>
        settle({ kind: "timeout" }),
      );
      this.#pending.set(id, { question, mixedName, timer, settle });
      this.#queriesSent++;
      const send = () =>
        this.#socket.send(encodeQuery(id, mixedName ?? question.name, question.type), (error) => {
          if (error) settle({ kind: "unreachable" });
        });
      if (this.#connected) send();
      else this.#unsent.push(send);
    });
  }

  /** Closes when the last question is answered; takes no further one. */
  drain(): void {
    this.#isDraining = true;
    if (this.#pending.size === 0) this.close();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
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
    if (!packet) return;
    if (pending.mixedName !== null && !echoesCase(packet, pending.mixedName)) {
      this.#isSuspect = true;
      pending.settle({ kind: "case_changed" });
    } else pending.settle(packet.flag_tc ? { kind: "truncated" } : { kind: "answer", packet });
  }
}
