import { Command } from "commander";

/** `rcpt open`: the portal of the service in use. */
export function openCommand(): Command {
  return new Command("open")
    .description("Open the portal of the service in a browser, and print its address.")
    .option("--print", "only print it", false)
    .action(async ({ print }: { print: boolean }) => {
      const { urlInUse } = await import("./service.ts");
      const url = `${urlInUse()}/`;
      process.stdout.write(`${url}\n`);
      if (print || !process.stdout.isTTY) return;
      const { default: open } = await import("open");
      const browser = await open(url);
      // Without a browser the printed address is enough.
      browser.once("error", () => {});
    });
}
