import net from "node:net";

export interface RawReply {
  status: number;
  headers: Record<string, string>;
  body: string;
  json(): Record<string, unknown>;
}

/** A complete chunked body and its end offset; null: it is incomplete. */
function chunkedBody(text: string): { body: string; end: number } | null {
  let body = "";
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const bytes = Number.parseInt(text.slice(at, lineEnd), 16);
    const next = lineEnd + 2 + bytes + 2;
    if (text.length < next) return null;
    if (bytes === 0) return { body, end: next };
    body += text.slice(lineEnd + 2, lineEnd + 2 + bytes);
    at = next;
  }
}

function bodyOf(headers: Record<string, string>, rest: string): { body: string; end: number } | null {
  if (headers["transfer-encoding"] === "chunked") return chunkedBody(rest);
  const end = Number(headers["content-length"] ?? 0);
  return rest.length < end ? null : { body: rest.slice(0, end), end };
}

/** The first reply other than `100 Continue`, and the text behind it; null: it is incomplete. */
function parseReply(text: string, headOnly: boolean): { reply: RawReply; rest: string } | null {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const [line = "", ...fields] = text.slice(0, headEnd).split("\r\n");
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(":");
    headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
  }
  const status = Number(line.split(" ")[1]);
  const behind = text.slice(headEnd + 4);
  if (status === 100) return parseReply(behind, headOnly);
  const found = headOnly ? { body: "", end: 0 } : bodyOf(headers, behind);
  if (found === null) return null;
  const { body, end } = found;
  const json = () => JSON.parse(Buffer.from(body, "latin1").toString());
  return { reply: { status, headers, body, json }, rest: behind.slice(end) };
}

/** A connection that sends exact bytes (strings are latin1: one character, one byte) and parses replies. */
export interface RawClient {
  send(bytes: string | Buffer): void;
  /** The next reply. @throws Error when the connection closes first */
  reply(headOnly?: boolean): Promise<RawReply>;
  /** Text received so far and not yet taken. */
  received(): string;
  /** Resolves when the server has closed, with the text received and not yet taken. */
  closed(): Promise<string>;
  destroy(): void;
}

export function connect(port: number): RawClient {
  const socket = net.connect(port, "127.0.0.1");
  let received = "";
  let isClosed = false;
  let wake: (() => void)[] = [];
  const notify = () => {
    for (const resolve of wake.splice(0)) resolve();
  };
  socket.setNoDelay(true);
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    notify();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
    notify();
  });
  const changed = () => new Promise<void>((resolve) => wake.push(resolve));
  return {
    send: (bytes) => void socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes),
    async reply(headOnly = false) {
      for (;;) {
        const parsed = parseReply(received, headOnly);
        if (parsed !== null) {
          received = parsed.rest;
          return parsed.reply;
        }
        if (isClosed) throw new Error(`closed before a reply: ${JSON.stringify(received.slice(0, 200))}`);
        await changed();
      }
    },
    received: () => received,
    async closed() {
      while (!isClosed) await changed();
      return received;
    },
    destroy() {
      wake = [];
      socket.destroy();
    },
  };
}

/** One request on a connection of its own. `head` is everything before the empty line. */
export async function exchange(port: number, head: string[], body: string | Buffer = ""): Promise<RawReply> {
  const client = connect(port);
  try {
    client.send(`${head.join("\r\n")}\r\nHost: test\r\n\r\n`);
    if (body.length > 0) client.send(body);
    return await client.reply(head[0]?.startsWith("HEAD") ?? false);
  } finally {
    client.destroy();
  }
}
