import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { until } from "./until.ts";

export interface TerminalOptions {
  /** Environment of the process; it inherits none of this one's. */
  env: Record<string, string>;
  cwd?: string;
  columns?: number;
}

/** A process in a pseudo-terminal, seen as a person sees it. */
export interface TerminalSession {
  /** Text of the terminal with its scrollback, without trailing spaces. */
  screen(): string;
  /** Resolves once the terminal shows a match. */
  shows(pattern: RegExp): Promise<void>;
  type(text: string): void;
  /** The exit code, once the process has ended and all of its output is shown. */
  ended: Promise<number>;
  /** All output so far. */
  output(): string;
}

const ROWS = 50;

const running = new Set<IPty>();

/** Ends the processes that a failed test left behind; they would prevent this one from ending. */
export function killTerminals(): void {
  for (const child of running) child.kill("SIGKILL");
}

export function startInTerminal(
  file: string,
  args: readonly string[],
  { env, cwd, columns = 120 }: TerminalOptions,
): TerminalSession {
  const size = { cols: columns, rows: ROWS };
  const screen = new headless.Terminal({ ...size, scrollback: 10_000, allowProposedApi: true });
  const child = spawn(file, [...args], {
    ...size,
    env: { TERM: "xterm-256color", ...env },
    ...(cwd ? { cwd } : {}),
  });
  running.add(child);
  child.onExit(() => running.delete(child));
  let output = "";
  let drawn = Promise.resolve();
  child.onData((data) => {
    output += data;
    drawn = new Promise((resolve) => screen.write(data, resolve));
  });
  // Replies of the terminal to a program's queries.
  screen.onData((answer) => child.write(answer));
  const text = () => {
    const { active } = screen.buffer;
    const lines = Array.from(
      { length: active.length },
      (_, i) => active.getLine(i)?.translateToString(true) ?? "",
    );
    return lines.join("\n").trimEnd();
  };
  return {
    screen: text,
    output: () => output,
    type: (keys) => child.write(keys),
    shows: async (pattern) => void (await until(`the terminal shows ${pattern}`, () => pattern.test(text()))),
    ended: new Promise((resolve) => child.onExit(({ exitCode }) => drawn.then(() => resolve(exitCode)))),
  };
}
