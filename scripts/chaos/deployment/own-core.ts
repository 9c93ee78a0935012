import { type Cores, pin } from "../../../bench/setup/pin.ts";
import type { Guard } from "../../embedded/guard.ts";
import { markedWith } from "../../processes.mjs";

/** Gives a process a core of its own: all else that runs here takes the other. */
export async function giveCore(pid: number, { server, load }: Cores, guard: Guard): Promise<void> {
  const others = markedWith(`RCPT_RUN=${guard.env.RCPT_RUN}`).filter((other) => other !== pid);
  await Promise.all([
    pin(pid, server),
    pin(process.pid, load),
    // Connections of Postgres come and go.
    ...others.map((other) => pin(other, load).catch(() => undefined)),
  ]);
}
