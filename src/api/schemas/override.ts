import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { boundedArray } from "../body/bounded-array.ts";

const { domainsPerRequest, domainChars } = LIMITS.overrides;

export const DomainSchema = v.pipe(
  v.string(),
  v.nonEmpty("must not be empty"),
  v.maxLength(domainChars, `must be at most ${domainChars} characters`),
  v.description(
    "A domain below a top-level one, which stands for those below it too; case, spaces around it and a trailing dot " +
      "do not matter, and U-labels are the same as A-labels.",
  ),
);

export const SubmitOverridesSchema = v.strictObject({
  domains: v.pipe(
    boundedArray(DomainSchema, 1, domainsPerRequest),
    v.description("In any case, as U-labels or A-labels."),
  ),
});
