/** Codes that may refuse a recipient: not 502 to 504 nor 53x, which are about the command or our login. */
export const REFUSES_RECIPIENT = ["500", "501", "505", "51", "52", "54", "55", "56", "57", "58"] as const;

/** The same, and those codes, for words that can mean nothing else: `504 <user@example.com>: User unknown`. */
export const REFUSES_IN_WORDS = [...REFUSES_RECIPIENT, "502", "503", "504", "530"] as const;
