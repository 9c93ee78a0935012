import { LIMITS } from "../../config/limits/limits.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import {
  type Closure,
  type Connection,
  type ConnectionHandler,
  type ConnectionTarget,
  createConnection,
} from "./connection.ts";

export interface AddressRaceOptions<T extends ConnectionTarget> {
  first: T;
  /** The addresses to try after the first, best first. Called at most once, when the first is slow or fails. null: none. */
  others: (() => Promise<readonly T[]>) | null;
  clock: Clock;
  /** Absent: `createConnection`. */
  dial?: typeof createConnection | undefined;
}

export interface AddressRaceHandler<T> extends Pick<ConnectionHandler, "onData" | "onSecure"> {
  /** Another address is dialled. */
  onAttempt(): void;
  /** `target` has connected; all other attempts are closed. */
  onConnect(target: T): void;
  /**
   * Called once: the connection ended, or no address connected; then `closure` is the first address's. Not called after
   * `destroy`.
   */
  onClose(closure: Closure): void;
}

/** One dialled address. */
export interface DialAttempt<T> {
  target: T;
  connection: Connection;
  /** null: still connecting, or connected. */
  closure: Closure | null;
}

/**
 * One connection to whichever address of a host connects first (RFC 8305 §5). The race dials the next address when the
 * latest has not connected after `LIMITS.smtp.nextAddressMs`, or at once when one fails; at most
 * `LIMITS.smtp.addressesAtOnce` in all. Only TCP connects race: nothing is sent before one has won. The race has no
 * deadline of its own.
 */
export class AddressRace<T extends ConnectionTarget> implements Connection {
  readonly #handler: AddressRaceHandler<T>;
  readonly #options: AddressRaceOptions<T>;
  readonly #attempts: DialAttempt<T>[] = [];
  /** Addresses not dialled yet; null: not looked up yet. */
  #undialled: T[] | null = null;
  #lookingUp = false;
  #winner: DialAttempt<T> | null = null;
  #timer: Timer | null = null;
  #over = false;

  constructor(options: AddressRaceOptions<T>, handler: AddressRaceHandler<T>) {
    this.#options = options;
    this.#handler = handler;
    if (options.others === null) this.#undialled = [];
    this.#dial(options.first);
  }

  get isAwaitingProxy(): boolean {
    return this.#winner === null && this.#attempts[0]?.connection.isAwaitingProxy === true;
  }

  /** The addresses dialled after the first. */
  get others(): readonly DialAttempt<T>[] {
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

  #dial(target: T): void {
    const { clock, dial = createConnection } = this.#options;
    const attempt: DialAttempt<T> = {
      target,
      closure: null,
      connection: dial(target, {
        onConnect: () => this.#onConnected(attempt),
        onData: this.#handler.onData,
        onSecure: this.#handler.onSecure,
        onClose: (closure) => this.#onAttemptClosed(attempt, closure),
      }),
    };
    this.#attempts.push(attempt);
    if (this.#undialled?.length === 0) return;
    // Timers run before sockets: after a stall of this thread, an address that connected in time must not count as slow.
    const next = () => setImmediate(() => attempt === this.#attempts.at(-1) && this.#dialNext());
    this.#timer = clock.after(LIMITS.smtp.nextAddressMs, next);
  }

  #onConnected(attempt: DialAttempt<T>): void {
    if (this.#over || this.#winner !== null) return;
    this.#winner = attempt;
    this.#timer?.cancel();
    for (const other of this.#attempts) if (other !== attempt) other.connection.destroy();
    this.#handler.onConnect(attempt.target);
  }

  #onAttemptClosed(attempt: DialAttempt<T>, closure: Closure): void {
    if (this.#over) return;
    attempt.closure = closure;
    if (attempt === this.#winner) this.#finish(closure);
    else this.#dialNext();
  }

  #dialNext(): void {
    if (this.#over || this.#winner !== null) return;
    this.#timer?.cancel();
    if (this.#undialled === null) {
      this.#lookUp();
      return;
    }
    const target = this.#undialled.shift();
    if (target !== undefined) {
      this.#dial(target);
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
      this.#undialled = others.slice(0, LIMITS.smtp.addressesAtOnce - 1);
      this.#dialNext();
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
