import { parseArgs } from "node:util";

export const BALANCERS = ["haproxy", "nginx"] as const;
export type BalancerName = (typeof BALANCERS)[number];

export interface RollingOptions {
  balancers: readonly BalancerName[];
  /** Number of restarts of every process behind each balancer. */
  rounds: number;
  /** Requests a second. */
  rate: number;
}

const ROUNDS_MAX = 20;
const RATE_MAX = 500;

function whole(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`--${name} must be a whole number from 1 to ${max}`);
  return value;
}

function isBalancer(name: string): name is BalancerName {
  return BALANCERS.some((known) => known === name);
}

/** @throws Error one line that says which option is wrong */
export function readOptions(argv: string[]): RollingOptions {
  const { values } = parseArgs({
    args: argv,
    options: {
      rounds: { type: "string", default: "2" },
      rate: { type: "string", default: "30" },
      balancer: { type: "string", default: BALANCERS.join() },
    },
  });
  const balancers = values.balancer.split(",");
  const wrong = balancers.find((name) => !isBalancer(name));
  if (wrong !== undefined) throw new Error(`--balancer: ${wrong} is none of ${BALANCERS.join(", ")}`);
  return {
    balancers: balancers.filter(isBalancer),
    rounds: whole("rounds", values.rounds, ROUNDS_MAX),
    rate: whole("rate", values.rate, RATE_MAX),
  };
}
