import { Command } from "commander";
import type { Verification } from "../../packages/client/src/index.ts";
import type { Verdict } from "../verification/verdict/table.ts";
import { EXIT_FOUND, failOnOption } from "./check.ts";

/** Requests at once, answered in order. */
const AT_ONCE = 8;

interface VerifyOptions {
  probe: boolean;
  refresh: boolean;
  evidence: boolean;
  json: boolean;
  failOn: Verdict[];
}

/** `rcpt verify`: verifies addresses by a service. Its action is `verify`. */
export function verifyCommand(): Command {
  return new Command("verify")
    .description("Verify addresses by the service at RCPT_URL.")
    .argument("<addresses...>", "addresses, or texts with one each; - reads lines of standard input")
    .option("--no-probe", "ask no mail server")
    .option("--refresh", "ask again although the cache knows", false)
    .option("--evidence", "with the mail server's reply", false)
    .option("--json", "a JSON object a line", false)
    .addOption(failOnOption());
}

/** @returns the exit code: 0, or EXIT_FOUND. @throws UsageError; RcptError */
export async function verify(addresses: string[], options: VerifyOptions): Promise<number> {
  const [{ connect, withInterrupt }, { textsOf }, { createCheckOutput }] = await Promise.all([
    import("./service.ts"),
    import("./check-input.ts"),
    import("./check-output.ts"),
  ]);
  const { probe, refresh, evidence } = options;
  const client = connect();
  const output = createCheckOutput(options, null);
  let found = false;
  await withInterrupt(async (signal) => {
    const underWay: Promise<Verification>[] = [];
    const tellFirst = async () => {
      const verified = (await underWay.shift()) as Verification;
      await output.add(verified);
      found ||= options.failOn.includes(verified.verdict);
    };
    for await (const text of textsOf(addresses, signal)) {
      const verifying = client.verify(text, { probe, refresh, evidence, signal });
      // The error is thrown below, when the results are read.
      verifying.catch(() => {});
      underWay.push(verifying);
      if (underWay.length >= AT_ONCE) await tellFirst();
    }
    while (underWay.length > 0) await tellFirst();
  });
  output.end(null);
  return found ? EXIT_FOUND : 0;
}
