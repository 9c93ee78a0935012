// Loaded into every command that `run.mjs` starts: when `run.mjs` is gone, the command is told to stop, and made to.
const STOP_WITHIN_MS = 60_000;

if (process.channel) {
  process.once("disconnect", () => {
    setTimeout(() => process.kill(process.pid, "SIGKILL"), STOP_WITHIN_MS).unref();
    process.kill(process.pid, "SIGTERM");
  });
  // The channel must not keep a command alive that has nothing left to do.
  process.channel.unref();
}
