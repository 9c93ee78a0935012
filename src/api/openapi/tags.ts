/** The parts of the reference, in its order. Every route's `tag` is one of these. */
export const TAGS: Readonly<Record<string, string>> = {
  verification: "Whether an address takes mail, and how we know.",
  bulk: "Whole files, as jobs.",
  usage: "What was used of the daily quota, by day and verdict.",
  feedback: "What became of messages, and how good the answers were.",
  auth: "Portal accounts: register, sign in and out, passwords.",
  keys: "API keys. A secret is shown once.",
  team: "The team, its members and invites.",
  blocklist: "Domains that the team holds for risky, whatever is found out.",
  disposable: "Disposable domains that the team adds to the lists. For owners.",
  webhooks: "What happens is told to URLs of the team, signed by the Standard Webhooks specification.",
  billing: "The subscription, at Stripe.",
  operations: "Health, and the API's description.",
};
