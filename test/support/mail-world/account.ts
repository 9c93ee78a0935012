/** Counters of one SMTP host since the last reset. */
export interface HostAccount {
  connections: number;
  /** Connections open now, and the most at once. */
  open: number;
  maxOpen: number;
  tlsHandshakes: number;
  tlsFailures: number;
  /** MAIL commands answered with 250. */
  transactions: number;
  /** RCPT commands by answer: 2xx, and 4xx or 5xx. */
  accepted: number;
  rejected: number;
  maxRecipientsPerTransaction: number;
  maxTransactionsPerSession: number;
  maxRejectionsPerSession: number;
  /** Most commands that came in one read; more than 1 means that the client pipelines. */
  maxBurst: number;
  /** Commands sent before the reply to the previous one, where PIPELINING was not offered. */
  outOfTurn: number;
  /** Command lines with a control character or ended by a bare LF: smuggled or malformed. */
  malformed: number;
  /** Sessions whose next reply is withheld (`MailHost.hold`). */
  held: number;
  commandCount: number;
  /** The first COMMANDS_KEPT commands. */
  commands: CommandRecord[];
}

export interface CommandRecord {
  /** Number of the connection on this host, from 1. */
  session: number;
  tls: boolean;
  line: string;
}

const COMMANDS_KEPT = 1_000;

export function newAccount(): HostAccount {
  return {
    connections: 0,
    open: 0,
    maxOpen: 0,
    tlsHandshakes: 0,
    tlsFailures: 0,
    transactions: 0,
    accepted: 0,
    rejected: 0,
    maxRecipientsPerTransaction: 0,
    maxTransactionsPerSession: 0,
    maxRejectionsPerSession: 0,
    maxBurst: 0,
    outOfTurn: 0,
    malformed: 0,
    held: 0,
    commandCount: 0,
    commands: [],
  };
}

/** Resets all counters but those of the present state (open connections, withheld replies). */
export function resetAccount(account: HostAccount): void {
  const { open, held } = account;
  Object.assign(account, newAccount(), { open, held, maxOpen: open });
}

export function recordCommand(account: HostAccount, record: CommandRecord): void {
  account.commandCount++;
  if (account.commands.length < COMMANDS_KEPT) account.commands.push(record);
}

/** @param ofSession transactions of its session so far, this one included */
export function recordTransaction(account: HostAccount, ofSession: number): void {
  account.transactions++;
  account.maxTransactionsPerSession = Math.max(account.maxTransactionsPerSession, ofSession);
}

export function recordAccepted(account: HostAccount, ofTransaction: number): void {
  account.accepted++;
  account.maxRecipientsPerTransaction = Math.max(account.maxRecipientsPerTransaction, ofTransaction);
}

export function recordRejected(account: HostAccount, ofSession: number): void {
  account.rejected++;
  account.maxRejectionsPerSession = Math.max(account.maxRejectionsPerSession, ofSession);
}
