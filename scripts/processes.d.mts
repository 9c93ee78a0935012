export function startOf(pid: number): string | null;
export function parentOf(pid: number): number | null;
export function commandOf(pid: number): string;
export function markedWith(mark: string): number[];
