import * as v from "valibot";

// Fields that many bodies have, each with its description.

export const textField = (description: string) => v.pipe(v.string(), v.description(description));
/** ISO 8601, UTC. */
export const instantField = (description: string) =>
  v.pipe(v.string(), v.isoTimestamp(), v.description(description));
/** A whole number from 0. */
export const countField = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
