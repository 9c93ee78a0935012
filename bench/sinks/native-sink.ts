import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Guard } from "../../scripts/embedded/guard.ts";
import type { Wrk } from "../../scripts/embedded/wrk.ts";
import type { SinkAccount, SinkDelays, Sinks } from "./sink-account.ts";

/** A line of JSON from the sinks: one when they listen, and one in answer to each command. */
interface SinkLine {
  port?: number;
  accounts?: [connections: number, open: number, maxOpen: number, recipients: number][];
  error?: string;
}

/** Finds the project's folder. The compiled module is deeper in it, and has no Lua scripts beside it. */
export function projectRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "bench/sinks/sink.lua")) && folder !== dirname(folder))
    folder = dirname(folder);
  return folder;
}

function sinkScript(addresses: readonly string[], { latencyMs, recipientMs }: SinkDelays): string {
  const scripts = ["sockets.lua", "sink.lua"].map((name) =>
    readFileSync(join(projectRoot(), "bench/sinks", name), "utf8"),
  );
  return [
    `local port, latencyMs, recipientMs = 0, ${latencyMs}, ${recipientMs}`,
    `local addresses = { ${addresses.map((address) => `"${address}"`).join(", ")} }`,
    ...scripts,
  ].join("\n");
}

/**
 * Sends commands to the sinks. `nextLine` waits for their next line; `ask` sends a command and waits for its answer. All
 * waiting promises reject once the process has ended.
 */
function createLine(child: ChildProcess): {
  nextLine(): Promise<SinkLine>;
  ask(line: string): Promise<SinkLine>;
} {
  const waiting: { resolve(parsed: SinkLine): void; reject(error: Error): void }[] = [];
  let ended: Error | null = null;
  function end(why: string): void {
    ended ??= new Error(`the sinks: ${why}`);
    for (const { reject } of waiting.splice(0)) reject(ended);
  }
  child.once("error", ({ message }) => end(`they cannot be started: ${message}`));
  child.once("close", (code, signal) => end(`they ended: ${signal ?? code}`));
  // A write to a process that has ended must not throw.
  child.stdin?.on("error", () => undefined);
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on("line", (line) => {
      // wrk prints its own message when the script failed: that is no answer.
      if (!line.startsWith("{")) return;
      const parsed = JSON.parse(line) as SinkLine;
      if (parsed.error === undefined) waiting.shift()?.resolve(parsed);
      else end(parsed.error);
    });
  const nextLine = () =>
    new Promise<SinkLine>((resolve, reject) => {
      if (ended === null) waiting.push({ resolve, reject });
      else reject(ended);
    });
  return {
    nextLine,
    ask(line) {
      const answer = nextLine();
      child.stdin?.write(`${line}\n`);
      return answer;
    },
  };
}

/**
 * Mail servers that share the cores with what is measured: sink.lua, run by the LuaJIT inside wrk, in a process that ends with
 * this one. The CPU they use is lost to the engine, so they use little of their own: nine tenths of it is spent in the kernel.
 *
 * @throws Error when they cannot listen there
 */
export async function openNativeSinks(
  { command, env }: Wrk,
  addresses: readonly string[],
  { delays, guard }: { delays: SinkDelays; guard: Pick<Guard, "env" | "hold" | "removeAtEnd"> },
): Promise<Sinks> {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-sink-"));
  guard.removeAtEnd(folder);
  try {
    const file = join(folder, "sink.lua");
    writeFileSync(file, sinkScript(addresses, delays));
    // wrk itself sends nothing (-d1s does not end it): the script loops until its standard input closes.
    const child = spawn(command, ["-t1", "-c1", "-d1s", "-s", file, "http://127.0.0.1:1/"], {
      env: { ...env, ...guard.env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const line = createLine(child);
    const ready = line.nextLine();
    const gone = once(child, "close").catch(() => undefined);
    if (child.pid !== undefined) guard.hold(child.pid, "SIGKILL", 0);
    const { port = 0 } = await ready;
    return {
      port,
      runtime: "LuaJIT",
      async delay({ latencyMs, recipientMs }, from = 0, count = addresses.length) {
        await line.ask(`delay ${from} ${count} ${latencyMs} ${recipientMs}`);
      },
      async accounts() {
        const { accounts = [] } = await line.ask("accounts");
        return accounts.map(
          ([connections, open, maxOpen, recipients]): SinkAccount => ({
            connections,
            open,
            maxOpen,
            recipients,
          }),
        );
      },
      async reset(from = 0, count = addresses.length) {
        await line.ask(`reset ${from} ${count}`);
      },
      async close() {
        // It has nothing to bring to an end.
        child.kill("SIGKILL");
        await gone;
      },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
