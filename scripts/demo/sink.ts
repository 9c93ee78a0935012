import { createServer, type Socket } from "node:net";
import { closeServer, listenOn } from "../../test/support/mail-world/host.ts";

/** A mail server that uses little CPU: the world's hosts would be the bottleneck of a long list. */
export interface Sink {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface SinkOptions {
  /** Loopback address and port to listen on; 0: a free port. */
  address: string;
  port: number;
  /** Whether a local part exists at a domain. */
  accepts: (local: string, domain: string) => boolean;
}

const EHLO_REPLY = "250-sink.test\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n";
const ACCEPTED = "250 2.1.5 Ok\r\n";
const UNKNOWN = "550 5.1.1 User unknown\r\n";
const OK = "250 2.0.0 Ok\r\n";
const LINE_MAX = 4_096;

/** Starts a sink: pipelining, one write per read, no check of the order of commands. */
export async function createSink(options: SinkOptions): Promise<Sink> {
  const { address, accepts } = options;
  const sockets = new Set<Socket>();

  function reply(line: string): string {
    if (/^rcpt/i.test(line)) {
      const [start, at] = [line.indexOf("<") + 1, line.lastIndexOf("@")];
      return accepts(line.slice(start, at), line.slice(at + 1, line.lastIndexOf(">"))) ? ACCEPTED : UNKNOWN;
    }
    if (/^ehlo/i.test(line)) return EHLO_REPLY;
    return /^quit/i.test(line) ? "221 2.0.0 Bye\r\n" : OK;
  }

  function serve(socket: Socket): void {
    sockets.add(socket);
    let pending = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      const lines = (pending + chunk).split("\r\n");
      pending = (lines.pop() ?? "").slice(0, LINE_MAX);
      if (lines.length === 0) return;
      const text = lines.map(reply).join("");
      if (/^quit/i.test(lines.at(-1) ?? "")) socket.end(text, "latin1");
      else socket.write(text, "latin1");
    });
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
    socket.write("220 sink.test ESMTP\r\n");
  }

  const server = createServer({ noDelay: true }, serve);
  const port = await listenOn(server, options.port, address);
  return {
    address,
    port,
    async close() {
      const closed = closeServer(server);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
