/** `for more than 90 days`, `in the last 6 months`: of minutes and hours a login before sending is wanted, not a mailbox in use. */
const SPAN =
  "(?: (?:a|the|too|very|more|than|over|at|least|last|past|quite|some|many|several|long|time|while|\\d{1,4}|days?|weeks?|months?|years?)){1,6}(?! (?:minutes?|hours?|seconds?))";
const WAKES = "(?:re-?)?(?:activate|enable|unlock|open)";
const ITS_MAILBOX =
  "(?: (?:(?:the|this|his|her|its|their) )?(?:mailbox|account|address|service|(?:receiving|reception|delivery|receipt)(?: of)?(?: the)?(?: e?-?mails?| messages?)?))?";

/**
 * Statements that a mailbox is shut, in words that excuse the recipient elsewhere: the one who must log in is its owner,
 * and it was blocked since it was not used. Each is a pattern of bounded length and its replacement.
 */
const IN_OTHER_WORDS: readonly (readonly [said: RegExp, means: string])[] = [
  [
    new RegExp(
      `\\b(?:must|has to|needs? to|should) (?:first )?log ?in (?:again |at least once )?(?:to|in order to|and) ${WAKES}\\b${ITS_MAILBOX}`,
      "g",
    ),
    "is inactive",
  ],
  [
    new RegExp(
      `\\b(?:has not|hasn't|have not|did not|didn't) (?:been )?log(?:ged)? ?(?:in|on)(?:to)? (?:for|in|since|within|during)${SPAN}`,
      "g",
    ),
    "is inactive",
  ],
  [
    /\bbecause (?:the|its) (?:owner|user) (?:has not|hasn't|did not|didn't|never) log(?:ged)? ?in\b/g,
    "because of inactivity",
  ],
  [
    new RegExp(
      `\\b(?:has|have|was|is) not (?:been )?(?:used|accessed|opened|checked|active) (?:for|in|since)${SPAN}`,
      "g",
    ),
    "is inactive",
  ],
  [/\b(?:has been|is|was) idle (?:for )?too long\b/g, "is inactive"],
  [
    /\bblocked (?:because of|due to|for|after|owing to) (?:its |long |a long |prolonged |user )?(?:inactivity|non-?use|no activity|lack of (?:use|activity)|not being used)\b/g,
    "disabled",
  ],
  [new RegExp(`\\bno (?:activity|log ?ins?) (?:for|in|since|within)${SPAN}`, "g"), ", inactive"],
  [/\bno (?:recipient|user|account|mailbox) activity\b(?: since [\d./-]{4,10})?/g, "mailbox inactive"],
  [
    // The mailbox does not exist; `not configured for external mail` is a choice of its operator.
    /(?: is| was| has)?(?: not|n't)(?<!(?:^| )\*(?: is| was| has)?(?: not|n't)) (?:been )?(?:configured|set up)(?: to (?:receive|accept|get) (?:any )?(?:e-?)?(?:mails?|messages?))?(?: (?:on|at|in|for) (?:this|our|the) (?:mail ?)?(?:server|system|host))?(?: here)?(?= ?(?:[.,;)]|$))/g,
    " does not exist",
  ],
  [
    /\b(?:delivery|receiving(?: of)?(?: e?-?mails?)?|reception)(?: of (?:e?-?mails?|messages?))? (?:to|for|at) (?:(?:the|this|that) )?((?:user )?(?:mailbox|account|user|recipient|address)) (is|has been|was) (disabled|suspended|turned off|deactivated)\b/g,
    "$1 $2 $3",
  ],
  [/\bdelivery to (?=<?\*@\*>? (?:refused|rejected|failed|not possible))/g, ""],
  [/\bnot listed in (?:the )?(?:public |domino )?name (?:&|and) address book\b/g, "not listed in directory"],
  [
    /\bhas (?:closed|cancell?ed|deactivated|terminated) (?:this|his|her|its|their|the) (?:mailbox|(?:e-?mail )?account|(?:e-?mail )?address)(?= ?(?:[.,;(]|$|and |at |due |because ))/g,
    "is inactive",
  ],
];

/** Nearly every reply has none of these. */
const MAY_BE =
  /log ?in|logged|logon| not |n't |not listed|deliver|rece(?:iving|ption)|idle|blocked | activity|has (?:c|d|t)/;

/** Replaces plain-language statements that a mailbox is shut. Linear. @param text lower case */
export function inPlainWords(text: string): string {
  if (!MAY_BE.test(text)) return text;
  return IN_OTHER_WORDS.reduce((rest, [said, means]) => rest.replace(said, means), text);
}
