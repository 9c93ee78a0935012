import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * A proxy before PostgreSQL that counts round trips and transactions from the server's messages: exactly and at once,
 * unlike its statistics.
 */
export interface PostgresCounter {
  /** The given URL, through the counter. */
  url: string;
  /** Number of ReadyForQuery messages: statements outside of transactions, `begin`, each statement inside, `commit`. */
  readonly roundTrips: number;
  /** Round trips that left no transaction open. */
  readonly transactions: number;
  close(): Promise<void>;
}

const READY = 0x5a;
const IDLE = 0x49;
const HEADER_BYTES = 5;

/** Parses the messages of a backend: a letter, a length that includes itself, a body (PostgreSQL, 55.7). */
function createWalker(onReady: (isIdle: boolean) => void): (bytes: Buffer) => void {
  let pending = Buffer.alloc(0);
  let skip = 0;
  return (bytes) => {
    const all = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    let at = Math.min(skip, all.length);
    skip -= at;
    while (skip === 0 && at + HEADER_BYTES < all.length) {
      const length = all.readUInt32BE(at + 1) + 1;
      if (all[at] === READY) onReady(all[at + HEADER_BYTES] === IDLE);
      const end = Math.min(all.length, at + length);
      skip = at + length - end;
      at = end;
    }
    pending = Buffer.from(all.subarray(at));
  };
}

/** @param databaseUrl URL of the database, without TLS */
export async function createPostgresCounter(databaseUrl: string): Promise<PostgresCounter> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let roundTrips = 0;
  let transactions = 0;
  const server = createServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname);
    const walk = createWalker((isIdle) => {
      roundTrips += 1;
      if (isIdle) transactions += 1;
    });
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
    upstream.on("data", walk);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get roundTrips() {
      return roundTrips;
    },
    get transactions() {
      return transactions;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
