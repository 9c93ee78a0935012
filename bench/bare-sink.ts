import { createServer, type Socket } from "node:net";
import type { SinkAccount, SinkDelays, Sinks } from "./sink-account.ts";

interface BareSink {
  readonly port: number;
  readonly account: SinkAccount;
  close(): Promise<void>;
}

/** What a connection is told. */
interface Answers {
  /** @param recipients how many of the commands were about one */
  give(text: string, recipients: number): void;
  forget(): void;
}

const EHLO_REPLY = "250-sink.test\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n";
const ACCEPTED = "250 2.1.5 Ok\r\n";
const UNKNOWN = "550 5.1.1 User unknown\r\n";
const OK = "250 2.0.0 Ok\r\n";
const BYE = "221 2.0.0 Bye\r\n";
const GREETING = "220 sink.test ESMTP\r\n";

const LF = 0x0a;
/** First letters of commands, lower case; MAIL and RSET are answered alike. */
const [SMALL_C, SMALL_E, SMALL_Q, SMALL_R, SMALL_U] = [0x63, 0x65, 0x71, 0x72, 0x75];

/** `RCPT TO:<`: where the local part begins. */
const LOCAL_AT = 9;
/** What a command is, its beginning tells: no more is kept of one that does not end. */
const LINE_MAX = 4_096;
const PORT_ATTEMPTS = 10;

function exists(chunk: Buffer, from: number, behind: number): boolean {
  if (from >= behind) return false;
  return chunk[from] === SMALL_U || chunk.subarray(from, behind).includes("@any");
}

/** The answer to the command from `start` up to its LF. */
function answerTo(chunk: Buffer, start: number, behind: number): string {
  const first = (chunk[start] ?? 0) | 0x20;
  if (first === SMALL_R && ((chunk[start + 1] ?? 0) | 0x20) === SMALL_C)
    return exists(chunk, start + LOCAL_AT, behind) ? ACCEPTED : UNKNOWN;
  if (first === SMALL_E) return EHLO_REPLY;
  return first === SMALL_Q ? BYE : OK;
}

/** In order: when a timer ends, the oldest answer goes out, whichever it was set for. */
function createAnswers(socket: Socket, delays: SinkDelays): Answers {
  const waiting: string[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let freeAtMs = 0;

  /** From now. The server is at one recipient of a connection after the other. */
  function delayMs(recipients: number): number {
    const { latencyMs, recipientMs } = delays;
    if (recipientMs === 0) return latencyMs;
    const nowMs = performance.now();
    freeAtMs = Math.max(freeAtMs, nowMs) + recipients * recipientMs;
    return freeAtMs - nowMs + latencyMs;
  }

  function write(text: string): void {
    if (text.endsWith(BYE)) socket.end(text, "latin1");
    else if (socket.writable) socket.write(text, "latin1");
  }

  return {
    give(text, recipients) {
      const waitMs = delayMs(recipients);
      if (waitMs === 0 && waiting.length === 0) return write(text);
      waiting.push(text);
      const timer = setTimeout(() => {
        timers.delete(timer);
        write(waiting.shift() ?? "");
      }, waitMs);
      timers.add(timer);
    },
    forget() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** What answers the commands of a connection, a read at a time. @param asked is told of recipients */
function createReader(answers: Answers, asked: (recipients: number) => void): (read: Buffer) => void {
  let rest: Buffer | null = null;
  let isLast = false;
  return (read) => {
    // Nothing is said behind goodbye.
    if (isLast) return;
    const chunk: Buffer = rest === null ? read : Buffer.concat([rest, read]);
    let text = "";
    let start = 0;
    let recipients = 0;
    for (let end = chunk.indexOf(LF); end >= 0 && !isLast; end = chunk.indexOf(LF, start)) {
      const answer = answerTo(chunk, start, end);
      if (answer === ACCEPTED || answer === UNKNOWN) recipients++;
      isLast = answer === BYE;
      text += answer;
      start = end + 1;
    }
    rest = start < chunk.length ? chunk.subarray(start, start + LINE_MAX) : null;
    asked(recipients);
    if (text !== "") answers.give(text, recipients);
  };
}

/** @param port 0: a free one */
async function createBareSink(address: string, port: number, delays: SinkDelays): Promise<BareSink> {
  const account: SinkAccount = { connections: 0, open: 0, maxOpen: 0, recipients: 0 };
  const sockets = new Set<Socket>();

  function serve(socket: Socket): void {
    account.connections++;
    account.maxOpen = Math.max(account.maxOpen, ++account.open);
    sockets.add(socket);
    const answers = createAnswers(socket, delays);
    const reader = createReader(answers, (recipients) => {
      account.recipients += recipients;
    });
    socket.on("data", reader);
    socket.on("error", () => socket.destroy());
    let isOpen = true;
    const countOut = () => {
      if (isOpen) account.open--;
      isOpen = false;
    };
    // Our FIN is gone: on its receipt the client may dial anew, before "close" is emitted here.
    socket.once("finish", countOut);
    socket.once("close", () => {
      sockets.delete(socket);
      answers.forget();
      countOut();
    });
    answers.give(GREETING, 0);
  }

  const server = createServer({ noDelay: true }, serve);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: address, exclusive: true, backlog: 1_024 }, resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === "object" && bound !== null ? bound.port : port,
    account,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** All on one port: the setting SMTP_PORT is one. */
async function listenOnOnePort(addresses: readonly string[], delays: SinkDelays): Promise<BareSink[]> {
  for (let attempt = 1; ; attempt++) {
    const open: BareSink[] = [];
    try {
      for (const address of addresses) open.push(await createBareSink(address, open[0]?.port ?? 0, delays));
      return open;
    } catch (error) {
      for (const sink of open) await sink.close();
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** The mail servers of sink.lua, for a machine that has no wrk to run it: the same dialogues at 1.4 to 2 times the price. */
export async function openBareSinks(addresses: readonly string[], initial: SinkDelays): Promise<Sinks> {
  const delays = { ...initial };
  const sinks = await listenOnOnePort(addresses, delays);
  return {
    port: sinks[0]?.port ?? 0,
    runtime: "Node.js",
    delay: async (changed) => void Object.assign(delays, changed),
    accounts: async () => sinks.map(({ account }) => ({ ...account })),
    async reset(from = 0, count = addresses.length) {
      for (const { account } of sinks.slice(from, from + count))
        Object.assign(account, { connections: 0, maxOpen: account.open, recipients: 0 });
    },
    async close() {
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
}
