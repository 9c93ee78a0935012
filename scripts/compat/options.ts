import { parseArgs } from "node:util";
import { SERVERS, type Server } from "./servers.ts";

export interface CompatOptions {
  servers: readonly Server[];
  /** Whether the lines of figures go into docs/compatibility.md. */
  write: boolean;
}

/** `[--only NAME[,NAME...]] [--write]`. @throws Error one line that says what is wrong */
export function readCompatOptions(args: string[]): CompatOptions {
  const options = { only: { type: "string" }, write: { type: "boolean", default: false } } as const;
  const { only, write } = parseArgs({ args, options }).values;
  const names = SERVERS.map(({ name }) => name);
  const wanted = only?.split(",") ?? names;
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is not one of ${names.join(", ")}`);
  return { servers: SERVERS.filter(({ name }) => wanted.includes(name)), write };
}
