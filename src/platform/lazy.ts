/** The result of `make`, created at the first call. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
