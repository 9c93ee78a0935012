import type { Cell, SimulatedSession, Write } from "./cell.ts";
import { EventQueue } from "./event-queue.ts";
import { strangersPerRow, writeS } from "./formula.ts";
import { middlePerS } from "./middle.ts";
import { createRandom } from "./random.ts";
import { Router } from "./routing.ts";
import type { Scenario, SiteClass } from "./scenario.ts";

/** A run that never ends is a fault of the scenario: its caller is told, not kept waiting. */
export const SIMULATION_LIMITS = { events: 30_000_000, rows: 5_000_000 } as const;

export interface SimulateOptions {
  /** Seconds after which what arrives all the while is looked at; of a run that ends by itself, its bound. */
  forS: number;
}

export interface SiteOutcome {
  name: string;
  answered: number;
  /** Of the time of its connections, that in which they were set up, asked or closed. */
  utilisation: number;
  /** Rows that wait for it, in the middle and at the end. */
  waitingMiddle: number;
  waitingEnd: number;
}

export interface Outcome {
  rows: number;
  answered: number;
  /** Until the last row was answered, or until it was looked at. */
  tookS: number;
  rowsPerS: number;
  /** The same from when a fifth of the transactions was through until four fifths were: without beginning and end. */
  middlePerS: number;
  /** Rows that came and have no answer. */
  waitingMiddle: number;
  waitingEnd: number;
  /** Of the busiest process: share of its cores, and most rows under way at once. */
  cpu: number;
  underWayMax: number;
  transactions: number;
  sessions: number;
  putOff: number;
  sites: SiteOutcome[];
  /** What was used most: a class of sites, the processes' cores, or their places. */
  bound: string;
}

const ROWS_PER_PIECE = 250;
const TICK_S = 0.05;
const LEAST_WRITES = 100;

interface Process {
  freeAtS: number;
  busyS: number;
  underWay: number;
  underWayMax: number;
  /** Cells that wait for a place. */
  starved: { cell: Cell; kind: number }[];
}

/** Rows of a scenario from source to answer, event by event: connections, writes, refusals, CPU and places. */
class Simulation {
  readonly #scenario: Scenario;
  readonly #router: Router;
  readonly #random: () => number;
  readonly #events = new EventQueue<() => void>();
  readonly #processes: Process[];
  readonly #answered: number[];
  readonly #usedS: number[];
  readonly #stranger: number[];
  readonly #endS: number;
  #nowS = 0;
  #lastAnswerS = 0;
  #entered = 0;
  #done = 0;
  #transactions = 0;
  /** When each write was answered, and how many transactions were through then. */
  readonly #through: { atMs: number; questions: number }[] = [];
  #sessions = 0;
  #putOff = 0;
  #arrears = 0;

