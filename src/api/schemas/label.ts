import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";

const CHARS = LIMITS.team.nameChars;

/**
 * A name that people give: one line of text, 1 to LIMITS.team.nameChars UTF-16 units. No control characters, no line
 * separators (it is shown in lists, mails and terminals), no lone surrogates (Postgres takes UTF-8 only).
 */
export const labelSchema = (description: string) =>
  v.pipe(
    v.string(),
    v.nonEmpty("must not be empty"),
    v.maxLength(CHARS, `must be at most ${CHARS} characters`),
    v.regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must be one line without control characters"),
    v.check((text) => text.trim() !== "", "must not be blank"),
    v.description(description),
  );
