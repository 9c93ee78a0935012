import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { Actor } from "../../../../src/features/identity/actor.ts";
import { createPartSlots } from "../../../../src/features/uploads/open-parts.ts";

describe("requests for parts of uploads", () => {
  it("are so many of a share and of a process, each until it ends", async () => {
    const { partLists, partListsPerShare, partListsKept } = LIMITS.uploads;
    const inPartSlot = createPartSlots();
    const ends: (() => void)[] = [];
    const ask = (teamId: string, livemode = true) =>
      inPartSlot({ teamId, livemode } as Actor, () => new Promise<void>((end) => ends.push(end)));
    const asked = Array.from({ length: partListsPerShare }, () => ask("team_1", false));
    await assert.rejects(ask("team_1", false), { code: "rate_limited" });
    for (let i = partListsPerShare; i < partLists - partListsKept; i++) asked.push(ask(`team_${i}`));
    await assert.rejects(ask(`team_${partListsPerShare}`), { code: "overloaded" });
    asked.push(ask("team_1"));
    for (const end of ends) end();
    await Promise.all(asked);
    const again = ask("team_1", false);
    ends.at(-1)?.();
    await again;
  });
});