  constructor(scenario: Scenario, { forS }: SimulateOptions) {
    this.#scenario = scenario;
    this.#endS = forS;
    this.#router = new Router(scenario);
    this.#random = createRandom(scenario.seed);
    this.#processes = Array.from({ length: scenario.fleet.processes }, () => ({
      freeAtS: 0,
      busyS: 0,
      underWay: 0,
      underWayMax: 0,
      starved: [],
    }));
    this.#answered = scenario.sites.map(() => 0);
    this.#usedS = scenario.sites.map(() => 0);
    this.#stranger = scenario.sites.map((site) =>
      site.refused < 1 ? Math.min(1, strangersPerRow(site) / (1 - site.refused)) : 0,
    );
  }

  run(): Outcome {
    if (this.#scenario.arrivalPerS === null)
      for (let process = 0; process < this.#processes.length; process++)
        this.#events.add(0, () => this.#feed(process));
    else this.#events.add(0, () => this.#arrive());
    let middle: { all: number; sites: number[] } | null = null;
    for (let handled = 0; ; handled++) {
      const next = this.#events.take();
      if (next === undefined || next.atS > this.#endS) break;
      if (handled > SIMULATION_LIMITS.events)
        throw new Error(`the simulation has more than ${SIMULATION_LIMITS.events} events`);
      this.#nowS = next.atS;
      if (middle === null && next.atS >= this.#endS / 2) middle = this.#waiting();
      next.event();
    }
    return this.#outcome(middle ?? { all: 0, sites: this.#answered.map(() => 0) });
  }

  /** The next rows of a list, as soon as the process has CPU for them. */
  #feed(process: number): void {
    const count = Math.min(ROWS_PER_PIECE, this.#scenario.rows - this.#entered);
    if (count <= 0) return;
    this.#enter(count, process);
    this.#events.add(Math.max(this.#nowS, this.#processes[process]?.freeAtS ?? 0), () => this.#feed(process));
  }

  /** What has come since the last tick, process by process. */
  #arrive(): void {
    const { arrivalPerS, rows } = this.#scenario;
    this.#arrears += (arrivalPerS ?? 0) * TICK_S;
    const count = Math.min(Math.floor(this.#arrears), rows - this.#entered);
    this.#arrears -= count;
    const each = Math.ceil(count / this.#processes.length);
    for (let left = count, process = 0; left > 0; left -= each, process++)
      this.#enter(Math.min(left, each), process);
    if (this.#entered < rows) this.#events.add(this.#nowS + TICK_S, () => this.#arrive());
  }

  /** Rows go their ways; what lists and the cache answer is done when the process has worked it off. */
  #enter(count: number, taker: number): void {
    const { listedUs, cachedUs, putOffUs } = this.#scenario.costs;
    let at = 0;
    let mainUs = 0;
    this.#entered += count;
    const pumped = new Map<Cell, { process: number; kind: number }>();
    for (let row = 0; row < count; row++) {
      const route = this.#router.next();
      if (typeof route === "string") {
        at += 1;
        mainUs += route === "listed" ? listedUs : cachedUs;
        continue;
      }
      const { cell, process, kind } = route;
      if (cell.isLong) {
        this.#putOff += 1;
        this.#work(process, putOffUs);
      }
      cell.fresh += 1;
      pumped.set(cell, { process, kind });
    }
    const doneS = this.#work(taker, mainUs, 1);
    if (at > 0) this.#events.add(doneS, () => this.#finish(at));
    for (const [cell, { process, kind }] of pumped) this.#pump(cell, process, kind);
  }

  #finish(count: number): void {
    this.#done += count;
    this.#lastAnswerS = this.#nowS;
  }

  /** @returns when a process will have done so much work, behind what it has already */
  #work(process: number, us: number, mainShare = this.#scenario.costs.mainShare): number {
    const one = this.#processAt(process);
    const tookS = Math.max(us / this.#scenario.fleet.cores, us * mainShare) / 1e6;
    one.freeAtS = Math.max(this.#nowS, one.freeAtS) + tookS;
    one.busyS += tookS;
    return one.freeAtS;
  }

  #processAt(process: number): Process {
    return this.#processes[process] as Process;
  }

  #pump(cell: Cell, process: number, kind: number): void {
    while (cell.waiting > 0) {
      const session = cell.reuse(this.#nowS);
      if (session !== null) {
        if (!this.#next(cell, session, process, kind)) return;
      } else if (!cell.mayOpen(this.#nowS) || !this.#takePlaces(cell, process, kind, 1)) return;
      else this.#open(cell, process, kind);
    }
  }

  #open(cell: Cell, process: number, kind: number): void {
    const tookS = (cell.site.setUpRoundTrips * cell.site.roundTripMs) / 1_000;
    cell.open += 1;
    cell.opening += 1;
    this.#sessions += 1;
    this.#usedS[kind] = (this.#usedS[kind] ?? 0) + tookS;
    const readyS = Math.max(this.#nowS + tookS, this.#work(process, this.#scenario.costs.sessionUs));
    this.#events.add(readyS, () => {
      cell.opening -= 1;
      // Its place is first its own row's: what others open meanwhile would only be closed again unused.
      this.#processAt(process).underWay -= 1;
      this.#next(cell, { served: 0, refused: 0 }, process, kind);
      this.#givePlaces(process, 0);
    });
  }

  /** What a session does now. @returns false when it rests, since nothing may go out */
  #next(cell: Cell, session: SimulatedSession, process: number, kind: number): boolean {
    if (cell.isOver(session)) {
      this.#quit(cell, process, kind);
      return true;
    }
    const free = this.#scenario.fleet.rowsAtOnce - (this.#processes[process]?.underWay ?? 0);
    const write = cell.take(session, free, this.#nowS);
    if (write === null) {
      cell.rest(session, this.#nowS);
      if (cell.waiting > 0) this.#wakeLater(cell, process, kind, free);
      return false;
    }
    this.#ask(cell, session, write, process, kind);
    return true;
  }

  #wakeLater(cell: Cell, process: number, kind: number, free: number): void {
    if (free <= 0) {
      this.#takePlaces(cell, process, kind, 1);
      return;
    }
    const waitS = cell.waitS(this.#nowS);
    if (cell.isWaiting || waitS === 0) return;
    cell.isWaiting = true;
    this.#events.add(this.#nowS + waitS, () => {
      cell.isWaiting = false;
      this.#pump(cell, process, kind);
    });
  }

  #quit(cell: Cell, process: number, kind: number): void {
    const tookS = cell.site.roundTripMs / 1_000;
    this.#usedS[kind] = (this.#usedS[kind] ?? 0) + tookS;
    this.#events.add(this.#nowS + tookS, () => {
      cell.open -= 1;
      this.#pump(cell, process, kind);
    });
  }

  #ask(cell: Cell, session: SimulatedSession, write: Write, process: number, kind: number): void {
    const count = write.strangers + write.returning + write.fresh;
    const tookS = writeS(cell.site, count);
    this.#takePlaces(cell, process, kind, count);
    this.#usedS[kind] = (this.#usedS[kind] ?? 0) + tookS;
    const { writeUs, askedUs } = this.#scenario.costs;
    this.#events.add(this.#nowS + tookS, () => {
      const answers = this.#answer(cell, session, write, process, kind);
      session.served += count;
      this.#transactions += count;
      this.#through.push({ atMs: this.#nowS * 1_000, questions: this.#transactions });
      cell.worked(count);
      const doneS = this.#work(process, writeUs + answers * askedUs);
      this.#events.add(doneS, () => {
        this.#answered[kind] = (this.#answered[kind] ?? 0) + answers;
        if (answers > 0) this.#finish(answers);
        this.#givePlaces(process, count);
        if (this.#next(cell, session, process, kind)) this.#pump(cell, process, kind);
      });
    });
  }

  /** What the server says. @returns how many rows are answered by it */
  #answer(cell: Cell, session: SimulatedSession, write: Write, process: number, kind: number): number {
    const { site } = cell;
    for (let i = 0; i < write.strangers; i++) if (this.#random() >= site.catchAll) session.refused += 1;
    let answers = write.returning;
    for (let i = 0; i < write.returning; i++) this.#judge(cell, session, kind);
    for (let i = 0; i < write.fresh; i++) {
      if (this.#random() < site.greylisted) {
        session.refused += 1;
        this.#events.add(this.#nowS + site.greylistMs / 1_000, () => {
          cell.returning += 1;
          this.#pump(cell, process, kind);
        });
      } else {
        answers += 1;
        this.#judge(cell, session, kind);
      }
    }
    return answers;
  }

  #judge(cell: Cell, session: SimulatedSession, kind: number): void {
    if (this.#random() < cell.site.refused) session.refused += 1;
    else if (this.#random() < (this.#stranger[kind] ?? 0)) cell.strangers += 1;
  }

  /** @returns false: there is none; the cell is called when there is */
  #takePlaces(cell: Cell, process: number, kind: number, count: number): boolean {
    const one = this.#processAt(process);
    if (one.underWay + count > this.#scenario.fleet.rowsAtOnce) {
      if (!cell.isWaiting) one.starved.push({ cell, kind });
      cell.isWaiting = true;
      return false;
    }
    one.underWay += count;
    one.underWayMax = Math.max(one.underWayMax, one.underWay);
    return true;
  }

  #givePlaces(process: number, count: number): void {
    const one = this.#processAt(process);
    one.underWay -= count;
    // Each once: who is called and finds too few stands in line again.
    for (let left = one.starved.length; left > 0 && one.underWay < this.#scenario.fleet.rowsAtOnce; left--) {
      const next = one.starved.shift();
      if (next === undefined) return;
      next.cell.isWaiting = false;
      this.#pump(next.cell, process, next.kind);
    }
  }

  #waiting(): { all: number; sites: number[] } {
    const waiting = new Map<SiteClass, number>();
    for (const { site, fresh, returning } of this.#router.cells)
      waiting.set(site, (waiting.get(site) ?? 0) + fresh + returning);
    const sites = this.#scenario.sites.map((site) => waiting.get(site) ?? 0);
    return { all: this.#entered - this.#done, sites };
  }

  #outcome(middle: { all: number; sites: number[] }): Outcome {
    const { arrivalPerS, rows, sites, fleet } = this.#scenario;
    const end = this.#waiting();
    const tookS = arrivalPerS === null ? this.#lastAnswerS : this.#endS;
    const outcomes = sites.map((site, kind): SiteOutcome => {
      const connections = site.connections * site.sites * fleet.sourceAddresses;
      return {
        name: site.name,
        answered: this.#answered[kind] ?? 0,
        utilisation: this.#utilisation(site, (this.#usedS[kind] ?? 0) / (connections * tookS), tookS, kind),
        waitingMiddle: middle.sites[kind] ?? 0,
        waitingEnd: end.sites[kind] ?? 0,
      };
    });
    const cpu = Math.max(...this.#processes.map(({ busyS }) => busyS)) / tookS;
    const underWayMax = Math.max(...this.#processes.map((one) => one.underWayMax));
    const uses: [string, number][] = [
      ["CPU of the processes", cpu],
      ["rows at once", this.#processes.some(({ starved }) => starved.length > 0) ? 1 : 0],
      ...outcomes.map(({ name, utilisation }): [string, number] => [name, utilisation]),
    ];
    const [bound] = uses.reduce((most, one) => (one[1] > most[1] ? one : most));
    return {
      rows: Math.min(rows, this.#entered),
      answered: this.#done,
      tookS,
      rowsPerS: this.#done / tookS,
      middlePerS: this.#middlePerS(this.#done / tookS),
      waitingMiddle: middle.all,
      waitingEnd: end.all,
      cpu,
      underWayMax,
      transactions: this.#transactions,
      sessions: this.#sessions,
      putOff: this.#putOff,
      sites: outcomes,
      bound,
    };
  }

  /** @param otherwise where too little is asked to tell */
  #middlePerS(otherwise: number): number {
    if (this.#through.length < LEAST_WRITES) return otherwise;
    return (middlePerS(this.#through) * this.#done) / this.#transactions;
  }

  /** Of what binds the class: its connections, or what it bears in an hour. */
  #utilisation(site: SiteClass, ofConnections: number, tookS: number, kind: number): number {
    if (site.perHour === 0) return ofConnections;
    const { transactionsPerRow } = { transactionsPerRow: 1 + site.greylisted + strangersPerRow(site) };
    const borne = (site.perHour / 3_600) * site.sites * this.#scenario.fleet.sourceAddresses * tookS;
    return Math.max(ofConnections, ((this.#answered[kind] ?? 0) * transactionsPerRow) / borne);
  }
}

/** @throws Error when it would take more than SIMULATION_LIMITS allow */
export function simulate(scenario: Scenario, options: SimulateOptions): Outcome {
  if (scenario.rows > SIMULATION_LIMITS.rows)
    throw new Error(
      `${scenario.rows} rows are more than ${SIMULATION_LIMITS.rows}, which are simulated one by one`,
    );
  return new Simulation(scenario, options).run();
}
