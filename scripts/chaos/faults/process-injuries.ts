import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { CLOCK_FILE_READ_S, moveClock } from "../deployment/clock-library.ts";
import { DISK_MB, type Member } from "../deployment/member.ts";
import { type Injury, openOutage, withMember } from "./injury.ts";

const mayEnd = ({ survives }: Member) => !survives;
const isWorker = ({ role }: Member) => role === "bulk";

/** Killed as by the kernel's memory killer; another takes its place after a while, as an orchestrator sees to. */
export const kill: Injury = (fault, theatre) =>
  withMember(theatre, fault.pick, mayEnd, async (member) => {
    const close = openOutage(theatre, "kill", member.name);
    await member.end("SIGKILL");
    await wait(fault.holdMs);
    await member.start();
    close();
  });

/** Stands still as on a machine that is paused, and goes on where it was. */
export const stall: Injury = (fault, theatre) =>
  withMember(
    theatre,
    fault.pick,
    () => true,
    async (member) => {
      const close = openOutage(theatre, "stall", member.name);
      member.signal("SIGSTOP");
      await wait(fault.holdMs);
      member.signal("SIGCONT");
      close();
    },
  );

/** Told to go, as in a deploy: it must end by itself, with exit code 0. */
export const roll: Injury = (fault, theatre) =>
  withMember(theatre, fault.pick, mayEnd, async (member) => {
    const close = openOutage(theatre, "roll", member.name);
    const how = await member.end("SIGTERM");
    if (how !== "exit code 0") member.crashes.push(`${how} when told to go`);
    await member.start();
    close();
  });

const HOUR_S = 3_600;
const HOURS_MAX = 30;

/** The wall clock jumps by up to 30 hours either way, and back. */
export const clock: Injury = (fault, theatre) =>
  withMember(
    theatre,
    fault.pick,
    () => theatre.deployment.noClock === null,
    async (member) => {
      const hours = 1 + (Math.floor(fault.pick / 8) % HOURS_MAX);
      const sign = Math.floor(fault.pick / 256) % 2 === 0 ? 1 : -1;
      const close = openOutage(theatre, "clock", member.name);
      moveClock(member.clockFile, sign * hours * HOUR_S);
      await wait(fault.holdMs);
      moveClock(member.clockFile, 0);
      await wait(CLOCK_FILE_READ_S * 1_000);
      close();
    },
  );

const BALLAST_BLOCK = Buffer.alloc(65_536);

/** Writes until the disk is full: a small one of the process's own, so that nobody else's is. */
async function fillDisk(file: string): Promise<void> {
  const ballast = await open(file, "w");
  try {
    for (let bytes = 0; bytes <= DISK_MB * 1_048_576; bytes += BALLAST_BLOCK.length)
      await ballast.write(BALLAST_BLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await ballast.close();
  }
}

async function boundFiles(pid: number, bytes: string): Promise<void> {
  await promisify(execFile)("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);
}

/** A worker's disk is full for a while: a small tmpfs of its own, or where there can be none, a bound on its files. */
export const disk: Injury = (fault, theatre) =>
  withMember(theatre, fault.pick, isWorker, async (member) => {
    const { pid } = member;
    if (pid === null) return;
    const close = openOutage(theatre, "disk", member.name);
    const own = theatre.deployment.disks === "own";
    const ballast = join(member.scratchSeen, "ballast");
    await (own ? fillDisk(ballast) : boundFiles(pid, "4096"));
    await wait(fault.holdMs);
    if (own) rmSync(ballast, { force: true });
    else await boundFiles(pid, "unlimited");
    close();
  });
