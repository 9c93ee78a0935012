import { Command } from "commander";

/** `rcpt usage`: the team's use of today. Its action is `showUsage`. */
export function usageCommand(): Command {
  return new Command("usage")
    .description("What the team has used of its quota today.")
    .option("--json", "the API's answer", false);
}

/** @returns the exit code. @throws UsageError; RcptError */
export async function showUsage({ json }: { json: boolean }): Promise<number> {
  const { connect } = await import("./service.ts");
  const today = await connect().request("GET", "/v1/usage");
  const { used, limit, remaining, resets_at: resetsAt, single, bulk, cached } = today;
  const lines = [
    `${used} of ${limit} units used, ${remaining} left until ${resetsAt}`,
    `${single} single (${cached} cached), ${bulk} in lists`,
  ];
  process.stdout.write(json ? `${JSON.stringify(today)}\n` : `${lines.join("\n")}\n`);
  return 0;
}
