import type { ChildProcess } from "node:child_process";
import type { Release } from "./node-choice.mjs";
export function fetchNode(
  release: Release,
  options: { cacheDir: string; say(line: string): void; onChild(child: ChildProcess): void },
): Promise<string>;
