import type { ListPackage } from "./compile.ts";
import releases from "./releases.json" with { type: "json" };

/** The release of a data package that is used here. */
export interface ListRelease {
  version: string;
  /** The day its names are from, UTC: that of its release, or an earlier one that its data say themselves. */
  asOf: string;
}

/** How old each list is: packages do not say when they were released. Kept by `npm run lists -- --refresh`. */
export const LIST_RELEASES: Readonly<Record<ListPackage, ListRelease>> = releases;
