import { createServer, type Socket } from "node:net";

/** What a sink has seen. */
export interface SinkAccount {
  connections: number;
  open: number;
  maxOpen: number;
  recipients: number;
}

export interface BareSink {
  readonly port: number;
  readonly account: SinkAccount;
  close(): Promise<void>;
}

export interface BareSinkOptions {
  address: string;
  /** 0: a free one. */
  port: number;
  /** Milliseconds from a read to the answer of all commands in it: the round trip of a distant server. */
  latencyMs: number;
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

/**
 * A mail server that costs as little as Node.js lets it, since it has to share the machine with what is measured: commands
 * are told apart by their bytes, one write answers a read. Nothing is checked; whose local part begins with `u` exists.
 */
export async function createBareSink({ address, port, latencyMs }: BareSinkOptions): Promise<BareSink> {
  const account: SinkAccount = { connections: 0, open: 0, maxOpen: 0, recipients: 0 };
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();

  /** The answer to the command at `start`. */
  function answerTo(chunk: Buffer, start: number): string {
    const first = (chunk[start] ?? 0) | 0x20;
    if (first === SMALL_R && ((chunk[start + 1] ?? 0) | 0x20) === SMALL_C) {
      account.recipients++;
      return chunk[start + LOCAL_AT] === SMALL_U ? ACCEPTED : UNKNOWN;
    }
    if (first === SMALL_E) return EHLO_REPLY;
    return first === SMALL_Q ? BYE : OK;
  }

  /** Timers of one delay run in the order they were set, so answers keep theirs. */
  function send(socket: Socket, text: string): void {
    if (latencyMs === 0) write(socket, text);
    else {
      const timer = setTimeout(() => {
        timers.delete(timer);
        write(socket, text);
      }, latencyMs);
      timers.add(timer);
    }
  }

  function write(socket: Socket, text: string): void {
    if (text.endsWith(BYE)) socket.end(text, "latin1");
    else if (socket.writable) socket.write(text, "latin1");
  }

  function serve(socket: Socket): void {
    account.connections++;
    account.maxOpen = Math.max(account.maxOpen, ++account.open);
    sockets.add(socket);
    let rest: Buffer | null = null;
    socket.on("data", (read: Buffer) => {
      const chunk: Buffer = rest === null ? read : Buffer.concat([rest, read]);
      let text = "";
      let start = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
        text += answerTo(chunk, start);
        start = end + 1;
      }
      rest = start < chunk.length ? chunk.subarray(start) : null;
      if (text !== "") send(socket, text);
    });
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
      countOut();
    });
    send(socket, GREETING);
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
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
