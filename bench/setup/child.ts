import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename, join } from "node:path";
import type { Guard } from "../../scripts/embedded/guard.ts";

/** Operation of a child process, called by name: at most one input, plain data both ways. */
type Verb = (...input: never[]) => unknown;

/** A process of its own, so that its CPU time is its own, and its core is not the client's. */
export interface Child<Verbs extends Record<keyof Verbs, Verb>> {
  /** @throws Error with the child's own words when the verb failed, or when the child is gone. */
  call<Name extends keyof Verbs & string>(
    verb: Name,
    ...input: Parameters<Verbs[Name]>
  ): Promise<Awaited<ReturnType<Verbs[Name]>>>;
  /** Lets it close what it has open; resolves when it is gone, after END_WITHIN_MS by force. */
  end(): Promise<void>;
}

interface Answer {
  id: number;
  output?: unknown;
  error?: string;
}

interface Pending {
  resolve(output: never): void;
  reject(error: Error): void;
}

const END_WITHIN_MS = 10_000;
const READY = -1;

/** Parts of the run that every child process is started with. */
export interface ChildHost {
  guard: Guard;
  /** Folder of the compiled project. */
  compiledDir: string;
  /** Folder for a CPU profile of each child; null: none is taken. */
  profileDir: string | null;
}

/** Start options of a child process. */
export interface Beginning {
  /** The core that it and its threads are pinned to from the start; null: not pinned. */
  core: number | null;
  /** Flags of Node.js. */
  flags: readonly string[];
}

/**
 * Starts `bench/processes/NAME.ts`, compiled. What it logs on standard output is thrown away: in production that would be
 * someone else's work.
 */
export async function startChild<Verbs extends Record<keyof Verbs, Verb>>(
  name: string,
  { guard, compiledDir, profileDir }: ChildHost,
  { core, flags }: Beginning = { core: null, flags: [] },
): Promise<Child<Verbs>> {
  const file = join(compiledDir, "bench/processes", `${name}.js`);
  const profile = profileDir === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${join(profileDir, name)}`];
  const pinned = core === null ? [] : ["taskset", "-c", String(core)];
  const [command = "", ...rest] = [...pinned, process.execPath, ...flags, ...profile, file];
  const child = spawn(command, rest, {
    env: { PATH: process.env.PATH, ...guard.env },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
  });
  if (child.pid !== undefined) guard.hold(child.pid, "SIGTERM", END_WITHIN_MS);
  const pending = new Map<number, Pending>();
  let nextId = 0;

  function failAll(why: string): void {
    for (const { reject } of pending.values()) reject(new Error(`${basename(file)} ${why}`));
    pending.clear();
  }

  const gone = once(child, "exit").then(() => failAll("ended"));
  child.on("message", ({ id, output, error }: Answer) => {
    const waiting = pending.get(id);
    pending.delete(id);
    if (error === undefined) waiting?.resolve(output as never);
    else waiting?.reject(new Error(`${basename(file)}: ${error}`));
  });
  await new Promise<void>((resolve, reject) => pending.set(READY, { resolve, reject }));

  return {
    call(verb, ...input) {
      const id = nextId++;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        child.send({ id, verb, input }, (error) => {
          if (error) failAll("cannot be reached");
        });
      });
    },
    async end() {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
      await gone;
      clearTimeout(force);
    },
  };
}

/** The child's side: answers calls by `verbs`; once the parent is gone, `close` and exit. */
export function answerParent(verbs: Record<string, Verb>, close: () => Promise<void>): void {
  const send = (answer: Answer) => process.send?.(answer);
  process.on("message", async ({ id, verb, input }: { id: number; verb: string; input: never[] }) => {
    try {
      send({ id, output: await verbs[verb]?.(...input) });
    } catch (error) {
      send({ id, error: error instanceof Error ? error.message : String(error) });
    }
  });
  process.once("disconnect", () => void close().finally(() => process.exit(0)));
  send({ id: READY });
}
