// Loaded into every command that `run.mjs` starts: when `run.mjs` has ended, the command gets a signal to stop, and is
// killed if it does not.
const STOP_WITHIN_MS = 60_000;

if (process.channel) {
  process.once("disconnect", () => {
    setTimeout(() => process.kill(process.pid, "SIGKILL"), STOP_WITHIN_MS).unref();
    process.kill(process.pid, "SIGTERM");
  });
  // The channel must not keep a finished command alive.
  process.channel.unref();
}
