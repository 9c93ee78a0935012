import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { MailWorld } from "../../support/mail-world/world.ts";

/** A client that knows only where an SMTP reply ends, so that it shows exactly the bytes that were sent. */
export interface RawClient {
  /** The next reply, its lines joined by "\n"; "closed" or "reset" when the server went. */
  reply(): Promise<string>;
  /** Sends the lines in one write and reads one reply for each. */
  ask(...lines: string[]): Promise<string[]>;
  send(...lines: string[]): void;
  /** Sends the text unchanged, in UTF-8. */
  write(text: string): void;
  /** Number of bytes received since the start. */
  received(): number;
  /** Bytes received and not read as a reply, Latin-1. */
  rest(): string;
  /** Resolves when `condition` holds, looked at whenever bytes come. */
  until(condition: () => boolean): Promise<void>;
  /** TLS from here on, any certificate; rejects when the handshake fails. What is unread in clear is forgotten. */
  secure(): Promise<void>;
  close(): void;
}

export function dial(world: MailWorld, host: string): RawClient {
  return createRawClient(world.smtpPort, world.host(host).address);
}

export function createRawClient(port: number, address: string): RawClient {
  let socket: Socket = connect(port, address);
  let text = "";
  let received = 0;
  let gone: "closed" | "reset" | null = null;
  let wake = () => {};

  function listen(stream: Socket): void {
    stream.on("data", (chunk: Buffer) => {
      received += chunk.length;
      text = (text + chunk.toString("latin1")).slice(-100_000);
      wake();
    });
    stream.on("error", (error: NodeJS.ErrnoException) => {
      gone ??= error.code === "ECONNRESET" ? "reset" : "closed";
    });
    stream.on("close", () => {
      gone ??= "closed";
      wake();
    });
  }
  listen(socket);

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (gone !== null) throw new Error(`the server ${gone} the connection`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  function takeReply(): string | null {
    const match = /^(?:\d{3}-[^\n]*\r\n)*(?!\d{3}-)[^\n]*\r\n/.exec(text);
    if (match === null) return null;
    text = text.slice(match[0].length);
    return match[0].slice(0, -2).replaceAll("\r\n", "\n");
  }

  async function reply(): Promise<string> {
    for (;;) {
      const taken = takeReply();
      if (taken !== null) return taken;
      if (gone !== null) return gone;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  const write = (text: string) => void socket.write(text);
  const send = (...lines: string[]) => write(lines.map((line) => `${line}\r\n`).join(""));
  return {
    reply,
    send,
    write,
    async ask(...lines) {
      send(...lines);
      const replies: string[] = [];
      for (const _ of lines) replies.push(await reply());
      return replies;
    },
    received: () => received,
    rest: () => text,
    until,
    async secure() {
      text = "";
      socket.removeAllListeners("data");
      socket.removeAllListeners("close");
      const secure = connectTls({ socket, rejectUnauthorized: false });
      await new Promise<void>((resolve, reject) => {
        secure.once("secureConnect", resolve);
        secure.once("error", reject);
        secure.once("close", () => reject(new Error("closed during the handshake")));
      });
      socket = secure;
      listen(secure);
    },
    close: () => void socket.destroy(),
  };
}
