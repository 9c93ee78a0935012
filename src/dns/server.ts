import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { DnsExchange, UdpExchange } from "./exchange.ts";
import type { DnsQuestion } from "./message.ts";
import { randomCase } from "./random.ts";
import type { ServerAddress } from "./server-address.ts";
import { askOverTcp, type TcpQuery } from "./tcp.ts";
import { UdpSockets } from "./udp-sockets.ts";

/** One DNS server: UDP with questions in mixed case, and TCP for answers that do not fit. */
export class DnsServer {
  readonly #address: ServerAddress;
  readonly #clock: Clock;
  readonly #sockets: UdpSockets;
  readonly #tcpQueries = new Set<TcpQuery>();
  /** Consecutive questions whose case came back changed. */
  #caseMismatches = 0;
  #lowerCaseUntilMs = 0;
  #closed = false;

  constructor(address: ServerAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
    this.#sockets = new UdpSockets(address, clock);
  }

  /** Never rejects. Each step takes at most `LIMITS.dns.attemptTimeoutMs`, and ends at `untilMs` (monotonic). */
  async ask(question: DnsQuestion, untilMs: number): Promise<DnsExchange> {
    if (this.#closed) return { kind: "unreachable" };
    const exchange = await this.#askOverUdp(question, untilMs);
    if (exchange.kind === "case_changed" || this.#closed) return { kind: "unreachable" };
    if (exchange.kind !== "truncated") return exchange;
    const query = askOverTcp(this.#address, question, this.#clock, untilMs);
    this.#tcpQueries.add(query);
    const whole = await query.result;
    this.#tcpQueries.delete(query);
    return whole;
  }

  close(): void {
    this.#closed = true;
    this.#sockets.close();
    for (const query of this.#tcpQueries) query.abort();
  }

  /**
   * An answer with another case than the question's is not accepted. The question is repeated in lower case, with a new id
   * and port, so that a forger must guess again. For a server that always changes the case the first step is skipped.
   */
  async #askOverUdp(question: DnsQuestion, untilMs: number): Promise<UdpExchange> {
    if (this.#clock.monotonic() < this.#lowerCaseUntilMs)
      return this.#sockets.take().ask(question, null, untilMs);
    const exchange = await this.#sockets.take().ask(question, randomCase(question.name), untilMs);
    if (exchange.kind === "answer" || exchange.kind === "truncated") this.#caseMismatches = 0;
    if (exchange.kind !== "case_changed" || this.#closed) return exchange;
    if (++this.#caseMismatches >= LIMITS.dns.caseMismatches) {
      this.#caseMismatches = 0;
      this.#lowerCaseUntilMs = this.#clock.monotonic() + LIMITS.dns.lowerCaseMs;
    }
    return this.#sockets.take().ask(question, null, untilMs);
  }
}
