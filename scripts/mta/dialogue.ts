import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { connect } from "node:tls";

const REPLY_WITHIN_MS = 20_000;
const ASCII = /^[\0-\x7f]*$/;

/** A reply as the server sent it, and what it was the answer to: "greeting", "EHLO", "MAIL" or "RCPT". */
export interface RawReply {
  code: number;
  /** Enhanced status code of its last line, null when it has none. */
  enhancedCode: string | null;
  lines: string[];
  to: string;
}

export interface RawQuestion {
  ip: string;
  port: number;
  heloName: string;
  /** "" is the null sender. */
  mailFrom: string;
  recipient: string;
  /** Source address of the connection; absent: any. */
  localAddress?: string;
  /** By STARTTLS; the certificate is not looked at. */
  tls: boolean;
}

/**
 * The last line counts: Postfix's postscreen greets by `220-` and, having found us on a list, goes on with `521 `.
 *
 * @throws Error when `lines` are no SMTP reply (RFC 5321 §4.2).
 */
export function parseReply(lines: string[], to = "RCPT"): RawReply {
  const match = /^([2-5]\d\d)(?:[ -](?:([245]\.\d{1,3}\.\d{1,3})(?= |$))?|$)/.exec(lines.at(-1) ?? "");
  if (!match) throw new Error(`no SMTP reply: ${lines.at(-1) ?? "nothing"}`);
  return { code: Number(match[1]), enhancedCode: match[2] ?? null, lines, to };
}

/** Reads a server's replies, each as a list of lines. `leave` stops reading, so that another reader can use the socket. */
function listenTo(socket: Socket): { next(): Promise<string[]>; leave(): void } {
  let text = "";
  let lines: string[] = [];
  const heard: (string[] | Error)[] = [];
  let wake: (() => void) | null = null;
  const add = (what: string[] | Error) => {
    heard.push(what);
    wake?.();
  };
  const onData = (bytes: Buffer) => {
    text += bytes.toString("utf8");
    const complete = text.split(/\r?\n/);
    text = complete.pop() ?? "";
    for (const line of complete) {
      lines.push(line);
      if (line[3] === "-") continue;
      add(lines);
      lines = [];
    }
  };
  const onError = (error: Error) => add(error);
  const onEnd = () => add(new Error("the server hung up"));
  socket.on("data", onData).on("error", onError).on("end", onEnd);
  return {
    async next() {
      while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const first = heard.shift();
      if (first === undefined || first instanceof Error) throw first;
      return first;
    },
    leave() {
      socket.off("data", onData).off("error", onError).off("end", onEnd);
    },
  };
}

/** Sends each command once the one before it was answered well. Resolves to the last reply. */
async function converse(socket: Socket, commands: readonly string[], greeted: boolean): Promise<RawReply> {
  const server = listenTo(socket);
  const next = async (to: string) => parseReply(await server.next(), to);
  try {
    let reply: RawReply | null = greeted ? null : await next("greeting");
    for (const command of commands) {
      if (reply !== null && reply.code >= 400) break;
      socket.write(`${command}\r\n`);
      reply = await next(command.split(" ", 1)[0] ?? "");
    }
    if (reply === null) throw new Error("nothing was asked");
    return reply;
  } finally {
    server.leave();
  }
}

async function opened({ ip, port, localAddress }: RawQuestion): Promise<Socket> {
  const socket = createConnection({
    host: ip,
    port,
    ...(localAddress === undefined ? {} : { localAddress }),
  });
  socket.setTimeout(REPLY_WITHIN_MS, () => socket.destroy(new Error(`${ip}:${port} was silent`)));
  try {
    await once(socket, "connect");
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.on("error", () => undefined);
  return socket;
}

async function secured(socket: Socket): Promise<Socket> {
  const secure = connect({ socket, rejectUnauthorized: false });
  secure.setTimeout(REPLY_WITHIN_MS, () => secure.destroy(new Error("the server was silent")));
  await once(secure, "secureConnect");
  secure.on("error", () => undefined);
  return secure;
}

/**
 * Sends EHLO, MAIL, RCPT on a connection of its own, in lock step, without any code under test. Resolves to the reply
 * to the last command sent: RCPT, or the first that was refused.
 *
 * @throws Error when the server closes the connection, is silent for 20 s, or sends no SMTP reply.
 */
export async function askServer(question: RawQuestion): Promise<RawReply> {
  const { heloName, mailFrom, recipient, tls } = question;
  const ehlo = `EHLO ${heloName}`;
  const utf8 = ASCII.test(recipient) ? "" : " SMTPUTF8";
  const transaction = [`MAIL FROM:<${mailFrom}>${utf8}`, `RCPT TO:<${recipient}>`];
  let socket = await opened(question);
  try {
    let reply = await converse(socket, tls ? [ehlo, "STARTTLS"] : [ehlo, ...transaction], false);
    if (tls && reply.code < 400) {
      socket = await secured(socket);
      reply = await converse(socket, [ehlo, ...transaction], true);
    }
    socket.end("QUIT\r\n");
    return reply;
  } finally {
    socket.destroy();
  }
}

/** End of a session that kept sending wrong recipients. */
export interface WornOut {
  /** Recipients that were answered. */
  asked: number;
  /** The last reply before the server closed the session; null: the server did not close it. */
  last: RawReply | null;
  ms: number;
}

/**
 * Sends `recipients` in one session and in lock step, to find the server's limit. Like no proper client it ignores limits.
 * With `reset` each recipient has its own transaction, which is reset; otherwise all are in one.
 */
export async function wearOut(
  question: RawQuestion,
  recipients: readonly string[],
  reset: boolean,
): Promise<WornOut> {
  const started = performance.now();
  const socket = await opened(question);
  const server = listenTo(socket);
  let asked = 0;
  let last: RawReply | null = null;
  const say = async (command: string, to: string) => {
    socket.write(`${command}\r\n`);
    last = parseReply(await server.next(), to);
    return last.code === 421;
  };
  const end = () => ({ asked, last, ms: Math.round(performance.now() - started) });
  try {
    parseReply(await server.next(), "greeting");
    if (await say(`EHLO ${question.heloName}`, "EHLO")) return end();
    for (const [index, recipient] of recipients.entries()) {
      if ((reset || index === 0) && (await say(`MAIL FROM:<${question.mailFrom}>`, "MAIL"))) return end();
      if (await say(`RCPT TO:<${recipient}>`, "RCPT")) return end();
      asked++;
      if (reset && (await say("RSET", "RSET"))) return end();
    }
    last = null;
    return end();
  } catch (error) {
    if (last === null) throw error;
    return end();
  } finally {
    server.leave();
    socket.destroy();
  }
}
