import { createServer, type Socket } from "node:net";
import { createDnsServer, type DnsServer } from "./mail-world/dns-server.ts";
import { closeServer, listenOn } from "./mail-world/host.ts";
import type { Zone } from "./mail-world/zone.ts";

/** Connections and commands that all servers of a small internet have seen. */
export interface MailCounts {
  connections: number;
  /** Command lines by verb, upper case. */
  commands: Record<string, number>;
  /** Reads that contained a whole command: the round trips of a client that waits for a reply to each of its writes. */
  turns: number;
}

export interface CountingMail {
  dnsServer: string;
  dns: DnsServer;
  smtpPort: number;
  /** Counts since the last call. */
  take(): MailCounts;
  close(): Promise<void>;
}

const PORT_ATTEMPTS = 20;
const VERBS = 16;

/** Local parts that begin with `exists` exist; all others are unknown users. */
function replyTo(line: string, isPipelining: boolean): string {
  const verb = line.slice(0, 4).toUpperCase();
  if (verb === "EHLO") return isPipelining ? "250-c.test\r\n250 PIPELINING\r\n" : "250 c.test\r\n";
  if (verb === "RCPT") return /<exists/i.test(line) ? "250 2.1.5 Ok\r\n" : "550 5.1.1 User unknown\r\n";
  return verb === "QUIT" ? "221 2.0.0 Bye\r\n" : "250 2.0.0 Ok\r\n";
}

/**
 * Domains `d0.count.test` and on. Each has an exchanger with a registrable name of its own, hence a site of its own,
 * and a mail server that answers at once and counts.
 * @param options.net third octet of the servers' addresses: worlds that run at the same time need different ones
 */
export async function createCountingMail(options: {
  domains: number;
  net: number;
  pipelining: boolean;
}): Promise<CountingMail> {
  const sockets = new Set<Socket>();
  const none = (): MailCounts => ({ connections: 0, commands: {}, turns: 0 });
  let counts = none();

  function serve(socket: Socket): void {
    counts.connections += 1;
    sockets.add(socket);
    let pending = "";
    socket.setEncoding("latin1");
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (text: string) => {
      const lines = (pending + text).split("\r\n");
      pending = lines.pop() ?? "";
      if (lines.length === 0) return;
      counts.turns += 1;
      for (const line of lines) {
        const verb = line.slice(0, 4).toUpperCase();
        if (verb in counts.commands || Object.keys(counts.commands).length < VERBS)
          counts.commands[verb] = (counts.commands[verb] ?? 0) + 1;
      }
      const replies = lines.map((line) => replyTo(line, options.pipelining)).join("");
      if (/^quit/i.test(lines.at(-1) ?? "")) socket.end(replies);
      else socket.write(replies);
    });
    socket.write("220 c.test ESMTP\r\n");
  }

  const address = (i: number) => `127.0.${options.net}.${i + 1}`;
  async function listen() {
    for (let attempt = 1; ; attempt++) {
      const servers = Array.from({ length: options.domains }, () => createServer({ noDelay: true }, serve));
      try {
        let port = 0;
        for (const [i, server] of servers.entries()) port = await listenOn(server, port, address(i));
        return { servers, port };
      } catch (error) {
        await Promise.all(servers.map(closeServer));
        if (attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  const { servers, port } = await listen();
  const zone: Zone = new Map();
  for (let i = 0; i < options.domains; i++) {
    zone.set(`d${i}.count.test`, { mx: [[10, `mx.site${i}.test`]] });
    zone.set(`mx.site${i}.test`, { a: [address(i)] });
  }
  const dns = await createDnsServer(zone);
  return {
    dnsServer: dns.address,
    dns,
    smtpPort: port,
    take() {
      const taken = counts;
      counts = none();
      return taken;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([...servers.map(closeServer), dns.close()]);
    },
  };
}
