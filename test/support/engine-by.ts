import type { CheckEngine } from "../../src/engine/engine.ts";

/** An engine of which only `check` is given. */
export function engineBy(check: CheckEngine["check"]): CheckEngine {
  return {
    check,
    submit(address, scope, asker, domain) {
      try {
        const known = check(address, scope, asker, domain);
        if (!(known instanceof Promise)) asker.onChecked(known);
        else
          known.then(
            (found) => asker.onChecked(found),
            (error: unknown) => asker.onError(error),
          );
      } catch (error) {
        asker.onError(error);
      }
    },
  };
}
