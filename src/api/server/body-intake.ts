import { shareKey } from "../../features/identity/actor.ts";
import type { ClientLimiter } from "../../features/rate-limit/clients.ts";
import { clientNetwork, clientSite } from "../../platform/client-network.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { RequestBody } from "../body/body.ts";
import {
  type BodyAccount,
  type BodyBudget,
  type BudgetLimits,
  createBodyBudget,
} from "../body/body-budget.ts";
import { type BodyPace, createBodyPace, type PaceLimits } from "../body/body-pace.ts";
import { decodedBody } from "../body/content-coding.ts";
import { createDropPace, type DropLimits, type DropPace } from "../body/drop-pace.ts";
import { type IncomingBody, type PausableSource, receiveBody } from "../body/incoming-body.ts";
import { isJson } from "../body/json-body.ts";
import { createJsonScan } from "../body/json-scan.ts";
import type { HttpRequest } from "../request/request.ts";
import { jsonBounds, type Route } from "../routing/route.ts";

export interface BodyIntakeLimits {
  /** The limit for routes without their own. */
  bodyBytes: number;
  bodies: Record<"teams" | "unauthenticated" | "signed" | "unread", BudgetLimits> & {
    pace: PaceLimits;
    drops: DropLimits;
  };
}

export interface BodyIntakeDeps {
  clock: Clock;
  clients: ClientLimiter;
  limits: BodyIntakeLimits;
}

function bodyInspector(route: Route) {
  const scan = createJsonScan(jsonBounds(route));
  return { inspect: (piece: Uint8Array) => scan.add(piece) };
}

/** Receives request bodies within the budgets of memory per account, and at a minimum pace. */
export class BodyIntake {
  readonly #deps: BodyIntakeDeps;
  readonly #teams: BodyBudget;
  readonly #unauthenticated: BodyBudget;
  readonly #signed: BodyBudget;
  readonly #unread: BodyBudget;
  readonly #pace: BodyPace;
  readonly #drops: DropPace;

  constructor(deps: BodyIntakeDeps) {
    const { teams, unauthenticated, signed, unread, pace, drops } = deps.limits.bodies;
    this.#deps = deps;
    this.#teams = createBodyBudget(teams);
    this.#unauthenticated = createBodyBudget(unauthenticated);
    this.#signed = createBodyBudget(signed);
    this.#unread = createBodyBudget(unread);
    this.#pace = createBodyPace(deps.clock, pace);
    this.#drops = createDropPace(deps.clock, drops);
  }

  /** Reads the client's address too, which is asked for when the body is. */
  receive(request: HttpRequest, connection: PausableSource): IncomingBody {
    const client = clientNetwork(request.clientAddress);
    return receiveBody(connection, request.declaredBytes, {
      unread: this.#unread.accountOf(client, clientSite(request.clientAddress)),
      pace: this.#pace,
      drops: this.#drops,
      client,
    });
  }

  /** The body as its route reads it: JSON decoded, within the route's bound. */
  collect(request: HttpRequest, incoming: IncomingBody, route: Route): RequestBody {
    const options = {
      limitBytes: route.bodyBytes ?? this.#deps.limits.bodyBytes,
      account: () => this.#accountOf(request, route),
      // JSON routes refuse other types as such. A signed body is counted when its sender is known.
      ...(route.body !== undefined && isJson(request.headers["content-type"]) ? bodyInspector(route) : {}),
    };
    // A signature is over the bytes as they came, and a file is kept so.
    const coding = route.body !== undefined ? request.headers["content-encoding"] : undefined;
    return decodedBody(incoming, coding, options);
  }

  /**
   * The account to charge for a body. A public route charges the client's address, even if a credential was sent.
   * @throws AppError `rate_limited` when too many bodies from that address were refused
   */
  #accountOf({ actor, clientAddress }: HttpRequest, route: Route): BodyAccount {
    if (route.access !== "public" && actor !== null) return this.#teams.accountOf(shareKey(actor));
    const { clients, clock } = this.#deps;
    const refusal = clients.refusal(clientAddress, clock.monotonic());
    if (refusal !== null) throw refusal;
    const budget = route.signedBody === undefined ? this.#unauthenticated : this.#signed;
    return budget.accountOf(clientNetwork(clientAddress), clientSite(clientAddress));
  }
}
