import { type Guard, startGuard } from "./guard.ts";

export interface GuardedOptions {
  /** Exit code after SIGINT or SIGTERM. */
  interruptedCode: number;
  /** Called at the first signal. */
  onInterrupt?(): void;
}

/**
 * Runs a command under a guard of its own, and ends the process with its exit code: when it is done, when it fails (one
 * line says why), or at the first signal, once everything the guard holds has ended.
 *
 * @param command resolves to the exit code; `stopping` is aborted by a signal
 */
export function runGuarded(
  command: (guard: Guard, stopping: AbortSignal) => Promise<number>,
  options: GuardedOptions,
): void {
  const guard = startGuard();
  const stopping = new AbortController();

  async function end(code: number): Promise<void> {
    if (stopping.signal.aborted) return;
    stopping.abort();
    await guard.end();
    process.exit(code);
  }

  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      if (!stopping.signal.aborted) options.onInterrupt?.();
      void end(options.interruptedCode);
    });
  }
  command(guard, stopping.signal).then(end, (error: Error) => {
    if (!stopping.signal.aborted) console.error(`rcpt: ${error.message}`);
    return end(1);
  });
}
