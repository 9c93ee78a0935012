import { isObjectsOutage } from "../../../stores/objects/objects.ts";
import { isOutage } from "../../../stores/postgres/postgres.ts";
import { ScratchFull } from "../../../stores/scratch.ts";
import type { VerificationWaiter } from "../../verify/checks/in-flight-checks.ts";

/** Cancellation of a running task: the worker cancels it, and the code of the task checks it. */
export interface Control extends Pick<VerificationWaiter, "cancelled" | "onCancel"> {
  /** The same, for operations that take one: aborted with an Interruption. */
  readonly signal: AbortSignal;
  /** The task is not wanted any more, or not from this worker. Idempotent. */
  cancel(): void;
}

export function createControl(): Control {
  const controller = new AbortController();
  const { signal } = controller;
  const callbacks = new Set<() => void>();
  return {
    signal,
    cancelled: () => signal.aborted,
    onCancel(callback) {
      if (signal.aborted) callback();
      else callbacks.add(callback);
    },
    cancel() {
      controller.abort(new Interruption("cancelled"));
      for (const callback of callbacks) callback();
      callbacks.clear();
    },
  };
}

/**
 * Postgres, Redis, object storage or this machine's disk failed, or the task was cancelled: the task itself is not at
 * fault.
 */
export class Interruption extends Error {
  override name = "Interruption";
}

/**
 * SQLSTATEs of a fault of the server, not of the statement: a standby that is not yet writable, or a primary that no longer
 * is; a missing login or database; a disk failure.
 */
const NOT_SERVING = /^(?:25006|28...|3D000|58...)$/;

function isNotServing(error: unknown): boolean {
  return error instanceof Error && "code" in error && NOT_SERVING.test(String(error.code));
}

/**
 * Runs `work`, and turns outages into interruptions.
 * @throws Interruption when a dependency is unreachable, or there is no disk space; other errors of `work` unchanged
 */
export async function interruptOnOutage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ScratchFull && error.disk)
      throw new Interruption("there is no room for temporary files", { cause: error });
    if (isOutage(error) || isNotServing(error) || isObjectsOutage(error))
      throw new Interruption("a dependency is away", { cause: error });
    throw error;
  }
}
