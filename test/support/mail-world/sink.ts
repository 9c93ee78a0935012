import { createServer, type Socket } from "node:net";
import { closeServer, listenOn } from "./host.ts";

export interface SinkOptions {
  /** Loopback address and port to listen on; default a free port of 127.0.0.1. */
  address?: string;
  port?: number;
  /** Milliseconds from a read to the answer of all commands in it: the round trip of a distant server. Default 0. */
  latencyMs?: number;
  /**
   * Milliseconds to look up one recipient, in addition. Recipients of a connection are looked up one after the other,
   * and all replies to one read go out together. Default 0.
   */
  recipientMs?: number;
  /** Whether a local part exists at a domain. By default those that begin with `exists` or `user` do, at any domain. */
  accepts?: (local: string, domain: string) => boolean;
}

/** A mail server that uses little CPU: for benchmarks of a client, where the world's hosts would be the bottleneck. */
export interface Sink {
  readonly address: string;
  readonly port: number;
  /** As given; changes apply from the next read on. */
  readonly delays: { latencyMs: number; recipientMs: number };
  readonly account: {
    connections: number;
    open: number;
    maxOpen: number;
    recipients: number;
    maxBurst: number;
  };
  close(): Promise<void>;
}

/** Local parts `exists…` and `user…` exist; the random ones of catch-all probes do not. */
const knowsNamed = (local: string) => local.startsWith("exists") || local.startsWith("user");

const EHLO_REPLY = "250-sink.test\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n";
const ACCEPTED = "250 2.1.5 Ok\r\n";
const UNKNOWN = "550 5.1.1 User unknown\r\n";
const OK = "250 2.0.0 Ok\r\n";
const LINE_MAX = 4_096;

/**
 * Starts a sink: pipelining, one write per read, no check of the order of commands. In a process of its own
 * it leaves the client all of its core.
 */
export async function createSink(options: SinkOptions = {}): Promise<Sink> {
  const { address = "127.0.0.1", accepts = knowsNamed } = options;
  const delays = { latencyMs: options.latencyMs ?? 0, recipientMs: options.recipientMs ?? 0 };
  const account = { connections: 0, open: 0, maxOpen: 0, recipients: 0, maxBurst: 0 };
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();

  function reply(line: string): string {
    const verb = line.charCodeAt(0) | 0x20;
    if (verb === 0x72 && (line.charCodeAt(1) | 0x20) === 0x63) {
      account.recipients++;
      const start = line.indexOf("<") + 1;
      const at = line.lastIndexOf("@");
      return accepts(line.slice(start, at), line.slice(at + 1, line.lastIndexOf(">"))) ? ACCEPTED : UNKNOWN;
    }
    if (verb === 0x65) return EHLO_REPLY;
    return verb === 0x71 ? "221 2.0.0 Bye\r\n" : OK;
  }

  /** Sends a connection's replies in order: when a timer fires, the oldest reply goes out, whichever it was set for. */
  function createAnswers(socket: Socket): (text: string, last: boolean, recipients: number) => void {
    const waiting: { text: string; last: boolean }[] = [];
    let freeAtMs = 0;
    function write(text: string, last: boolean): void {
      if (last) socket.end(text, "latin1");
      else if (socket.writable) socket.write(text, "latin1");
    }
    /** Milliseconds from now: the server looks up one recipient after the other. */
    function delayMs(recipients: number): number {
      const { latencyMs, recipientMs } = delays;
      if (recipientMs === 0) return latencyMs;
      const nowMs = performance.now();
      freeAtMs = Math.max(freeAtMs, nowMs) + recipients * recipientMs;
      return freeAtMs - nowMs + latencyMs;
    }
    return (text, last, recipients) => {
      const waitMs = delayMs(recipients);
      if (waitMs === 0) return write(text, last);
      waiting.push({ text, last });
      const timer = setTimeout(() => {
        timers.delete(timer);
        const oldest = waiting.shift();
        if (oldest !== undefined) write(oldest.text, oldest.last);
      }, waitMs);
      timers.add(timer);
    };
  }

  function serve(socket: Socket): void {
    account.connections++;
    account.maxOpen = Math.max(account.maxOpen, ++account.open);
    sockets.add(socket);
    const answer = createAnswers(socket);
    let pending = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      const lines = (pending + chunk).split("\r\n");
      pending = (lines.pop() ?? "").slice(0, LINE_MAX);
      if (lines.length === 0) return;
      account.maxBurst = Math.max(account.maxBurst, lines.length);
      const { recipients } = account;
      let text = "";
      for (const line of lines) text += reply(line);
      answer(text, /^quit/i.test(lines.at(-1) ?? ""), account.recipients - recipients);
    });
    socket.on("error", () => socket.destroy());
    let isOpen = true;
    const countOut = () => {
      if (isOpen) account.open--;
      isOpen = false;
    };
    // Our FIN is sent. The client may dial anew when it gets it, which may be before "close" is emitted here.
    socket.once("finish", countOut);
    socket.once("close", () => {
      sockets.delete(socket);
      countOut();
    });
    answer("220 sink.test ESMTP\r\n", false, 0);
  }

  const server = createServer({ noDelay: true }, serve);
  const port = await listenOn(server, options.port ?? 0, address);
  return {
    address,
    port,
    delays,
    account,
    async close() {
      const closed = closeServer(server);
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
