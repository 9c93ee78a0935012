import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** The server's answer to a line: bytes as they are, no answer, or the end of the connection. */
export type Answer = string | null | { close: string };

export interface Dialogue {
  /** Number of the connection, from 1. */
  connection: number;
  /** Lines read on this connection before the present one. */
  lines: string[];
  /** Remote address. */
  from: string;
  /** Lines that came in the present read. */
  burst: number;
}

export interface ScriptedServer {
  readonly port: number;
  /** Lines of each connection, in order of arrival. */
  readonly connections: string[][];
  readonly open: number;
  /** Most lines that came in one read. */
  readonly maxBurst: number;
  /** Reads that brought transactions. */
  readonly writes: number;
  /** Resolves once `condition` holds; looked at after every line and every change of a connection. */
  until(condition: () => boolean): Promise<void>;
  /** Sends `text` on every open connection. */
  say(text: string): void;
  /** Closes every open connection. */
  hangUp(): void;
  close(): Promise<void>;
}

export const EHLO_PIPELINING = "250-mx.test\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n";

/** A well-behaved server: users that begin with `missing` are refused, all others accepted. */
export function wellBehaved(line: string): Answer {
  if (line.startsWith("EHLO")) return EHLO_PIPELINING;
  if (line.startsWith("RCPT TO:<missing")) return "550 5.1.1 User unknown\r\n";
  if (line === "QUIT") return { close: "221 Bye\r\n" };
  return "250 2.0.0 Ok\r\n";
}

/**
 * A server, by default on a free port of 127.0.0.1, that answers each line by `script`; undefined: the reply of a
 * well-behaved server. The line "" asks for the greeting.
 */
export async function createScriptedServer(
  script: (line: string, dialogue: Dialogue) => Answer | undefined = () => undefined,
  { host = "127.0.0.1", port = 0 }: { host?: string; port?: number } = {},
): Promise<ScriptedServer> {
  const connections: string[][] = [];
  const sockets = new Set<Socket>();
  const waiters = new Set<() => void>();
  let maxBurst = 0;
  let writes = 0;
  const changed = () => {
    for (const check of [...waiters]) check();
  };

  const server = createServer({ noDelay: true }, (socket) => {
    const lines: string[] = [];
    const dialogue: Dialogue = {
      connection: connections.push(lines),
      lines,
      from: socket.remoteAddress ?? "",
      burst: 0,
    };
    let rest = "";
    const answerAll = (read: readonly string[]) => {
      let text = "";
      for (const line of read) {
        const own = script(line, dialogue);
        const answer = own === undefined ? (line === "" ? "220 mx.test ESMTP\r\n" : wellBehaved(line)) : own;
        if (line !== "") lines.push(line);
        if (answer !== null && typeof answer === "object") {
          socket.end(text + answer.close, "latin1");
          return;
        }
        text += answer ?? "";
      }
      if (text !== "" && socket.writable) socket.write(text, "latin1");
    };
    sockets.add(socket);
    socket.setEncoding("latin1");
    answerAll([""]);
    socket.on("data", (chunk: string) => {
      const complete = (rest + chunk).split("\r\n");
      rest = complete.pop() ?? "";
      maxBurst = Math.max(maxBurst, complete.length);
      if (complete.some((line) => line.startsWith("MAIL"))) writes++;
      dialogue.burst = complete.length;
      if (!socket.writableEnded) answerAll(complete);
      changed();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      changed();
    });
    changed();
  });
  server.listen(port, host);
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    connections,
    get open() {
      return sockets.size;
    },
    get maxBurst() {
      return maxBurst;
    },
    get writes() {
      return writes;
    },
    until(condition) {
      return new Promise((resolve) => {
        const check = () => {
          if (!condition()) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      });
    },
    say(text) {
      for (const socket of sockets) socket.write(text, "latin1");
    },
    hangUp() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
