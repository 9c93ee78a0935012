/** Blocks whose letters run from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko and their supplements. */
const RTL = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const HAS_RTL = new RegExp(`[${RTL}]`, "u");
/** First a letter of such a script; no letter of another; the last, but for marks, a letter or a digit. */
const RTL_LABEL = new RegExp(
  `^(?=[${RTL}])\\p{L}(?:(?![^${RTL}])\\p{L}|[\\p{M}\\p{N}-]|\\u200c|\\u200d)*$`,
  "u",
);
const ENDS_WELL = /[\p{L}\p{N}]\p{M}*$/u;
const ARABIC_DIGIT = /[\u0660-\u0669]/;
const EUROPEAN_DIGIT = /[0-9\u06f0-\u06f9]/;

/**
 * True when a domain in U-labels obeys the bidi rule of RFC 5893 §2, so that it reads as one name wherever it is printed.
 * The rule applies to labels with a right-to-left letter. Runtimes differ in how much of the rule they check.
 */
export function keepsBidiRule(domain: string): boolean {
  if (!HAS_RTL.test(domain)) return true;
  return domain.split(".").every((label) => {
    if (!HAS_RTL.test(label)) return true;
    if (ARABIC_DIGIT.test(label) && EUROPEAN_DIGIT.test(label)) return false;
    return RTL_LABEL.test(label) && ENDS_WELL.test(label);
  });
}
