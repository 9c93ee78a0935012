import assert from "node:assert/strict";
import { pino } from "pino";
import type { ProxyConfig } from "../../../src/config/config.ts";
import {
  createSmtpPool,
  type Destination,
  type PoolEvent,
  type SilentDialEvent,
  type SmtpPool,
  type SmtpPoolDeps,
} from "../../../src/smtp/pool/pool.ts";
import type { ThreadSlotSource } from "../../../src/smtp/pool/slots.ts";
import { SessionTraffic } from "../../../src/smtp/session/session-traffic.ts";
import { createEgressRoutes } from "../../../src/smtp/wire/egress-routes.ts";
import { parseMailbox } from "../../../src/smtp/wire/mailbox.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import type { SitePolicy } from "../../../src/smtp/wire/policy.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { createLocalSlots, type LocalSlots } from "../../support/local-slots.ts";

export const POLICY: SitePolicy = {
  maxConnections: 1,
  transactionsPerSession: 100,
  rejectionsPerSession: 100,
  tls: "opportunistic",
  pipelineDepthMax: 10,
};

export interface PoolFixture {
  clock: FakeClock;
  slots: LocalSlots;
  pool: SmtpPool;
  events: PoolEvent["kind"][];
  /** Dials without an answer. */
  silences: SilentDialEvent[];
  /** Traffic of all sites. */
  traffic: SessionTraffic;
  /** Asks about `address`, at 127.0.0.1 by default, with a deadline of `deadlineMs` (default an hour). */
  rcpt(address: string, options?: RcptOptions): Promise<RcptOutcome>;
  /** Drains the pool and shows that nothing is left: no session, no slot, no timer. */
  end(): Promise<void>;
}

export interface RcptOptions extends Partial<SitePolicy>, Partial<Omit<Destination, "policy">> {
  deadlineMs?: number;
  cancelled?: () => boolean;
  urgent?: boolean;
  isInteractive?: boolean;
  onTurn?: () => void;
}

export interface PoolOptions {
  sourceAddresses?: string[];
  proxies?: ProxyConfig[];
  probePrivateAddresses?: boolean;
  slots?: LocalSlots;
  /** The slots of one thread of several. Default: `slots`, without another thread. */
  threadSlots?: ThreadSlotSource;
  clock?: FakeClock;
  /** Default: hosts have no other addresses. */
  othersOf?: SmtpPoolDeps["othersOf"];
  /** Called for each connection beyond the cap. */
  onCrowded?: (cap: string) => void;
}

/** A pool whose time stands still until a test moves it, on real sockets. */
export function createPoolFixture(port: number, options: PoolOptions = {}): PoolFixture {
  const clock = options.clock ?? createFakeClock();
  const slots = options.slots ?? createLocalSlots(clock);
  const events: PoolEvent["kind"][] = [];
  const silences: SilentDialEvent[] = [];
  const heloName = "probe.test";
  const traffic = new SessionTraffic();
  const sourceAddresses = (options.sourceAddresses ?? []).map((address) => ({ address, heloName }));
  const proxies = options.proxies ?? [];
  const paths = createEgressRoutes({ sourceAddresses, proxies, heloName });
  const pool = createSmtpPool({
    config: {
      port,
      heloName,
      mailFrom: "",
      sourceAddresses,
      proxies,
      egressId: "test",
      probePrivateAddresses: options.probePrivateAddresses ?? true,
    },
    slots: options.threadSlots ?? {
      acquire: (site, max, waitMs) => slots.acquire(site, max, waitMs),
      release: (site) => slots.release(site),
      onWanted: (listener) => slots.onWanted(listener),
      takeOver: async () => false,
    },
    clock,
    log: pino({ level: "silent" }),
    onEvent: (event) => {
      if (event.kind === "silent") silences.push(event);
      else if (event.kind === "crowded") options.onCrowded?.(event.cap);
      else events.push(event.kind);
    },
    trafficOf: () => traffic,
    othersOf: options.othersOf ?? (async () => []),
  });
  return {
    clock,
    slots,
    pool,
    events,
    silences,
    traffic,
    rcpt(
      address,
      {
        deadlineMs = 3_600_000,
        cancelled = () => false,
        urgent = false,
        isInteractive = false,
        onTurn = () => {},
        ...rest
      } = {},
    ) {
      const {
        site = "site",
        host = "mx.test",
        address: ip = "127.0.0.1",
        path: _,
        cap: __,
        alone = false,
        published = true,
        ...policy
      } = rest;
      const mailbox = parseMailbox(address) ?? assert.fail(address);
      const path = rest.path ?? paths.routeTo(site, ip) ?? assert.fail("no way there");
      const cap = rest.cap ?? paths.capOf(site, path);
      const destination = {
        site,
        cap,
        host,
        address: ip,
        path,
        policy: { ...POLICY, ...policy },
        published,
        alone,
      };
      const deadlineAt = clock.monotonic() + deadlineMs;
      return pool.rcpt(destination, mailbox, {
        cancelled,
        deadlineAt,
        urgent,
        isInteractive,
        onTaken: onTurn,
      });
    },
    async end() {
      await pool.drain();
      pool.close();
      const { sessions, jobs, waiting } = pool.stats();
      assert.deepEqual({ sessions, jobs, waiting }, { sessions: 0, jobs: 0, waiting: 0 });
      assert.equal(slots.stats().held, 0);
      assert.equal(clock.pending, 0, "timers left");
    },
  };
}

/** `stage code` of a reply, `stage cause` of a failure. */
export function summary(outcome: RcptOutcome): string {
  return `${outcome.stage} ${outcome.kind === "reply" ? outcome.reply.code : outcome.cause}`;
}
