import type { Rule } from "../rule.ts";
import { BEFORE_RCPT_RULES } from "./before-rcpt.ts";
import { CODE_RULES } from "./code.ts";
import { ENHANCED_RULES } from "./enhanced.ts";
import { NAMES_US_RULES } from "./names-us.ts";
import { PROVIDER_RULES } from "./provider.ts";
import { PROVIDER_CODE_RULES } from "./provider-codes.ts";
import { SENDER_RULES } from "./sender.ts";
import { TEXT_RULES } from "./text.ts";

/**
 * All rules in the order in which they are tried; the first that matches decides. Rules of one file speak of one kind
 * of evidence, from the strongest to the weakest.
 */
export const RULES: readonly Rule[] = [
  ...PROVIDER_CODE_RULES,
  ...SENDER_RULES,
  ...NAMES_US_RULES,
  ...BEFORE_RCPT_RULES,
  ...PROVIDER_RULES,
  ...ENHANCED_RULES,
  ...TEXT_RULES,
  ...CODE_RULES,
];
