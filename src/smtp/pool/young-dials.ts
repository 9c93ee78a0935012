import { LIMITS } from "../../config/limits/limits.ts";
import type { Session } from "../session/session.ts";

interface Dial<Destination> {
  session: Pick<Session, "stage">;
  destination: Destination;
  startedAt: number;
}

/** Connections being opened, until they are answered, closed, or silent for too long. */
export class YoungDials<Destination> {
  #dials: Dial<Destination>[] = [];

  get isEmpty(): boolean {
    return this.#dials.length === 0;
  }

  add(session: Pick<Session, "stage">, destination: Destination, startedAt: number): void {
    this.#dials.push({ session, destination, startedAt });
  }

  /**
   * Takes the dials without an answer for `LIMITS.network.silentMs`. They are watched no more, like answered and closed
   * ones.
   */
  takeSilent(now: number): Dial<Destination>[] {
    const opening = this.#dials.filter(({ session }) => session.stage === "connect");
    const isSilent = ({ startedAt }: Dial<Destination>) => now - startedAt >= LIMITS.network.silentMs;
    this.#dials = opening.filter((dial) => !isSilent(dial));
    return opening.filter(isSilent);
  }

  clear(): void {
    this.#dials = [];
  }
}
