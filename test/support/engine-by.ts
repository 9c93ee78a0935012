import type { CheckControl, EngineResult } from "../../src/engine/caller.ts";
import type { CheckEngine } from "../../src/engine/engine.ts";
import type { DomainEvidence, Scope } from "../../src/verification/evidence.ts";

type Check = (
  address: string,
  scope: Scope,
  control: CheckControl,
  domain?: DomainEvidence,
) => EngineResult | Promise<EngineResult>;

/** An engine that checks so. */
export function engineBy(check: Check): CheckEngine {
  return {
    async submit(address, scope, asker, domain) {
      try {
        const known = check(address, scope, asker, domain);
        asker.onChecked(known instanceof Promise ? await known : known);
      } catch (error) {
        asker.onError(error);
      }
    },
  };
}

/** What an engine says of an address. */
export function checkWith(
  engine: CheckEngine,
  address: string,
  scope: Scope,
  control: CheckControl,
): Promise<EngineResult> {
  return new Promise((resolve, reject) => {
    engine.submit(address, scope, {
      mode: control.mode,
      cancelled: control.cancelled,
      onSite: control.onSite,
      onChecked: resolve,
      onError: reject,
    });
  });
}
