import { createServer, type Server, type Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { type HostAccount, newAccount, resetAccount } from "./account.ts";
import type { Greylist, Handler, HostProfile, Moment } from "./profile.ts";
import { type Session, serveSession } from "./session.ts";

/** One MX host: a listening server on an address of its own, with its counters. */
export interface MailHost {
  readonly name: string;
  readonly address: string;
  readonly account: HostAccount;
  /** From now on `handler` answers `moment` first; null removes it. */
  setBehaviour(moment: Moment, handler: Handler | null): void;
  /** Withholds the replies at `moment`, and all later ones of those sessions, until `release`. */
  hold(moment: Moment): void;
  release(): void;
  /** Sends `bytes` more of each dripping reply. */
  drip(bytes: number): void;
  /** Cuts every open connection, as a server that restarts does. */
  cut(): void;
  resetCounters(): void;
  listen(port: number): Promise<number>;
  close(): Promise<void>;
}

export interface HostDependencies {
  greylist: Greylist;
  secureContext: SecureContext;
  dripIntervalMs: number | null;
  /** Called after every change of the counters. */
  changed(): void;
}

/** Listens on `address`; rejects with the listen error, e.g. EADDRINUSE. Resolves to the port. */
export function listenOn(server: Server, port: number, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: address, exclusive: true, backlog: 1_024 }, () => {
      server.removeListener("error", reject);
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (server.listening) server.close(() => resolve());
    else resolve();
  });
}

export function createMailHost(profile: HostProfile, address: string, deps: HostDependencies): MailHost {
  const account = newAccount();
  const sessions = new Set<Session>();
  const overrides = new Map<Moment, Handler>();
  const heldMoments = new Set<Moment>();
  let sessionNumber = 0;
  const server = createServer({ noDelay: true }, accept);

  function accept(socket: Socket): void {
    account.connections++;
    account.open++;
    account.maxOpen = Math.max(account.maxOpen, account.open);
    const session = serveSession(socket, ++sessionNumber, {
      ...deps,
      profile,
      account,
      overrides,
      isHeld: (moment) => heldMoments.has(moment),
    });
    sessions.add(session);
    let isOpen = true;
    function countOut(): void {
      if (isOpen) account.open--;
      isOpen = false;
      deps.changed();
    }
    // Our FIN is sent. The client may dial anew when it gets it, which may be before "close" is emitted here.
    socket.once("finish", countOut);
    socket.once("close", () => {
      sessions.delete(session);
      session.destroy();
      countOut();
    });
    deps.changed();
  }

  function cut(): void {
    for (const session of sessions) session.destroy();
  }

  return {
    name: profile.name,
    address,
    account,
    setBehaviour(moment, handler) {
      if (handler === null) overrides.delete(moment);
      else overrides.set(moment, handler);
    },
    hold: (moment) => void heldMoments.add(moment),
    release() {
      heldMoments.clear();
      for (const session of sessions) session.release();
    },
    drip(bytes) {
      for (const session of sessions) session.drip(bytes);
    },
    cut,
    resetCounters: () => resetAccount(account),
    listen: (port) => listenOn(server, port, address),
    async close() {
      const closed = closeServer(server);
      cut();
      await closed;
    },
  };
}
