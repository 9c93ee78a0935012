import type { Guard } from "../embedded/guard.ts";

/** A place for a process of the API: whoever serves there, before a restart and after it, has this port. */
export interface Backend {
  /** Of `a-z0-9`, no two alike. */
  name: string;
  host: string;
  port: number;
}

export interface BalancerOptions {
  guard: Guard;
  say(line: string): void;
  /** For configuration, sockets and logs; made if missing, removed at the end by the caller. */
  folder: string;
  /** For what is downloaded, kept between runs. */
  cacheDir: string;
  /** 1 to 4. */
  backends: readonly Backend[];
}

/**
 * A balancer on loopback that goes by `GET /readyz` and never tries a request again, neither there nor elsewhere: what
 * fails behind it fails before it.
 */
export interface Balancer {
  name: string;
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** Process that takes the connections. */
  pid: number;
  /** Names of the backends that new requests go to at this moment. */
  ready(): Promise<string[]>;
  stop(): Promise<void>;
}

/** A balancer asks so often, and one answer is enough either way. */
export const PROBE_EVERY_MS = 250;

/**
 * Connections to a backend are kept so long after their last request. The server behind closes idle ones after 10 s: a
 * balancer that kept them longer would at times send a request into a connection that is just being closed.
 */
export const IDLE_TO_BACKEND_MS = 4_000;

const BACKENDS_MAX = 4;

/** @throws Error for none, too many, or a name that is not of `a-z0-9` or there twice */
export function requireBackends(backends: readonly Backend[]): void {
  if (backends.length === 0 || backends.length > BACKENDS_MAX)
    throw new Error(`a balancer takes 1 to ${BACKENDS_MAX} backends, not ${backends.length}`);
  const names = new Set(backends.map(({ name }) => name));
  if (names.size !== backends.length) throw new Error("two backends have the same name");
  for (const name of names)
    if (!/^[a-z0-9]+$/.test(name)) throw new Error(`backend ${name}: a name is of a-z and 0-9`);
}
