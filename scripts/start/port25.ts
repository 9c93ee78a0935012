import { composePreflight } from "../../src/app/checks/preflight.ts";
import { ownShaping } from "../../src/app/checks/shaping.ts";
import { ConfigError, loadPreflightConfig, type PreflightConfig } from "../../src/config/config.ts";
import { dialAddressFor } from "../../src/egress/self-check/exchangers.ts";
import { loadShaping } from "../../src/egress/shaping.ts";
import type { PreflightRun } from "../../src/engine/preflight.ts";
import { systemClock } from "../../src/platform/time/clock.ts";
import { acceptsConnection, dialTargetKey } from "../../src/smtp/wire/dial.ts";
import { createEgressRoutes } from "../../src/smtp/wire/egress-routes.ts";

/** Can this machine reach mail servers? `unknown`: their names could not be resolved from here. */
export type Port25 = "open" | "closed" | "unknown";

/** At least this much of the time belongs to connecting, or nothing is concluded from silence. */
const CONNECT_MIN_MS = 500;

/** Settings of the check of port 25; null if any is wrong: the service reports that when it starts. */
export function port25Config(env: NodeJS.ProcessEnv): PreflightConfig | null {
  try {
    const config = loadPreflightConfig(env);
    ownShaping(config);
    return config;
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

/**
 * Tries to connect to the mail exchangers of big providers by the routes that probes would take, all at once, within
 * `withinMs`. A quick look: `npm run preflight` reports more. A network failure never rejects.
 */
export async function checkPort25(config: PreflightConfig, withinMs: number): Promise<Port25> {
  const deadline = systemClock.monotonic() + withinMs;
  const preflight = composePreflight(config, ownShaping(config), systemClock);
  try {
    const run = await beforeLong(preflight.startRun(), Math.max(1, withinMs - CONNECT_MIN_MS));
    const paths = createEgressRoutes(config.smtp, loadShaping(ownShaping(config)).routes);
    const trials = preflight.routes.flatMap((path) =>
      (run?.exchangers ?? []).flatMap((exchanger) => {
        const address = dialAddressFor(path, exchanger, preflight.family);
        return address === null ? [] : [dialTargetKey(path.name, address)];
      }),
    );
    const leftMs = Math.max(1, deadline - systemClock.monotonic());
    return await anyOpen(trials.map((trial) => acceptsConnection(trial, config.smtp, paths, leftMs)));
  } finally {
    await preflight.close();
  }
}

/** The first open connection decides; the others are not awaited. */
async function anyOpen(dials: Promise<boolean>[]): Promise<Port25> {
  if (dials.length === 0) return "unknown";
  const opens = dials.map(async (taken) => {
    if (!(await taken)) throw new Error("not open");
  });
  return Promise.any(opens).then(
    () => "open",
    () => "closed",
  );
}

function beforeLong(begun: Promise<PreflightRun>, withinMs: number): Promise<PreflightRun | null> {
  return new Promise((resolve) => {
    const timer = systemClock.after(withinMs, () => resolve(null));
    void begun.then((run) => {
      timer.cancel();
      resolve(run);
    });
  });
}

const MEANING: Record<Port25, string> = {
  open: "Port 25 is open from here: live keys probe real mailboxes. `npm run preflight` tells how mail servers see you.",
  closed:
    "Port 25 is closed from here: live keys answer `unknown` with reason `our_network` where a mailbox must be probed.\n" +
    "Ask your provider to open outgoing port 25, or run rcpt where it is open. Test keys work everywhere.",
  unknown:
    "Whether port 25 is open from here cannot be told: no mail exchanger's name could be resolved.\n" +
    "Without DNS live keys answer `unknown` with reason `dns_error`; set DNS_SERVERS. Test keys work everywhere.",
};

const NAMELESS =
  "SMTP_HELO_NAME is not set: until it is, a refused recipient is `unknown` with reason `sender_blocked`, not `invalid`.";

/** Explains the outcome to a user of the service. */
export function explainPort25(outcome: Port25, heloNameGiven: boolean): string {
  return outcome === "open" && !heloNameGiven ? `${MEANING.open}\n${NAMELESS}` : MEANING[outcome];
}
