import type { RouteReport, SelfCheckFinding } from "../egress/self-check/report.ts";
import type { PreflightRun } from "../engine/preflight.ts";
import type { EgressRoute } from "../smtp/wire/egress-routes.ts";
import { parseCommandLine, runCommand, type Terminal, UsageError } from "./command.ts";

export const PREFLIGHT_USAGE = "usage: npm run preflight [-- --json]";

const OPTIONS = { json: { type: "boolean", default: false } } as const;

const TITLES: Record<SelfCheckFinding["check"], string> = {
  source_address: "source address",
  proxy: "proxy",
  port_25: "port 25",
  starttls: "STARTTLS",
  helo_name: "HELO name",
  helo_forward: "HELO resolves",
  reverse_name: "reverse name",
  dnsbl: "block lists",
  mail_from: "MAIL FROM",
  spf: "SPF",
};
const TITLE_CHARS = 15;
const MARK_CHARS = 8;

export interface PreflightCommand extends Terminal {
  argv: string[];
  routes: readonly EgressRoute[];
  /** Asked only when the arguments are right. */
  startRun(): Promise<PreflightRun>;
}

/** The command `preflight`; the exit code: 0 every way is in order, 1 one is not, 2 wrong arguments. */
export async function runPreflight(command: PreflightCommand): Promise<number> {
  let failing = false;
  const code = await runCommand("preflight", command, async () => {
    const { values, positionals } = parseCommandLine(
      { args: command.argv, options: OPTIONS, allowPositionals: true } as const,
      PREFLIGHT_USAGE,
    );
    if (positionals.length > 0) throw new UsageError(PREFLIGHT_USAGE);
    const run = await command.startRun();
    const ways: RouteReport[] = [];
    for (const path of command.routes) ways.push(await run.checkRoute(path));
    failing = ways.some(({ state }) => state === "failing");
    if (values.json) return `${JSON.stringify({ ways }, null, 2)}\n`;
    return `${ways.map(describeRoute).join("\n")}\n${conclusion(ways)}`;
  });
  return code === 0 && failing ? 1 : code;
}

function describeRoute(report: RouteReport): string {
  const { way, address, findings } = report;
  const seen = address === null ? "" : `, seen as ${address}`;
  const rows = findings.map((finding) => {
    const row = `  ${markOf(finding).padEnd(MARK_CHARS)} ${TITLES[finding.check].padEnd(TITLE_CHARS)} ${finding.seen}\n`;
    const indent = " ".repeat(2 + MARK_CHARS + 1 + TITLE_CHARS + 1);
    return finding.advice === "" ? row : `${row}${indent}→ ${finding.advice}\n`;
  });
  return `way ${way}${seen}: ${stateOf(report)}\n${rows.join("")}`;
}

/** If no server was reached, the route is not known to be in order. */
function stateOf({ state, findings }: RouteReport): string {
  if (state === "failing") return "NOT IN ORDER";
  return isReported(findings) ? "in order" : "cannot be told";
}

const isReported = (findings: readonly SelfCheckFinding[]) =>
  findings.some(({ check, result }) => check === "port_25" && result === "pass");

function markOf({ result, weight }: SelfCheckFinding): string {
  if (result === "fail") return weight === "advice" ? "advice" : "FAIL";
  return { pass: "ok", unknown: "?", skipped: "-" }[result];
}

function conclusion(ways: readonly RouteReport[]): string {
  const untrusted = ways.filter(({ trusted }) => !trusted).map(({ way }) => way);
  const closed = ways.filter(({ state, trusted }) => state === "failing" && trusted).map(({ way }) => way);
  const lines: string[] = [];
  if (untrusted.length > 0)
    lines.push(
      `While this lasts, no refusal by ${untrusted.join(", ")} makes an address invalid (sender_blocked).`,
    );
  if (closed.length > 0) lines.push(`Nothing can be probed by ${closed.join(", ")} (our_network).`);
  if (ways.some(({ findings, state }) => state === "ok" && !isReported(findings)))
    lines.push("Whether mail servers can be reached could not be told.");
  if (lines.length === 0) lines.push("Nothing was found that would keep answers from being believed.");
  return `${lines.join("\n")}\n`;
}
