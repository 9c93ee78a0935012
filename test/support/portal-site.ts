import { after, before } from "node:test";
import { atEndOfProcess } from "../../scripts/test/at-end.ts";
import { createMailSink, type MailSink } from "./mail-sink.ts";
import { createPathProxy } from "./path-proxy.ts";
import { PASSWORD } from "./portal.ts";
import { createDeployment, type TestApi, type TestDeployment } from "./service.ts";
import { type Closer, createClosing } from "./store.ts";
import { until } from "./until.ts";

/** The portal as users reach it: below a path of its host, behind a proxy, with outgoing mail. */
export interface PortalSite {
  /** Without a trailing slash. */
  readonly url: string;
  readonly api: TestApi;
  readonly deployment: TestDeployment;
  readonly sink: MailSink;
  /** An account that owns a new team of the tier, with PASSWORD. */
  owner(
    tier?: Parameters<TestDeployment["team"]>[0],
  ): Promise<{ email: string; session: string; teamId: string }>;
  /** Invites a new user into the session's team with the role. Resolves to the user's session. */
  member(session: string, email: string, role: "member" | "admin" | "owner"): Promise<string>;
  /** The link in the first mail to the address. */
  mailedLink(email: string): Promise<string>;
}

let people = 0;
/** An address without an account. */
export function newPerson(): string {
  people += 1;
  return `visitor${people}@example.com`;
}

/** The token of a mailed link. */
export const tokenOf = (link: string): string =>
  new URLSearchParams(new URL(link).hash.slice(1)).get("token") ?? "";

type SiteParts = Pick<PortalSite, "url" | "api" | "deployment" | "sink">;
interface SiteOptions {
  /** A bulk worker runs jobs. */
  lists?: boolean;
  settings?: () => Record<string, string>;
}

async function startSite(closing: Closer, options: SiteOptions): Promise<SiteParts> {
  const deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const sink = await createMailSink();
  closing.after(() => sink.close());
  const proxy = await createPathProxy("/base");
  closing.after(() => proxy.close());
  const settings = {
    PUBLIC_URL: proxy.url,
    TRUSTED_PROXIES: "127.0.0.1",
    SMTP_OUT_URL: sink.url,
    SMTP_OUT_FROM: "rcpt@sender.example",
    ...options.settings?.(),
  };
  const api = await deployment.startApi(settings);
  await deployment.startRelay(settings);
  if (options.lists === true) await deployment.startBulk(settings);
  proxy.forwardTo(api.url);
  return { url: proxy.url, api, deployment, sink };
}

/** The site of all files of the process that ask for nothing special; null: none has yet. */
let shared: Promise<SiteParts> | null = null;

function sharedSite(): Promise<SiteParts> {
  if (shared === null) {
    const closing = createClosing();
    atEndOfProcess(closing.close);
    shared = startSite(closing, {});
  }
  return shared;
}

/**
 * Starts it before the tests of the calling file. With `options` it is the file's own, and stops at its end; else the files
 * of a process share one: a test makes its own teams and people, and changes nothing of others.
 */
export function usePortalSite(options?: SiteOptions): PortalSite {
  let parts: SiteParts | null = null;
  const started = () => {
    if (parts === null) throw new Error("not started yet");
    return parts;
  };
  const closing = createClosing();
  before(async () => {
    parts = await (options === undefined ? sharedSite() : startSite(closing, options));
  });
  after(closing.close);
  return {
    get url() {
      return started().url;
    },
    get api() {
      return started().api;
    },
    get deployment() {
      return started().deployment;
    },
    get sink() {
      return started().sink;
    },
    async owner(tier = "pro_plus") {
      const { api, deployment } = started();
      const { id: teamId, ownerEmail: email, session } = await deployment.team(tier);
      await api.send("POST", "/v1/auth/password", { key: session, body: { new_password: PASSWORD } });
      return { email, session, teamId };
    },
    async member(session, email, role) {
      const { api } = started();
      await api.send("POST", "/v1/team/invites", { key: session, body: { email, role } });
      const token = tokenOf(await this.mailedLink(email));
      const body = { token, password: PASSWORD };
      const joined = await api.send<{ session: { token: string } }>("POST", "/v1/auth/accept-invite", {
        body,
      });
      return joined.body.session.token;
    },
    async mailedLink(email) {
      const { sink, url } = started();
      const mail = await until("the mail has come", () => sink.to(email)[0] ?? null);
      const link = mail.text.split("\n").find((line) => line.startsWith(url));
      if (link === undefined) throw new Error(`no link in: ${mail.text}`);
      return link;
    },
  };
}
