import { systemClock } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import type { Logger } from "../core/log.ts";
import { createRelay } from "../relay/relay.ts";
import { createAuthChanges } from "../store/auth-changes.ts";
import { createQuotaLedger } from "../store/quota-ledger.ts";
import type { Stores } from "./stores.ts";

/** The role `relay`: what nobody waits for. */
export function composeRelay(deps: { log: Logger; stores: Stores }): Part {
  return createRelay({
    ledger: createQuotaLedger(deps.stores.sql),
    changes: createAuthChanges(deps.stores.sql),
    clock: systemClock,
    log: deps.log,
  });
}
