export interface System {
  version: string;
  abi: string;
  platform: string;
  arch: string;
  glibc: string | null;
}
export interface Release {
  version: string;
  glibc: string;
  integrity: Record<"x64" | "arm64", string>;
}
export type Choice =
  | { use: "this" }
  | { use: "release"; release: Release; why: string }
  | { use: "none"; why: string; remedy: string };
export const SERVER_BINARIES: ReadonlyMap<string, { node: number; glibc: string }>;
export const RELEASES: readonly Release[];
export function thisSystem(): System;
export function chooseNode(system: System): Choice;
