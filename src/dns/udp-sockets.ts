import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { ServerAddress } from "./server-address.ts";
import { UdpSocket } from "./udp.ts";

/**
 * The UDP sockets to one server, opened as needed. The kernel gives each a random port, which an off-path attacker must
 * guess. So a socket gets no further question after `LIMITS.dns.socketQueries` or `socketAgeMs`, and closes with its last
 * answer.
 */
export class UdpSockets {
  readonly #address: ServerAddress;
  readonly #clock: Clock;
  #active: UdpSocket[] = [];
  #draining: UdpSocket[] = [];

  constructor(address: ServerAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
  }

  /** The least busy socket for one question; opens another while all are busy and the bound allows. */
  take(): UdpSocket {
    this.#active = this.#active.filter((socket) => this.#isFit(socket));
    let best: UdpSocket | undefined;
    for (const socket of this.#active) if (!best || socket.inFlight < best.inFlight) best = socket;
    if (best && (best.inFlight === 0 || this.#active.length >= LIMITS.dns.socketsPerThread)) return best;
    const socket = new UdpSocket(this.#address, this.#clock);
    this.#active.push(socket);
    return socket;
  }

  close(): void {
    for (const socket of [...this.#active, ...this.#draining]) socket.close();
  }

  /**
   * True when it may take a question. An expired one is drained, unless too many drain already: then it serves a little
   * longer.
   */
  #isFit(socket: UdpSocket): boolean {
    if (socket.closed) return false;
    if (!socket.isExpired) return true;
    if (socket.inFlight > 0) {
      this.#draining = this.#draining.filter(({ closed }) => !closed);
      if (this.#draining.length >= LIMITS.dns.socketsDraining) return true;
      this.#draining.push(socket);
    }
    socket.drain();
    return false;
  }
}
