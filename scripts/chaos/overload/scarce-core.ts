import { spawn } from "node:child_process";

/** Of each period the process runs so long: a quarter of its core, as a quota of a container's CPU gives it, in smaller pieces. */
const RUN_MS = 10;
const REST_MS = 30;
/** Nobody is stopped for longer than this, whatever becomes of who began it. */
const LIVES_MS = 120_000;

/**
 * Stops and continues the process of its first argument by turns, by a clock that is not late for long: what one turn takes too long the
 * next ones lack. Ends when its parent does, and then lets it run.
 */
const METER = `
const pid = Number(process.argv[1]);
const end = performance.now() + ${LIVES_MS};
const leave = () => { try { process.kill(pid, "SIGCONT"); } catch {} process.exit(0); };
process.once("disconnect", leave);
process.once("SIGTERM", leave);
let due = performance.now();
let runs = true;
const turn = () => {
  if (performance.now() > end) return leave();
  runs = !runs;
  try { process.kill(pid, runs ? "SIGCONT" : "SIGSTOP"); } catch { return leave(); }
  due += runs ? ${RUN_MS} : ${REST_MS};
  setTimeout(turn, Math.max(0, due - performance.now()));
};
turn();
`;

/**
 * Leaves a process a quarter of its core: as a small machine would, so that one sender can ask it for ten times what it can do.
 * @throws Error where that cannot be begun
 */
export async function makeScarce(pid: number): Promise<{ end(): Promise<void> }> {
  const meter = spawn(process.execPath, ["-e", METER, String(pid)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = new Promise<void>((resolve) => meter.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    meter.once("spawn", resolve);
    meter.once("error", reject);
  });
  return {
    async end() {
      meter.kill("SIGTERM");
      await ended;
      // Whatever became of the meter; who crashed meanwhile is told of elsewhere.
      try {
        process.kill(pid, "SIGCONT");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    },
  };
}
