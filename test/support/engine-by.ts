import type { CheckEngine } from "../../src/check/engine.ts";

/** An engine of which only `check` is given. */
export function engineBy(check: CheckEngine["check"]): CheckEngine {
  return {
    check,
    lineOf: async () => null,
    ask(address, scope, asker, domain) {
      try {
        const known = check(address, scope, asker, domain);
        if (!(known instanceof Promise)) asker.checked(known);
        else
          known.then(
            (found) => asker.checked(found),
            (error: unknown) => asker.broke(error),
          );
      } catch (error) {
        asker.broke(error);
      }
    },
  };
}
