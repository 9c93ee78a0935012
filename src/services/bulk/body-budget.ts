import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";

/** One body, from before it is made until nobody needs it any more. */
export interface BodyLease {
  /** It is made, and so large. */
  made(bytes: number): void;
  /** It is sent, or nobody wants it. Idempotent. */
  release(): void;
}

/**
 * What bodies of results take of this process's memory until their clients have taken them, in total and of each team.
 * The size of a body is known when it is made: what is held goes beyond its bound by those that are being made.
 */
export interface BodyBudget {
  /** @throws AppError `overloaded` when the process or the team has no room */
  begin(teamId: string): BodyLease;
}

interface Load {
  making: number;
  bytes: number;
}

export function createBodyBudget(): BodyBudget {
  const { resultsAtOnce, teamResultsAtOnce, resultsBytes, teamResultsBytes } = LIMITS.bulk;
  const total: Load = { making: 0, bytes: 0 };
  /** Of teams that have any. */
  const teams = new Map<string, Load>();

  function add(teamId: string, load: Load, making: number, bytes: number): void {
    for (const one of [total, load]) {
      one.making += making;
      one.bytes += bytes;
    }
    if (load.making === 0 && load.bytes === 0) teams.delete(teamId);
    else teams.set(teamId, load);
  }

  return {
    begin(teamId) {
      const load = teams.get(teamId) ?? { making: 0, bytes: 0 };
      const full = total.making >= resultsAtOnce || total.bytes >= resultsBytes;
      if (full || load.making >= teamResultsAtOnce || load.bytes >= teamResultsBytes)
        throw new AppError("overloaded", "Too many results are being read.", { retryAfterS: 1 });
      let holds: Load | null = { making: 1, bytes: 0 };
      add(teamId, load, 1, 0);
      const become = (next: Load | null) => {
        if (holds === null) return;
        const { making, bytes } = next ?? { making: 0, bytes: 0 };
        add(teamId, teams.get(teamId) ?? load, making - holds.making, bytes - holds.bytes);
        holds = next;
      };
      return {
        made: (bytes) => become({ making: 0, bytes }),
        release: () => become(null),
      };
    },
  };
}
