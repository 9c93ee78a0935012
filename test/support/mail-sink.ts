import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A mail as received. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** Header fields of the message by lower-case name, unfolded, in the order of arrival. */
  headers: Map<string, string>;
  /** The text, decoded. */
  text: string;
}

/** A submission server that accepts and stores every mail. */
export interface MailSink {
  /** Value for SMTP_OUT_URL. */
  url: string;
  /** In order of arrival. */
  mails: ReceivedMail[];
  to(address: string): ReceivedMail[];
  /** Number of connections so far. */
  connections(): number;
  close(): Promise<void>;
}

/** Replies to a command line instead of the sink; null: the usual reply; "": no reply. */
export type SinkReply = (line: string) => string | null;

function decodeQuotedPrintable(text: string): string {
  const joined = text.replace(/=\r\n/g, "");
  const bytes = joined.replace(/=([0-9A-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

function parse(from: string, to: string[], data: string): ReceivedMail {
  const end = data.indexOf("\r\n\r\n");
  const head = data.slice(0, end).replace(/\r\n[ \t]+/g, " ");
  const headers = new Map(
    head.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = data.slice(end + 4).replace(/^\.\./gm, ".");
  const encoding = headers.get("content-transfer-encoding");
  const text =
    encoding === "quoted-printable"
      ? decodeQuotedPrintable(body)
      : encoding === "base64"
        ? Buffer.from(body, "base64").toString("utf8")
        : body;
  return { from, to, headers, text: text.replaceAll("\r\n", "\n") };
}

const addressOf = (line: string) => line.slice(line.indexOf("<") + 1, line.indexOf(">"));

export async function createMailSink(reply: SinkReply = () => null): Promise<MailSink> {
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;

  function serve(socket: Socket): void {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let pending = "";
    let from = "";
    let to: string[] = [];
    let inData = false;
    const say = (line: string, usual: string) => {
      const chosen = reply(line) ?? usual;
      if (chosen !== "") socket.write(`${chosen}\r\n`);
      return chosen === usual;
    };

    function command(line: string): void {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === "MAIL") from = addressOf(line);
      if (verb === "DATA") inData = say(line, "354 go on");
      else if (verb === "RCPT") {
        if (say(line, "250 ok")) to.push(addressOf(line));
      } else if (verb === "QUIT") socket.end("221 bye\r\n");
      else say(line, verb === "EHLO" ? "250-sink.test\r\n250-8BITMIME\r\n250 SMTPUTF8" : "250 ok");
    }

    function read(): void {
      for (;;) {
        const end = pending.indexOf(inData ? "\r\n.\r\n" : "\r\n");
        if (end < 0) return;
        const unit = pending.slice(0, end);
        pending = pending.slice(end + (inData ? 5 : 2));
        if (!inData) command(unit);
        else {
          inData = false;
          if (say("<message>", "250 taken")) mails.push(parse(from, to, unit));
          to = [];
        }
      }
    }

    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      pending += text;
      read();
    });
    say("<connect>", "220 sink.test ESMTP");
  }

  const server = createServer(serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    to: (address) => mails.filter((mail) => mail.to.includes(address)),
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
