import { createHmac, timingSafeEqual } from "node:crypto";
import { startReceiver, type WebhookReceiver, withStatus } from "../../../test/support/webhook-receiver.ts";

/** A customer's receiver of webhooks: checks signatures as Standard Webhooks says, and may fail for a while. */
export interface Hooks {
  url: string;
  secret: string;
  fail(failing: boolean): void;
  /** Ids of jobs whose end was delivered, correctly signed, and answered with success. */
  toldOf(): Set<string>;
  /** Number of deliveries, and of those with a wrong signature. */
  counts(): { deliveries: number; badlySigned: number };
  close(): Promise<void>;
}

type Received = Pick<WebhookReceiver["received"][number], "headers" | "body">;

/** Whether one of the delivery's signatures is by `secret` over exactly this message. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const wanted = createHmac("sha256", key).update(content, "utf8").digest();
  return String(headers["webhook-signature"] ?? "")
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .map((part) => Buffer.from(part.slice(3), "base64"))
    .some((found) => found.length === wanted.length && timingSafeEqual(found, wanted));
}

export async function startHooks(): Promise<Hooks> {
  const receiver = await startReceiver();
  const hooks: Hooks = {
    url: receiver.url,
    secret: "",
    fail(failing) {
      isFailing = failing;
    },
    toldOf: () => told,
    counts: () => ({ deliveries: receiver.received.length, badlySigned }),
    close: () => receiver.close(),
  };
  const told = new Set<string>();
  let isFailing = false;
  let badlySigned = 0;
  receiver.answer((received, response) => {
    if (!isSigned(received, hooks.secret)) badlySigned += 1;
    else if (!isFailing) {
      const { type, data } = JSON.parse(received.body) as { type: string; data: Record<string, unknown> };
      const job = (data.job ?? data) as { id?: unknown };
      if (type === "bulk.completed") told.add(String(job.id));
    }
    withStatus(isFailing ? 500 : 204)(received, response);
  });
  return hooks;
}
