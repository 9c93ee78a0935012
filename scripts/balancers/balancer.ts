import type { Guard } from "../embedded/guard.ts";

/** A port for a process of the API. The process that replaces it after a restart serves on the same port. */
export interface Backend {
  /** Unique; characters `a-z0-9`. */
  name: string;
  host: string;
  port: number;
}

export interface BalancerOptions {
  guard: Guard;
  say(line: string): void;
  /** For configuration, sockets and logs; made if missing, removed at the end by the caller. */
  folder: string;
  /** Folder for downloads, kept between runs. */
  cacheDir: string;
  /** 1 to 4. */
  backends: readonly Backend[];
}

/**
 * A balancer on loopback that checks `GET /readyz` and never retries a request, on no backend: a failure behind it is a
 * failure before it.
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

/** Interval of the balancer's health checks; one answer marks a backend as up or down. */
export const PROBE_EVERY_MS = 250;

/**
 * Idle time after which the balancer closes a connection to a backend. The server behind closes idle ones after 10 s: a
 * balancer that kept them longer would at times send a request into a connection that is being closed.
 */
export const IDLE_TO_BACKEND_MS = 4_000;

const BACKENDS_MAX = 4;

/** @throws Error for no backend, too many, a duplicate name, or a name with characters other than `a-z0-9` */
export function requireBackends(backends: readonly Backend[]): void {
  if (backends.length === 0 || backends.length > BACKENDS_MAX)
    throw new Error(`a balancer takes 1 to ${BACKENDS_MAX} backends, not ${backends.length}`);
  const names = new Set(backends.map(({ name }) => name));
  if (names.size !== backends.length) throw new Error("two backends have the same name");
  for (const name of names)
    if (!/^[a-z0-9]+$/.test(name)) throw new Error(`backend ${name}: a name is of a-z and 0-9`);
}
