import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** How a SOCKS5 server (RFC 1928) treats a client. A number is the reply code instead of a connection. */
export type SocksBehaviour =
  | "serve"
  /** Confirms the connection in one write with the first bytes of the target. */
  | "serve_together"
  | "silent"
  | "silent_login"
  | "silent_connect"
  | "close"
  | "close_connect"
  | "garbage"
  | "odd_address"
  | number;

export interface SocksServer {
  readonly port: number;
  /** Targets requested, in order: `address:port`. */
  readonly asked: string[];
  /** Credentials of the clients: `user:password`. */
  readonly logins: string[];
  /** Number of connections accepted. */
  readonly taken: number;
  behaviour: SocksBehaviour;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
}

export interface SocksOptions {
  behaviour?: SocksBehaviour;
  /** Required of every client; absent: no login. */
  login?: { username: string; password: string };
  /** Source address of connections to targets. */
  localAddress?: string;
}

const GRANTED = Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 25]);

/** The next `count` octets that the client sends. */
type Read = (count: number) => Promise<Buffer>;

function reader(socket: Socket): Read {
  return async (count) => {
    for (;;) {
      const octets = socket.read(count) as Buffer | null;
      if (octets !== null) return octets;
      if (socket.destroyed || socket.readableEnded) throw new Error("the client is gone");
      await Promise.race([once(socket, "readable"), once(socket, "close")]);
    }
  };
}

async function targetOf(read: Read): Promise<{ host: string; port: number }> {
  const type = (await read(4))[3];
  const address = await read(type === 4 ? 16 : 4);
  const hextets = Array.from({ length: 8 }, (_, i) => (type === 4 ? address.readUInt16BE(i * 2) : 0));
  const host = type === 4 ? hextets.map((part) => part.toString(16)).join(":") : address.join(".");
  return { host, port: (await read(2)).readUInt16BE() };
}

/** A SOCKS5 server on a free port of 127.0.0.1 that supports CONNECT to addresses, and can misbehave. */
export async function createSocksServer(options: SocksOptions = {}): Promise<SocksServer> {
  const { login, localAddress } = options;
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  const logins: string[] = [];

  async function letIn(client: Socket, read: Read, behaviour: SocksBehaviour): Promise<boolean> {
    const [, methods = 0] = await read(2);
    const offered = await read(methods);
    const method = login === undefined ? 0 : 2;
    if (!offered.includes(method)) {
      client.end(Buffer.from([5, 0xff]));
      return false;
    }
    client.write(Buffer.from([5, method]));
    if (login === undefined) return true;
    const [, userBytes = 0] = await read(2);
    const username = String(await read(userBytes));
    const password = String(await read((await read(1))[0] ?? 0));
    logins.push(`${username}:${password}`);
    if (behaviour === "silent_login") return false;
    const right = username === login.username && password === login.password;
    client.write(Buffer.from([1, right ? 0 : 1]));
    if (!right) client.end();
    return right;
  }

  async function serve(client: Socket, behaviour: SocksBehaviour): Promise<void> {
    if (behaviour === "silent") return;
    if (behaviour === "close") return void client.end();
    if (behaviour === "garbage") return void client.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    const read = reader(client);
    if (!(await letIn(client, read, behaviour))) return;
    const target = await targetOf(read);
    asked.push(`${target.host}:${target.port}`);
    if (behaviour === "silent_connect") return;
    if (behaviour === "close_connect") return void client.end();
    if (behaviour === "odd_address") return void client.write(Buffer.from([5, 0, 0, 7, 1, 2, 3, 4, 5, 6]));
    if (typeof behaviour === "number")
      return void client.end(Buffer.from([5, behaviour, 0, 1, 0, 0, 0, 0, 0, 0]));
    const far = connect({ ...target, ...(localAddress === undefined ? {} : { localAddress }) });
    keep(far);
    far.on("error", () => client.end(Buffer.from([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])));
    await once(far, "connect");
    const first = behaviour === "serve_together" ? ((await once(far, "data"))[0] as Buffer) : "";
    client.write(Buffer.concat([GRANTED, Buffer.from(first)]));
    client.pipe(far).pipe(client);
  }

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  }

  let taken = 0;
  const server = createServer((client) => {
    taken++;
    keep(client);
    // Some tests are about a client that leaves during the handshake.
    serve(client, made.behaviour).catch(() => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const made: SocksServer = {
    port: (server.address() as AddressInfo).port,
    asked,
    logins,
    get taken() {
      return taken;
    },
    behaviour: options.behaviour ?? "serve",
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      made.cut();
      server.close();
      await once(server, "close");
    },
  };
  return made;
}
