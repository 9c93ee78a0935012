import * as v from "valibot";
import { countField } from "./fields.ts";

/** Fields of the limits of a tier, or of a team. */
export const limitFields = {
  daily_quota: countField("Units a UTC day, single and bulk together; and the most rows of a job."),
  rate_per_s: countField("Single verifications a second, sustained."),
  rate_burst: countField("Single verifications at once."),
  bulk_bytes: countField("Of a bulk source at most; 0: no bulk."),
  history_days: countField("How far the history of usage goes back."),
  refresh: v.pipe(v.boolean(), v.description("`refresh=true` is allowed.")),
  webhooks: v.pipe(v.boolean(), v.description("The team may have webhooks.")),
  probing: v.pipe(
    v.boolean(),
    v.description("Mail servers are asked about mailboxes; without it nothing is answered `valid`."),
  ),
};
