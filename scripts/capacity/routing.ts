import { Cell } from "./cell.ts";
import { askedShare, type Scenario, type SiteClass } from "./scenario.ts";

/** Where a row goes: to lists or the cache, which cost CPU alone, or to a cell. */
export type Route = "listed" | "cached" | { cell: Cell; process: number; kind: number };

/**
 * Deals rows out to kinds, sites, source addresses and processes, evenly: chance is in what servers answer, not in how
 * many rows a site has. Cells come into being when they get their first row.
 */
export class Router {
  readonly #scenario: Scenario;
  readonly #kinds: { share: number; owed: number }[];
  /** Of each class, rows so far. */
  readonly #dealt: number[];
  readonly #cells = new Map<string, Cell>();

  constructor(scenario: Scenario) {
    const { listed, cached, sites } = scenario;
    const asked = askedShare(scenario);
    this.#scenario = scenario;
    this.#kinds = [listed, cached, ...sites.map(({ share }) => asked * share)].map((share) => ({
      share,
      owed: 0,
    }));
    this.#dealt = sites.map(() => 0);
  }

  get cells(): Iterable<Cell> {
    return this.#cells.values();
  }

  next(): Route {
    let chosen = 0;
    let most = Number.NEGATIVE_INFINITY;
    this.#kinds.forEach((kind, at) => {
      kind.owed += kind.share;
      if (kind.share > 0 && kind.owed > most) [chosen, most] = [at, kind.owed];
    });
    const kind = this.#kinds[chosen];
    if (kind) kind.owed -= 1;
    if (chosen < 2) return chosen === 0 ? "listed" : "cached";
    return this.#toSite(chosen - 2);
  }

  #toSite(kind: number): Route {
    const { sites, fleet } = this.#scenario;
    const site = sites[kind] as SiteClass;
    const at = this.#dealt[kind] ?? 0;
    this.#dealt[kind] = at + 1;
    const which = at % site.sites;
    const round = Math.floor(at / site.sites);
    const address = (round + which) % fleet.sourceAddresses;
    const turn = Math.floor(round / fleet.sourceAddresses);
    const { process, connections } = this.#processOf(site, address, turn);
    const key = `${kind} ${which} ${address} ${process}`;
    let cell = this.#cells.get(key);
    if (cell === undefined) {
      cell = new Cell(site, connections);
      this.#cells.set(key, cell);
    }
    return { cell, process, kind };
  }

  /** A process has several addresses, or an address is several processes', which share its connections. */
  #processOf(site: SiteClass, address: number, turn: number): { process: number; connections: number } {
    const { processes, sourceAddresses } = this.#scenario.fleet;
    if (sourceAddresses >= processes) return { process: address % processes, connections: site.connections };
    const members = Math.ceil((processes - address) / sourceAddresses);
    const member = (turn % site.connections) % members;
    const connections = Math.ceil((site.connections - member) / members);
    return { process: address + member * sourceAddresses, connections };
  }
}
