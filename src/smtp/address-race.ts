import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import {
  type Closure,
  type Connection,
  type ConnectionHandler,
  type ConnectionTarget,
  createConnection,
} from "./connection.ts";

export interface AddressRaceOptions<T extends ConnectionTarget> {
  first: T;
  /** The addresses to try after the first, best first; called at most once, only when the first is slow or fails. null: there are none. */
  others: (() => Promise<readonly T[]>) | null;
  clock: Clock;
  dial?: typeof createConnection;
}

export interface AddressRaceHandler<T> extends Pick<ConnectionHandler, "onData" | "onSecure"> {
  /** Another address is being dialled. */
  onAttempt(): void;
  /** `target` has connected; all other attempts are closed. */
  onConnect(target: T): void;
  /** Once: the connection has ended, or no address could be connected to; then `closure` is the first address's. Not called after `destroy`. */
  onClose(closure: Closure): void;
}

/** One dialled address. */
export interface Attempt<T> {
  target: T;
  connection: Connection;
  /** null: it waits for an answer, or is connected. */
  closure: Closure | null;
}

/**
 * One connection to whichever address of a host connects first (RFC 8305 §5). The next address is dialled when the latest has
 * not connected after `LIMITS.smtp.nextAddressMs`, or at once when one fails; at most `LIMITS.smtp.addressesAtOnce` in all.
 * Only TCP connects race: nothing is sent before one has won. A race has no deadline of its own.
 */
export class AddressRace<T extends ConnectionTarget> implements Connection {
  readonly #handler: AddressRaceHandler<T>;
  readonly #options: AddressRaceOptions<T>;
  readonly #attempts: Attempt<T>[] = [];
  /** Not yet dialled; null: not looked up yet. */
  #waiting: T[] | null = null;
  #lookingUp = false;
  #winner: Attempt<T> | null = null;
  #timer: Timer | null = null;
  #over = false;

  constructor(options: AddressRaceOptions<T>, handler: AddressRaceHandler<T>) {
    this.#options = options;
    this.#handler = handler;
    if (options.others === null) this.#waiting = [];
    this.#start(options.first);
  }

  get atProxy(): boolean {
    return this.#winner === null && this.#attempts[0]?.connection.atProxy === true;
  }

  /** The addresses dialled beside the first. */
  get others(): readonly Attempt<T>[] {
    return this.#attempts.slice(1);
  }

  write(text: string, encoding: "latin1" | "utf8"): void {
    this.#winner?.connection.write(text, encoding);
  }

  startTls(): void {
    this.#winner?.connection.startTls();
  }

  end(): void {
    this.#winner?.connection.end();
  }

  destroy(): void {
    this.#over = true;
    this.#timer?.cancel();
    for (const { connection } of this.#attempts) connection.destroy();
  }

  #start(target: T): void {
    const { clock, dial = createConnection } = this.#options;
    const attempt: Attempt<T> = {
      target,
      closure: null,
      connection: dial(target, {
        onConnect: () => this.#won(attempt),
        onData: this.#handler.onData,
        onSecure: this.#handler.onSecure,
        onClose: (closure) => this.#closed(attempt, closure),
      }),
    };
    this.#attempts.push(attempt);
    if (this.#waiting?.length === 0) return;
    // Timers run before sockets: after a stall of this thread, an address that has connected in time must not count as slow.
    const next = () => setImmediate(() => attempt === this.#attempts.at(-1) && this.#next());
    this.#timer = clock.after(LIMITS.smtp.nextAddressMs, next);
  }

  #won(attempt: Attempt<T>): void {
    if (this.#over || this.#winner !== null) return;
    this.#winner = attempt;
    this.#timer?.cancel();
    for (const other of this.#attempts) if (other !== attempt) other.connection.destroy();
    this.#handler.onConnect(attempt.target);
  }

  #closed(attempt: Attempt<T>, closure: Closure): void {
    if (this.#over) return;
    attempt.closure = closure;
    if (attempt === this.#winner) this.#finish(closure);
    else this.#next();
  }

  /** Dials the next address, if there is one. */
  #next(): void {
    if (this.#over || this.#winner !== null) return;
    this.#timer?.cancel();
    if (this.#waiting === null) {
      this.#lookUp();
      return;
    }
    const target = this.#waiting.shift();
    if (target !== undefined) {
      this.#start(target);
      this.#handler.onAttempt();
      return;
    }
    const [first] = this.#attempts;
    if (first?.closure && this.#attempts.every(({ closure }) => closure !== null))
      this.#finish(first.closure);
  }

  #lookUp(): void {
    if (this.#lookingUp) return;
    this.#lookingUp = true;
    const found = (others: readonly T[]) => {
      this.#waiting = others.slice(0, LIMITS.smtp.addressesAtOnce - 1);
      this.#next();
    };
    const { others } = this.#options;
    if (others === null) found([]);
    else others().then(found, () => found([]));
  }

  #finish(closure: Closure): void {
    this.destroy();
    this.#handler.onClose(closure);
  }
}
