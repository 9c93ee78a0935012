// Ends what a launcher started, whatever happens to the launcher. It runs in a session of its own and reads lines of
// JSON: {"hold": {pid, start, signal, graceMs}} | {"remove": path} | {"mark": "NAME=value"}. The pipe closes when the
// launcher is done or dies. The guard then ends the processes it holds, last first, and all others with the mark,
// removes the paths, and exits. No other code ends services, so that the cleanup after a SIGKILL is the one used every
// day.
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { markedWith, startOf } from "../processes.mjs";

const POLL_MS = 20;
const KILL_WAIT_MS = 5_000;
const SWEEP_GRACE_MS = 3_000;

const held = [];
const paths = [];
let mark = null;

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // Gone in between.
  }
}

async function gone({ pid, start }, withinMs) {
  const deadline = Date.now() + withinMs;
  while (startOf(pid) === start) {
    if (Date.now() > deadline) return false;
    await wait(POLL_MS);
  }
  return true;
}

async function end(item) {
  if (startOf(item.pid) !== item.start) return;
  signal(item.pid, item.signal);
  if (await gone(item, item.graceMs)) return;
  signal(item.pid, "SIGKILL");
  await gone(item, KILL_WAIT_MS);
}

async function sweep() {
  if (mark === null) return;
  const left = markedWith(mark).map((pid) => ({ pid, start: startOf(pid), signal: "SIGTERM" }));
  await Promise.all(left.map((item) => end({ ...item, graceMs: SWEEP_GRACE_MS })));
}

let ending = false;
async function endAll() {
  if (ending) return;
  ending = true;
  for (const item of held.reverse()) await end(item);
  await sweep();
  for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.hold) held.push(message.hold);
  if (message.remove) paths.push(message.remove);
  if (message.mark) mark = message.mark;
});
lines.on("close", endAll);
for (const name of ["SIGINT", "SIGHUP", "SIGTERM"]) process.on(name, endAll);
