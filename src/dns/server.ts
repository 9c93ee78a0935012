import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Exchange, UdpExchange } from "./exchange.ts";
import type { Question } from "./message.ts";
import { randomCase } from "./random.ts";
import type { ServerAddress } from "./server-address.ts";
import { askOverTcp, type TcpQuery } from "./tcp.ts";
import { UdpSockets } from "./udp-sockets.ts";

/** One DNS server: UDP with questions in mixed case, and TCP for what does not fit. */
export class DnsServer {
  readonly #address: ServerAddress;
  readonly #clock: Clock;
  readonly #sockets: UdpSockets;
  readonly #overTcp = new Set<TcpQuery>();
  /** Questions in a row whose case came back changed. */
  #caseLosses = 0;
  #plainUntilMs = 0;
  #closed = false;

  constructor(address: ServerAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
    this.#sockets = new UdpSockets(address, clock);
  }

  /** Never rejects. Every step has `LIMITS.dns.attemptTimeoutMs`, and none goes on after `untilMs` (monotonic). */
  async ask(question: Question, untilMs: number): Promise<Exchange> {
    if (this.#closed) return { kind: "unreachable" };
    const exchange = await this.#askOverUdp(question, untilMs);
    if (exchange.kind === "case_changed" || this.#closed) return { kind: "unreachable" };
    if (exchange.kind !== "truncated") return exchange;
    const query = askOverTcp(this.#address, question, this.#clock, untilMs);
    this.#overTcp.add(query);
    const whole = await query.result;
    this.#overTcp.delete(query);
    return whole;
  }

  close(): void {
    this.#closed = true;
    this.#sockets.close();
    for (const query of this.#overTcp) query.abort();
  }

  /**
   * An answer in another case than the question's is not believed: the question is put again, in lower case, with an id
   * and a port of its own, so that a forger has to guess anew. A server that always does so is spared the detour.
   */
  async #askOverUdp(question: Question, untilMs: number): Promise<UdpExchange> {
    if (this.#clock.monotonic() < this.#plainUntilMs)
      return this.#sockets.take().ask(question, null, untilMs);
    const exchange = await this.#sockets.take().ask(question, randomCase(question.name), untilMs);
    if (exchange.kind === "answer" || exchange.kind === "truncated") this.#caseLosses = 0;
    if (exchange.kind !== "case_changed" || this.#closed) return exchange;
    if (++this.#caseLosses >= LIMITS.dns.caseLosses) {
      this.#caseLosses = 0;
      this.#plainUntilMs = this.#clock.monotonic() + LIMITS.dns.plainCaseMs;
    }
    return this.#sockets.take().ask(question, null, untilMs);
  }
}
