import * as v from "valibot";

// Fields that many bodies have, each with its description.

export const textField = (description: string) => v.pipe(v.string(), v.description(description));
/** ISO 8601, UTC. */
export const instantField = (description: string) =>
  v.pipe(v.string(), v.isoTimestamp(), v.description(description));
/** A whole number from 0. */
export const countField = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));

/** Gives an object its name in the OpenAPI document, where it is written once and referred to. */
export const named = <S extends v.GenericSchema>(name: string, schema: S) => v.pipe(schema, v.title(name));

/** A whole number of a query string, from 1 to `max`. */
export function wholeNumberParameter(max: number, description: string) {
  const words = `must be a whole number from 1 to ${max}`;
  return v.pipe(
    v.string(),
    v.regex(/^[1-9]\d{0,8}$/, words),
    v.transform(Number),
    v.number(),
    v.integer(),
    v.minValue(1),
    v.maxValue(max, words),
    v.description(description),
  );
}

/** `true`, `1`, `false` or `0` of a query string. */
export const booleanParameter = (description: string) =>
  v.pipe(
    v.picklist(["true", "false", "1", "0"], "must be true or false"),
    v.transform((value) => value === "true" || value === "1"),
    v.boolean(),
    v.description(description),
  );

/** How many rows have each verdict. */
export const verdictCountsField = (description: string) =>
  v.pipe(
    v.object({
      valid: countField("Rows."),
      invalid: countField("Rows."),
      risky: countField("Rows."),
      unknown: countField("Rows."),
    }),
    v.description(description),
  );
