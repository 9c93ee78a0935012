export function takeLockFile(file: string, holder: object): boolean;
export function readLockFile<T>(file: string): { text: string; holder: T | null } | null;
export function removeStaleLock(file: string, text: string): void;
export function withLockFile<T>(
  file: string,
  onWait: (pid: number) => void,
  work: () => Promise<T>,
): Promise<T>;
