import net from "node:net";

export interface RawReply {
  status: number;
  headers: Record<string, string>;
  body: string;
  json(): Record<string, unknown>;
}

function parseReplies(text: string, headOnly: boolean): { replies: RawReply[]; rest: string } {
  const replies: RawReply[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return { replies, rest };
    const [line = "", ...fields] = rest.slice(0, end).split("\r\n");
    const headers: Record<string, string> = {};
    for (const field of fields) {
      const colon = field.indexOf(":");
      headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
    }
    const length = headOnly ? 0 : Number(headers["content-length"] ?? 0);
    if (rest.length < end + 4 + length) return { replies, rest };
    const body = rest.slice(end + 4, end + 4 + length);
    rest = rest.slice(end + 4 + length);
    const status = Number(line.split(" ")[1]);
    if (status !== 100)
      replies.push({ status, headers, body, json: () => JSON.parse(Buffer.from(body, "latin1").toString()) });
  }
}

/** A connection that sends exact bytes (strings are latin1: one character, one byte) and parses what comes. */
export interface RawClient {
  send(bytes: string | Buffer): void;
  /** The next reply. @throws Error when the connection closes first */
  reply(headOnly?: boolean): Promise<RawReply>;
  /** What has come so far and was not taken. */
  received(): string;
  /** Resolves when the server has closed, with what was received and not taken. */
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
        const parsed = parseReplies(received, headOnly);
        const [first] = parsed.replies;
        if (first) {
          const end = received.indexOf("\r\n\r\n", received.indexOf(`HTTP/1.1 ${first.status}`)) + 4;
          received = received.slice(end + (headOnly ? 0 : first.body.length));
          return first;
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
