import { Command, Option } from "commander";
import type { Verifier } from "../app/verifier.ts";
import { VERDICTS } from "../features/bulk/results/shard.ts";
import { UsageError } from "../operator/command.ts";
import type { Verdict } from "../verification/verdict/table.ts";

/** The exit code where `--fail-on` names a verdict that was among those found. */
export const EXIT_FOUND = 3;

export interface CheckOptions {
  csv?: string;
  column?: string;
  sheet?: string;
  probe: boolean;
  evidence: boolean;
  trace: boolean;
  json: boolean;
  failOn: Verdict[];
}

/** `--fail-on`, of every command that finds verdicts. */
export function failOnOption(): Option {
  return new Option(
    "--fail-on <verdicts>",
    `exit with ${EXIT_FOUND} if one of these is among them, e.g. invalid,risky`,
  )
    .default([], "none")
    .argParser(parseVerdicts);
}

function parseVerdicts(text: string): Verdict[] {
  return text.split(",").map((name) => {
    const verdict = VERDICTS.find((known) => known === name.trim());
    if (verdict === undefined) throw new UsageError(`--fail-on names verdicts: ${VERDICTS.join(", ")}`);
    return verdict;
  });
}

/** The exit code after Ctrl-C. */
export const EXIT_INTERRUPTED = 130;

export class Interrupted extends Error {
  constructor() {
    super("interrupted");
  }
}

/** `rcpt check`: verifies addresses in this process, with no server, database or key. Its action is `check`. */
export function checkCommand(): Command {
  return new Command("check")
    .description(
      "Verify addresses right here: DNS, mail exchangers, lists and, where outbound port 25 is open, the mail server itself. " +
        "Needs no server, database or key.",
    )
    .argument("[addresses...]", "addresses, or texts with one each; - reads lines of standard input")
    .option("--csv <file>", "a list: CSV, TSV, an Excel workbook or one address a line (gzip too)")
    .option(
      "--column <name>",
      "the list's column of addresses, by name or number from 0; default: the likeliest",
    )
    .option(
      "--sheet <name>",
      "the workbook's sheet, by name or number from 0; default: the first with a table",
    )
    .option("--no-probe", "ask no mail server")
    .option("--evidence", "with the mail server's reply", false)
    .option("--trace", "print what passes between us and mail servers, on standard error", false)
    .option("--json", "a JSON object a line", false)
    .addOption(failOnOption())
    .addHelpText("after", HELP);
}

const HELP = `
Settings of a deployment count here too, from the environment: SMTP_HELO_NAME, SMTP_MAIL_FROM, SMTP_PROXIES, DNS_SERVERS and so
on (docs/configuration.md).

Examples:
  rcpt check jane@example.com
  rcpt check - < addresses.txt
  rcpt check --csv customers.csv > customers-verified.csv
  rcpt check --trace jane@example.com
  rcpt check --json --evidence jane@example.com | jq .evidence`;

/** Why mailboxes could not be asked, in a line; null: they could, as far as is known. */
function portNotice(verifier: Verifier): string | null {
  const { ways } = verifier.preflight();
  const closed = ways.every(
    ({ network, findings }) =>
      network === "down" || findings.some(({ check, result }) => check === "port_25" && result === "fail"),
  );
  if (ways.length === 0 || !closed) return null;
  return "outbound port 25 is closed here, so no mailbox could be asked. --no-probe is quicker; `npm run preflight` says more.";
}

/**
 * @returns the exit code: 0, EXIT_FOUND, or EXIT_INTERRUPTED
 * @throws UsageError for arguments that do not go together, and for a list that cannot be read; ConfigError
 */
export async function check(addresses: string[], options: CheckOptions): Promise<number> {
  if (addresses.length === 0 && options.csv === undefined)
    throw new UsageError("name addresses, - for standard input, or --csv FILE (rcpt check --help)");
  if (addresses.length > 0 && options.csv !== undefined)
    throw new UsageError("either addresses or --csv, not both");
  // The engine is read when it is known that it is needed: help and errors come at once.
  const [{ createVerifier }, { readList, textsOf }, { createCheckOutput, traceLine }] = await Promise.all([
    import("../app/verifier.ts"),
    import("./check-input.ts"),
    import("./check-output.ts"),
  ]);
  const list = options.csv === undefined ? null : await readList(options.csv, options);
  const verifier = await createVerifier({
    preflight: options.probe,
    ...(options.trace ? { onTrace: (event) => process.stderr.write(traceLine(event)) } : {}),
  });
  const enough = new AbortController();
  const stop = () => enough.abort(new Interrupted());
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  const output = createCheckOutput(options, list);
  let found = false;
  try {
    const asked = { probe: options.probe, evidence: options.evidence, signal: enough.signal };
    const texts = list?.addresses ?? textsOf(addresses, enough.signal);
    for await (const verified of verifier.verifyAll(texts, asked)) {
      await output.add(verified);
      found ||= options.failOn.includes(verified.verdict);
    }
    output.end(options.probe ? portNotice(verifier) : null);
  } catch (error) {
    if (!(enough.signal.reason instanceof Interrupted)) throw error;
    process.stderr.write("rcpt: interrupted\n");
    return EXIT_INTERRUPTED;
  } finally {
    enough.abort();
    output.close();
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    await verifier.close();
  }
  return found ? EXIT_FOUND : 0;
}
