/** What a mailbox is, hence what a correct service says of it. */
export const EXPECTED = {
  existing: { verdict: "valid", reason: "accepted_mailbox" },
  missing: { verdict: "invalid", reason: "mailbox_not_found" },
  full: { verdict: "risky", reason: "mailbox_full" },
  greylisted: { verdict: "unknown", reason: "greylisted" },
  catch_all: { verdict: "risky", reason: "catch_all" },
  /** Refused by a rule that says nothing of the mailbox: whoever calls this `invalid` condemns the innocent. */
  policy: { verdict: "unknown", reason: "refused_by_policy" },
} as const;
export type Kind = keyof typeof EXPECTED;

export interface Mailbox {
  address: string;
  kind: Kind;
}

/** A user of a mail server's own little world; each has a group of the same name and number. */
export interface User {
  name: string;
  uid: number;
  home: string;
  /** Groups beside its own. */
  groups?: string[];
}

/** Where a server is told to listen. */
export interface Endpoint {
  ip: string;
  port: number;
}

/** A mail server of the distribution: what to unpack, how it is set up, and what lives in it. */
export interface MailServer {
  name: string;
  /** Name and address of its one MX host. */
  host: string;
  ip: string;
  packages: readonly string[];
  users: readonly User[];
  mailboxes: readonly Mailbox[];
  /** Files of its file system, by absolute path. */
  files(endpoint: Endpoint): Record<string, string>;
  /** Shell commands, run as root in its own file system, that end with the server running in the background. */
  start: string;
}
