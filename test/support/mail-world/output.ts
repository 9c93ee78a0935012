import type { Socket } from "node:net";
import type { HostAccount } from "./account.ts";
import type { Action } from "./action.ts";

/** The output of a session: actions in order, withheld on request. */
export interface Output {
  act(action: Action): void;
  /** Withholds this and all later actions until `release`. */
  hold(): void;
  release(): void;
  drip(bytes: number): void;
  stop(): void;
  /** True when nothing more will be sent: the rest of the client's commands is not read. */
  readonly ended: boolean;
}

interface OutputContext {
  account: HostAccount;
  dripIntervalMs: number | null;
  changed(): void;
}

/** Most actions waiting behind a withheld or dripping one; a client that pipelines more is cut off. */
const QUEUE_MAX = 10_000;

export function createOutput(socket: Socket, context: OutputContext): Output {
  const queue: Action[] = [];
  let dripping: Buffer | null = null;
  let timer: NodeJS.Timeout | null = null;
  let held = false;
  let ended = false;

  function say(action: Extract<Action, { kind: "say" }>): void {
    if (action.next === "reset") socket.resetAndDestroy();
    else if (action.next === "close") socket.end(action.bytes);
    else socket.write(action.bytes);
    ended ||= action.next !== "go_on";
  }

  /**
   * Writes only while the client reads, so that nothing but the socket's own buffer fills. Stops when the stream is
   * ended: a write is then refused without being full, and an endless flood would never leave this loop.
   */
  function repeat(chunk: Buffer, bytes: number): void {
    let left = bytes;
    ended = true;
    const pump = () => {
      while (left > 0 && socket.writable) {
        left -= chunk.length;
        if (!socket.write(chunk)) {
          socket.once("drain", pump);
          return;
        }
      }
    };
    pump();
  }

  function startDrip(bytes: Buffer): void {
    dripping = bytes;
    if (context.dripIntervalMs === null) return;
    timer = setInterval(() => drip(1), context.dripIntervalMs);
    timer.unref();
  }

  function drip(bytes: number): void {
    if (dripping === null || socket.destroyed) return;
    socket.write(dripping.subarray(0, bytes));
    dripping = dripping.subarray(bytes);
    if (dripping.length > 0) return;
    dripping = null;
    if (timer !== null) clearInterval(timer);
    flush();
  }

  function perform(action: Action): void {
    if (ended || socket.destroyed) return;
    if (action.kind === "say") say(action);
    else if (action.kind === "silence") ended = true;
    else if (action.kind === "repeat") repeat(action.chunk, action.bytes);
    else startDrip(action.bytes);
  }

  function flush(): void {
    while (!held && dripping === null) {
      const action = queue.shift();
      if (action === undefined) return;
      perform(action);
    }
  }

  function setHeld(value: boolean): void {
    if (held === value) return;
    held = value;
    context.account.held += value ? 1 : -1;
    context.changed();
  }

  function stop(): void {
    ended = true;
    queue.length = 0;
    if (timer !== null) clearInterval(timer);
    setHeld(false);
  }

  socket.once("close", stop);
  return {
    act(action) {
      if (queue.length >= QUEUE_MAX) socket.destroy();
      queue.push(action);
      flush();
    },
    hold: () => setHeld(true),
    release() {
      setHeld(false);
      flush();
    },
    drip,
    stop,
    get ended() {
      return ended;
    },
  };
}
