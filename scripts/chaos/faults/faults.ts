/** The kinds of fault, with their frequency and duration, from which a schedule is drawn. */
export const KINDS = [
  "kill",
  "stall",
  "roll",
  "redis-restart",
  "redis-loss",
  "postgres-restart",
  "postgres-crash",
  "objects-fail",
  "objects-stall",
  "objects-cut",
  "smtp-fail",
  "smtp-stall",
  "smtp-cut",
  "dns-silence",
  "dns-fail",
  "clock",
  "disk",
  "webhook",
] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds that affect the same part: two of a family never overlap. */
export type Family =
  | "killed"
  | "stalled"
  | "rolled"
  | "redis"
  | "postgres"
  | "objects"
  | "smtp"
  | "dns"
  | "clock"
  | "disk"
  | "webhook";

export interface FaultSpec {
  family: Family;
  says: string;
  /** Faults a minute; at least one in a run. */
  perMinute: number;
  /** Seconds from its begin to the begin of recovery. */
  holdS: readonly [min: number, max: number];
}

/** A process is silent for longer than its leases last in some of its stalls, a service away for longer in some outages. */
export const FAULTS: Readonly<Record<Kind, FaultSpec>> = {
  kill: { family: "killed", says: "SIGKILL of a process", perMinute: 5, holdS: [0.2, 2] },
  stall: { family: "stalled", says: "SIGSTOP, then SIGCONT", perMinute: 2, holdS: [0.5, 13] },
  roll: { family: "rolled", says: "SIGTERM and a successor", perMinute: 2, holdS: [0, 0] },
  "redis-restart": {
    family: "redis",
    says: "Redis restarts with its data",
    perMinute: 0.7,
    holdS: [0, 4],
  },
  "redis-loss": {
    family: "redis",
    says: "Redis is killed and comes back empty",
    perMinute: 0.5,
    holdS: [0, 3],
  },
  "postgres-restart": {
    family: "postgres",
    says: "PostgreSQL restarts (fast shutdown)",
    perMinute: 0.5,
    holdS: [0, 3],
  },
  "postgres-crash": {
    family: "postgres",
    says: "kill -9 of a backend: crash recovery",
    perMinute: 0.5,
    holdS: [0, 0],
  },
  "objects-fail": {
    family: "objects",
    says: "object storage answers 503 to half of all",
    perMinute: 0.6,
    holdS: [2, 6],
  },
  "objects-stall": { family: "objects", says: "object storage is silent", perMinute: 0.5, holdS: [1, 5] },
  "objects-cut": {
    family: "objects",
    says: "object storage cuts bodies and loses answers",
    perMinute: 0.6,
    holdS: [2, 6],
  },
  "smtp-fail": { family: "smtp", says: "a site answers 421 and 451", perMinute: 1, holdS: [2, 8] },
  "smtp-stall": { family: "smtp", says: "a site is silent at RCPT", perMinute: 0.7, holdS: [2, 10] },
  "smtp-cut": { family: "smtp", says: "a site cuts its connections", perMinute: 1, holdS: [1, 5] },
  "dns-silence": { family: "dns", says: "DNS is silent", perMinute: 0.5, holdS: [1, 5] },
  "dns-fail": { family: "dns", says: "DNS answers SERVFAIL of some domains", perMinute: 0.5, holdS: [2, 6] },
  clock: { family: "clock", says: "a process's clock jumps by hours", perMinute: 2, holdS: [3, 12] },
  disk: { family: "disk", says: "a worker's disk is full", perMinute: 1, holdS: [2, 8] },
  webhook: { family: "webhook", says: "the webhook receiver answers 500", perMinute: 0.5, holdS: [1, 4] },
};

export function isKind(text: string): text is Kind {
  return (KINDS as readonly string[]).includes(text);
}
