const closers: (() => Promise<void>)[] = [];

/** Closes something that files of a process share, after the last of them; what was opened last is closed first. */
export function atEndOfProcess(close: () => Promise<void>): void {
  closers.unshift(close);
}

/** Closes all of it. @throws what a closer throws, after the others */
export async function endProcess(): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.splice(0)) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, "what the test files share was not closed");
}
