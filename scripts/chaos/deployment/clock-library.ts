import { execFile } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { unpackProgram } from "../../embedded/debian-package.ts";
import type { Guard } from "../../embedded/guard.ts";
import { whyNoPackages } from "../../embedded/private-apt.ts";

/** libfaketime, preloaded into a process: it shifts the wall clock by the offset in a file, but not the monotonic clock. */
export interface ClockLibrary {
  /** Environment of a process whose clock `file` moves. */
  env(file: string): Record<string, string>;
  /** Removes the files that the library leaves behind for a killed process. */
  tidy(pid: number): void;
}

const TRIPLES: Partial<Record<NodeJS.Architecture, string>> = {
  x64: "x86_64-linux-gnu",
  arm64: "aarch64-linux-gnu",
};
/** The library reads the file again after so long. */
export const CLOCK_FILE_READ_S = 1;
const TRIAL_TIMEOUT_MS = 20_000;
const TRIAL_SHIFT_S = 7_200;

/** Seconds, ahead if positive. */
export function moveClock(file: string, shiftS: number): void {
  writeFileSync(file, `${shiftS < 0 ? "" : "+"}${shiftS}\n`);
}

/** Script for a trial: moves the clock of its own process. Wall time must follow; timers and the monotonic clock must not. */
const TRIAL = `
const { writeFileSync } = require("node:fs");
const wall = Date.now();
const steady = performance.now();
writeFileSync(process.argv[1], "+${TRIAL_SHIFT_S}\\n");
setTimeout(() => {
  const passed = performance.now() - steady;
  console.log(JSON.stringify({ jumpedMs: Date.now() - wall - passed, passed }));
}, ${(CLOCK_FILE_READ_S + 1) * 1_000});
`;

async function takesEffect(library: ClockLibrary, file: string): Promise<boolean> {
  moveClock(file, 0);
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", TRIAL, file], {
    env: { PATH: process.env.PATH, ...library.env(file) },
    timeout: TRIAL_TIMEOUT_MS,
  });
  const { jumpedMs, passed } = JSON.parse(stdout) as { jumpedMs: number; passed: number };
  return Math.abs(jumpedMs - TRIAL_SHIFT_S * 1_000) < 5_000 && passed < TRIAL_TIMEOUT_MS;
}

/**
 * libfaketime from Debian's packages, after a check that it moves the clock of Node.js.
 * @returns the reason as a string where it is unavailable: clocks are not moved then
 */
export async function findClockLibrary(
  cacheDir: string,
  workDir: string,
  guard: Guard,
  say: (line: string) => void,
): Promise<ClockLibrary | string> {
  const triple = TRIPLES[process.arch];
  const why = whyNoPackages();
  if (process.platform !== "linux" || triple === undefined || why !== null)
    return why ?? "libfaketime is used on Linux only";
  const program = { name: "libfaketime", path: `usr/lib/${triple}/faketime/libfaketimeMT.so.1` };
  try {
    const { binary } = await unpackProgram(program, "libfaketime", { folder: cacheDir, guard, say });
    const library: ClockLibrary = {
      env: (file) => ({
        LD_PRELOAD: binary,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_CACHE_DURATION: String(CLOCK_FILE_READ_S),
        // Timers must run as usual; both names, of newer and older versions.
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        DONT_FAKE_MONOTONIC: "1",
        NO_FAKE_STAT: "1",
      }),
      tidy(pid) {
        for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
          if (existsSync(join("/dev/shm", name))) rmSync(join("/dev/shm", name), { force: true });
      },
    };
    const works = await takesEffect(library, join(workDir, "trial-clock"));
    return works ? library : "libfaketime does not move the clock of this Node.js";
  } catch (error) {
    return `libfaketime cannot be had (${(error as Error).message.split("\n")[0]})`;
  }
}
