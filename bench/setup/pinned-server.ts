import type { Usage } from "../cpu/busy.ts";
import type { Child } from "./child.ts";
import { pin } from "./pin.ts";

/** A server of its own process, on one core. */
export interface Started {
  name: string;
  port: number;
  usage(): Promise<Usage>;
}

/** Ends the child when the section is over. */
export type Keep = <C extends { end(): Promise<void> }>(child: C) => C;

/** Verb that every measured server process has. */
type Measured = { usage(): Usage };

export async function startPinned(
  child: Child<Measured>,
  name: string,
  { port, pid }: { port: number; pid: number },
  core: number,
): Promise<Started> {
  await pin(pid, core);
  return { name, port, usage: () => child.call("usage") };
}
