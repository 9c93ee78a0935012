import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { CLOCK_FILE_READ_S, moveClock } from "../deployment/clock-library.ts";
import { DISK_MB, type Member, StartError } from "../deployment/member.ts";
import type { Kind } from "./faults.ts";
import { type FaultContext, type Injury, openOutage, withMember } from "./injury.ts";
import type { PlannedFault } from "./schedule.ts";
import { mayStartAgain } from "./windows.ts";

type IsAllowed = (member: Member, context: FaultContext) => boolean;
type Injure = (member: Member, fault: PlannedFault, context: FaultContext) => Promise<void>;

const any: IsAllowed = () => true;
const mayEnd: IsAllowed = ({ survives }) => !survives;
const isWorker: IsAllowed = ({ role }) => role === "bulk";

/** An injury to one of the allowed processes. The time of `act` is recorded as an outage. */
function befalls(kind: Kind, may: IsAllowed, act: Injure): Injury {
  return (fault, context) =>
    withMember(
      context,
      fault.pick,
      (member) => may(member, context),
      async (member) => {
        const close = openOutage(context, kind, member.name);
        await act(member, fault, context);
        close();
      },
    );
}

const START_AGAIN_MS = 500;

/**
 * Starts a process as an orchestrator does: again when it gave up waiting for Postgres. It waits for minutes, so that
 * is rare.
 * @throws StartError when it ended while Postgres was up, or for another reason
 */
async function startAgain(member: Member, { outages }: FaultContext): Promise<void> {
  for (;;) {
    const fromMs = performance.now();
    try {
      return await member.start();
    } catch (error) {
      if (!(error instanceof StartError && mayStartAgain(error.how, outages, fromMs))) throw error;
      await wait(START_AGAIN_MS);
    }
  }
}

/** Killed as by the kernel's memory killer; another takes its place after a while, as an orchestrator sees to. */
export const kill = befalls("kill", mayEnd, async (member, { holdMs }, context) => {
  await member.end("SIGKILL");
  await wait(holdMs);
  await startAgain(member, context);
});

/** Stands still as on a machine that is paused, and goes on where it was. */
export const stall = befalls("stall", any, async (member, { holdMs }) => {
  member.signal("SIGSTOP");
  await wait(holdMs);
  member.signal("SIGCONT");
});

/** Stopped by SIGTERM, as in a deploy: it must end by itself, with exit code 0. */
export const roll = befalls("roll", mayEnd, async (member, _, context) => {
  const how = await member.end("SIGTERM");
  if (how !== "exit code 0") member.crashes.push(`${how} when told to go`);
  await startAgain(member, context);
});

const HOUR_S = 3_600;
const HOURS_MAX = 30;

const hasClock: IsAllowed = (_, { deployment }) => deployment.noClock === null;

/** The wall clock jumps by up to 30 hours in either direction, and back. */
export const clock = befalls("clock", hasClock, async (member, { pick, holdMs }) => {
  const hours = 1 + (Math.floor(pick / 8) % HOURS_MAX);
  const sign = Math.floor(pick / 256) % 2 === 0 ? 1 : -1;
  moveClock(member.clockFile, sign * hours * HOUR_S);
  await wait(holdMs);
  moveClock(member.clockFile, 0);
  await wait(CLOCK_FILE_READ_S * 1_000);
});

const BALLAST_BLOCK = Buffer.alloc(65_536);

/** Writes until the disk is full: a small disk of this process alone, so that no other process is affected. */
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

/**
 * A worker's disk is full for a while: its own small tmpfs, or where that is impossible, a limit on the size of its
 * files.
 */
export const disk = befalls("disk", isWorker, async ({ pid, scratchSeen }, { holdMs }, { deployment }) => {
  if (pid === null) return;
  const own = deployment.disks === "own";
  const ballast = join(scratchSeen, "ballast");
  await (own ? fillDisk(ballast) : boundFiles(pid, "4096"));
  await wait(holdMs);
  if (own) rmSync(ballast, { force: true });
  else await boundFiles(pid, "unlimited");
});
