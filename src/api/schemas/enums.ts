import * as v from "valibot";
import { TIERS } from "../../config/tiers.ts";
import { VERDICTS } from "../../features/bulk/results/shard.ts";
import { MESSAGE_OUTCOMES } from "../../features/feedback/event.ts";
import { MEMBER_ROLES } from "../../features/identity/actor.ts";
import { REASONS } from "../../features/verify/answer/verification-result.ts";

/** One of `names`, which the OpenAPI document has under `title` once. */
const enumField =
  <const T extends readonly string[]>(title: string, names: T) =>
  (description: string) =>
    v.pipe(
      v.picklist(names, `must be one of ${names.join(", ")}`),
      v.title(title),
      v.description(description),
    );

export const verdictField = enumField("Verdict", VERDICTS);
export const reasonField = enumField("Reason", REASONS);
export const roleField = enumField("Role", MEMBER_ROLES);
export const tierField = enumField("Tier", TIERS);
export const outcomeField = enumField("MessageOutcome", MESSAGE_OUTCOMES);
