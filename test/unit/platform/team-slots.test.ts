import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../src/platform/errors.ts";
import { createTeamSlots, tooMany } from "../../../src/platform/team-slots.ts";

const refused = (code: string) => (error: unknown) =>
  error instanceof AppError && error.code === code && error.retryAfterS !== undefined;

describe("places", () => {
  it("are bounded for a team, and for all together", () => {
    const places = createTeamSlots({ all: 3, perShare: 2 }, tooMany("downloads", 2));
    const own = [places.take("team_a"), places.take("team_a")];
    assert.throws(() => places.take("team_a"), refused("rate_limited"));
    const other = places.take("team_b");
    assert.throws(() => places.take("team_c"), refused("overloaded"));
    other();
    for (const giveBack of own) giveBack();
    for (let i = 0; i < 3; i++) places.take(`team_${i}`);
    assert.throws(() => places.take("team_d"), refused("overloaded"));
  });

  it("are kept in part for teams that have none", () => {
    const places = createTeamSlots({ all: 4, perShare: 3, kept: 2 }, tooMany("downloads", 3));
    const giveBack = places.take("team_a");
    places.take("team_a");
    assert.throws(() => places.take("team_a"), refused("overloaded"));
    places.take("team_b");
    assert.throws(() => places.take("team_b"), refused("overloaded"));
    places.take("team_c");
    assert.throws(() => places.take("team_d"), refused("overloaded"));
    giveBack();
    assert.throws(() => places.take("team_a"), refused("overloaded"));
    places.take("team_d");
  });

  it("are given back once", () => {
    const places = createTeamSlots({ all: 2, perShare: 2 }, tooMany("downloads", 2));
    const giveBack = places.take("team_a");
    places.take("team_a");
    giveBack();
    giveBack();
    places.take("team_a");
    assert.throws(() => places.take("team_a"), refused("rate_limited"));
  });
});
