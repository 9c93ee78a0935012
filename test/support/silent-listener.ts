import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/**
 * A stopped process that listens but accepts nothing, with a full accept queue: its kernel drops further connections.
 */
export class SilentListener {
  readonly #process: ChildProcess;
  readonly #queued: Socket[] = [];

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async open(host: string, port: number): Promise<SilentListener> {
    const script = `require("node:net").createServer().listen({ host: "${host}", port: ${port}, backlog: 1 }, () => console.log("listening"))`;
    const process_ = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const listener = new SilentListener(process_);
    await once(process_.stdout ?? assert.fail("no output"), "data");
    process_.kill("SIGSTOP");
    // One connection more than the backlog.
    for (let i = 0; i < 2; i++) {
      const socket = connect({ host, port });
      listener.#queued.push(socket);
      socket.on("error", () => {});
      await once(socket, "connect");
    }
    return listener;
  }

  async close(): Promise<void> {
    for (const socket of this.#queued) socket.destroy();
    this.#process.kill("SIGKILL");
    await once(this.#process, "close");
  }
}
