import { writeFileSync } from "node:fs";
import { test } from "node:test";

test("never ends", async () => {
  writeFileSync(process.env.RCPT_TEST_HANGS ?? "", "");
  await new Promise(() => setInterval(() => undefined, 1_000_000));
});
