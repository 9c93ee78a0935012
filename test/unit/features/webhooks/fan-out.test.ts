import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deliveriesForEvent } from "../../../../src/features/webhooks/fan-out.ts";
import type { WaitingEvent, WebhookSubscription } from "../../../../src/features/webhooks/webhook-queue.ts";

const MADE = new Date("2026-01-01T00:00:00Z");
const LATER = new Date("2026-01-01T00:00:01Z");
const event = (rest: Partial<WaitingEvent> = {}): WaitingEvent => ({
  id: "evt_1",
  team_id: "team_1",
  type: "bulk.completed",
  livemode: true,
  only_webhook_id: null,
  extra_url: null,
  created_at: LATER,
  tier: "starter",
  limits: {},
  ...rest,
});
const webhook = (id: string, rest: Partial<WebhookSubscription> = {}): WebhookSubscription => ({
  id,
  team_id: "team_1",
  livemode: true,
  events: null,
  created_at: MADE,
  ...rest,
});
const toldBy = (happened: WaitingEvent, webhooks: WebhookSubscription[]) =>
  deliveriesForEvent(happened, webhooks).map(({ to }) => ("url" in to ? to.url : to.webhookId));

describe("the webhooks that get an event", () => {
  it("is every webhook of the team that is subscribed to its type, or to all", () => {
    const webhooks = [
      webhook("all"),
      webhook("this", { events: ["ping", "bulk.completed"] }),
      webhook("other", { events: ["bulk.failed"] }),
      webhook("stranger", { team_id: "team_2" }),
    ];
    assert.deepEqual(toldBy(event(), webhooks), ["all", "this"]);
  });

  it("is no webhook of the other mode", () => {
    const webhooks = [webhook("live"), webhook("test", { livemode: false })];
    assert.deepEqual(toldBy(event(), webhooks), ["live"]);
    assert.deepEqual(toldBy(event({ livemode: false }), webhooks), ["test"]);
  });

  it("is one webhook alone where the event names it, if it is the team's", () => {
    const webhooks = [
      webhook("a"),
      webhook("b", { events: ["bulk.failed"] }),
      webhook("c", { team_id: "team_2" }),
    ];
    assert.deepEqual(toldBy(event({ type: "ping", only_webhook_id: "b" }), webhooks), ["b"]);
    assert.deepEqual(toldBy(event({ type: "ping", only_webhook_id: "c" }), webhooks), []);
  });

  it("is that one also when the event's transaction began before it was made", () => {
    const late = webhook("b", { created_at: LATER });
    assert.deepEqual(toldBy(event({ type: "ping", only_webhook_id: "b", created_at: MADE }), [late]), ["b"]);
  });

  it("is a job's own URL besides", () => {
    const deliveries = deliveriesForEvent(event({ extra_url: "https://example.com/" }), [webhook("a")]);
    assert.deepEqual(
      deliveries.map(({ to, lane }) => [to, lane]),
      [
        [{ webhookId: "a" }, "a"],
        [{ url: "https://example.com/" }, "team_1"],
      ],
    );
    // In a lane of its own: a leaked test key must not fill that of live jobs.
    const ofTest = deliveriesForEvent(event({ extra_url: "https://example.com/", livemode: false }), []);
    assert.deepEqual(
      ofTest.map(({ lane }) => lane),
      ["team_1:test"],
    );
  });

  it("reaches no webhook that was created after the event, and none of a team whose tier has no webhooks", () => {
    assert.deepEqual(toldBy(event({ created_at: MADE }), [webhook("late", { created_at: LATER })]), []);
    const told = [webhook("a")];
    assert.deepEqual(toldBy(event({ tier: "free", extra_url: "https://example.com/" }), told), []);
    assert.deepEqual(toldBy(event({ tier: "free", limits: { webhooks: true } }), told), ["a"]);
    assert.deepEqual(toldBy(event({ limits: { webhooks: false } }), told), []);
  });
});
