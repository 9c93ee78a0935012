import type { Actor } from "../actor.ts";

export interface VerifyInput {
  /** As the caller wrote it; 1 to `LIMITS.http.emailBytes` bytes. */
  email: string;
  /** Ask again although the cache knows. */
  refresh: boolean;
  withEvidence: boolean;
}

export interface VerifyContext {
  actor: Actor;
  /** `Clock.monotonic` milliseconds when the request came. */
  startedMs: number;
  /** True once the client has gone. */
  cancelled(): boolean;
  /** Runs `callback` once when the client goes before it was answered. */
  onCancel(callback: () => void): void;
}
