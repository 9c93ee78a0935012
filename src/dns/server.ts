import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Exchange } from "./exchange.ts";
import type { Question } from "./message.ts";
import type { ServerAddress } from "./server-address.ts";
import { askOverTcp, type TcpQuery } from "./tcp.ts";
import { UdpSocket } from "./udp.ts";

/** One DNS server: a few UDP sockets, opened as they are needed, and TCP for what does not fit. */
export class DnsServer {
  readonly #address: ServerAddress;
  readonly #clock: Clock;
  #sockets: UdpSocket[] = [];
  readonly #overTcp = new Set<TcpQuery>();
  #closed = false;

  constructor(address: ServerAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
  }

  /** Never rejects, and never ends as `truncated`. */
  async ask(question: Question): Promise<Exchange> {
    const exchange = await this.#socket().ask(question);
    if (exchange.kind !== "truncated") return exchange;
    if (this.#closed) return { kind: "unreachable" };
    const query = askOverTcp(this.#address, question, this.#clock);
    this.#overTcp.add(query);
    const whole = await query.result;
    this.#overTcp.delete(query);
    return whole;
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.close();
    for (const query of this.#overTcp) query.abort();
  }

  /** The least busy socket; a further one is opened while all have work and the bound allows. */
  #socket(): UdpSocket {
    this.#sockets = this.#sockets.filter((socket) => !socket.broken);
    let best: UdpSocket | undefined;
    for (const socket of this.#sockets) if (!best || socket.inFlight < best.inFlight) best = socket;
    if (best && (best.inFlight === 0 || this.#sockets.length >= LIMITS.dns.socketsPerThread)) return best;
    const socket = new UdpSocket(this.#address, this.#clock);
    this.#sockets.push(socket);
    return socket;
  }
}
