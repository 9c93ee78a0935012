import { after, before } from "node:test";
import { createMailSink, type MailSink } from "./mail-sink.ts";
import { createDeployment, type Response, type TestApi, type TestDeployment } from "./service.ts";
import { createClosing } from "./store.ts";
import { createTcpGate, type TcpGate, throughGate } from "./tcp-gate.ts";
import { afterASecond } from "./until.ts";

/** Body of the answers to signing in, registering and accepting an invitation. */
export interface SignedInBody extends Record<string, unknown> {
  user: { id: string; email: string };
  team: { id: string; name: string; tier: string; role: string };
  session: { token: string; expires_at: string };
}

export type SignedInResponse = Response<SignedInBody>;

/**
 * Two API processes and a relay that send mail, and an API that does not. All take the client's address from the
 * proxy's header.
 */
export interface PortalProcesses {
  readonly deployment: TestDeployment;
  readonly one: TestApi;
  readonly two: TestApi;
  /** Sends no mail, so that a user who registers there is signed in at once. */
  readonly unmailed: TestApi;
  readonly sink: MailSink;
  /** Gate between the processes and Redis. */
  readonly redis: TcpGate;
  /** Stops the relay for the duration of `work`, then starts another. */
  withoutRelay(work: () => Promise<void>): Promise<void>;
}

export const PASSWORD = "correct horse battery";
export const PUBLIC_URL = "https://rcpt.example/base";

/** Resolves when every process must refuse a session that ended before the call. */
export const afterItEnded = afterASecond;

let clients = 0;
/** Headers of a client with an address of its own: the failures of one test do not count against another. */
export function newClient(): Record<string, string> {
  clients += 1;
  return { "X-Forwarded-For": `198.51.${Math.floor(clients / 250)}.${clients % 250}` };
}

let people = 0;
/** An address without an account. */
export function newEmail(): string {
  people += 1;
  return `person${people}@example.com`;
}

/**
 * Starts them before the tests of the calling file and stops them at the end.
 * @param isMailed false: no API sends mail
 */
export function usePortal({ isMailed = true } = {}): PortalProcesses {
  const closing = createClosing();
  let started: PortalProcesses | null = null;
  const parts = (): PortalProcesses => {
    if (started === null) throw new Error("not started yet");
    return started;
  };

  before(async () => {
    const deployment = await createDeployment();
    closing.after(() => deployment.stop());
    const sink = await createMailSink();
    closing.after(() => sink.close());
    const redis = await createTcpGate(deployment.settings.REDIS_URL);
    closing.after(() => redis.close());
    const unmailedSettings = {
      REDIS_URL: throughGate(deployment.settings.REDIS_URL, redis),
      PUBLIC_URL,
      TRUSTED_PROXIES: "127.0.0.1",
    };
    const settings = { ...unmailedSettings, SMTP_OUT_URL: sink.url, SMTP_OUT_FROM: "rcpt@sender.example" };
    const [one, two, unmailed] = await Promise.all([
      deployment.startApi(isMailed ? settings : unmailedSettings),
      deployment.startApi(isMailed ? settings : unmailedSettings),
      deployment.startApi(unmailedSettings),
    ]);
    let relay = await deployment.startRelay(settings);
    async function withoutRelay(work: () => Promise<void>): Promise<void> {
      await relay.stop();
      await work();
      relay = await deployment.startRelay(settings);
    }
    started = { deployment, one, two, unmailed, sink, redis, withoutRelay };
  });
  after(closing.close);

  return {
    get deployment() {
      return parts().deployment;
    },
    get one() {
      return parts().one;
    },
    get two() {
      return parts().two;
    },
    get unmailed() {
      return parts().unmailed;
    },
    get sink() {
      return parts().sink;
    },
    get redis() {
      return parts().redis;
    },
    withoutRelay: (work) => parts().withoutRelay(work),
  };
}

export function register(
  api: TestApi,
  email: string,
  password = PASSWORD,
  headers = newClient(),
): Promise<SignedInResponse> {
  const body = { email, password, team_name: `team of ${email}` };
  return api.send("POST", "/v1/auth/register", { body, headers });
}

export function login(
  api: TestApi,
  credentials: { email: string; password: string; team_id?: string },
  headers = newClient(),
): Promise<SignedInResponse> {
  return api.send("POST", "/v1/auth/login", { body: credentials, headers });
}

export interface Invitation extends Record<string, unknown> {
  id: string;
  email: string;
  role: string;
  token: string;
  link: string;
  mailed: boolean;
}

/** Invitations. By default they are made at the API without mail, which answers the token; they are accepted at any. */
export function invitesOf(portal: PortalProcesses) {
  return {
    invite: (
      key: string,
      body: Record<string, unknown>,
      api = portal.unmailed,
    ): Promise<Response<Invitation>> => api.send("POST", "/v1/team/invites", { key, body }),

    accept(
      body: Record<string, unknown>,
      options: { key?: string; api?: TestApi; headers?: Record<string, string> } = {},
    ): Promise<SignedInResponse> {
      const { key, api = portal.one, headers = newClient() } = options;
      const credential = key === undefined ? {} : { key };
      return api.send("POST", "/v1/auth/accept-invite", { body, headers, ...credential });
    },

    async listed(key: string): Promise<Record<string, unknown>[]> {
      const { body } = await portal.one.send("GET", "/v1/team/invites", { key });
      return body.data as Record<string, unknown>[];
    },
  };
}
