// src/main.ts, with the patience of a moment.
import { LIMITS } from "../../../src/config/limits/limits.ts";

Object.assign(LIMITS.postgres, { startWaitMs: 1_000, startPollMs: 50 });
await import("../../../src/main.ts");
