import { spawnSync } from "node:child_process";

const STEP_WITHIN_MS = 1_200_000;

/** @throws Error with the end of what the command printed */
export function run(folder: string, program: string, ...args: string[]): string {
  const ended = spawnSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: STEP_WITHIN_MS,
    maxBuffer: 256 << 20,
  });
  if (ended.status === 0) return ended.stdout;
  const printed = (ended.error?.message ?? `${ended.stdout}${ended.stderr}`).trim().slice(-2_000);
  throw new Error(`${[program, ...args].join(" ")}: ${printed}`);
}
