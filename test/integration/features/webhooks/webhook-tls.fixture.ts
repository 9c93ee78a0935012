import { createWebhookClient } from "../../../../src/features/webhooks/deliver/webhook-client.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";

/**
 * Delivers to each URL of its arguments and sends its parent the outcomes. In a process of its own, since Node reads
 * additional trusted CAs (NODE_EXTRA_CA_CERTS) when it starts.
 */
const client = createWebhookClient({
  lookup: async () => ({ found: true, addresses: ["127.0.0.1"] }),
  clock: systemClock,
  privateAddresses: true,
});
const outcomes: (number | string)[] = [];
for (const url of process.argv.slice(2)) {
  const attempt = await client.post({ url, headers: {}, body: "{}" });
  outcomes.push(attempt.answered ? attempt.status : attempt.error);
}
process.send?.(outcomes);
