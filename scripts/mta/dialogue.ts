import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Endpoint } from "./mail-server.ts";

const REPLY_WITHIN_MS = 20_000;

/** A reply as the server sent it. */
export interface RawReply {
  code: number;
  /** Enhanced status code of its first line, null when it has none. */
  enhancedCode: string | null;
  lines: string[];
}

/** @throws Error when `lines` are no SMTP reply (RFC 5321 §4.2). */
export function parseReply(lines: string[]): RawReply {
  const match = /^([2-5]\d\d)(?:[ -](?:([245]\.\d{1,3}\.\d{1,3})(?= |$))?|$)/.exec(lines[0] ?? "");
  if (!match) throw new Error(`no SMTP reply: ${lines[0] ?? "nothing"}`);
  return { code: Number(match[1]), enhancedCode: match[2] ?? null, lines };
}

async function* replies(socket: Socket): AsyncGenerator<RawReply> {
  let lines: string[] = [];
  for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
    lines.push(line);
    if (line[3] === "-") continue;
    yield parseReply(lines);
    lines = [];
  }
}

/**
 * Says EHLO, MAIL, RCPT on a connection of its own, in lock step, knowing nothing of the code under test. Resolves to
 * what was answered to the last command sent: RCPT, or the first that was refused.
 *
 * @throws Error when the server hangs up, is silent for 20 s, or answers with no SMTP reply.
 */
export async function askServer(
  { ip, port }: Endpoint,
  sender: { heloName: string; mailFrom: string },
  recipient: string,
): Promise<RawReply> {
  const socket = createConnection({ host: ip, port, timeout: REPLY_WITHIN_MS });
  socket.once("timeout", () => socket.destroy(new Error(`${ip}:${port} was silent`)));
  try {
    await once(socket, "connect");
    const stream = replies(socket);
    const next = async (): Promise<RawReply> => {
      const { value, done } = await stream.next();
      if (done === true) throw new Error(`${ip}:${port} hung up`);
      return value;
    };
    let reply = await next();
    for (const command of [
      `EHLO ${sender.heloName}`,
      `MAIL FROM:<${sender.mailFrom}>`,
      `RCPT TO:<${recipient}>`,
    ]) {
      if (reply.code >= 400) return reply;
      socket.write(`${command}\r\n`);
      reply = await next();
    }
    socket.end("QUIT\r\n");
    return reply;
  } finally {
    socket.destroy();
  }
}
