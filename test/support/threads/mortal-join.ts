import type { JoinTask } from "../../../src/features/bulk/results/join-messages.ts";
import join from "../../../workers/join.ts";

/** The thread that puts results together, until it is to write those of the name `die`. */
export default function joinOrDie(task: JoinTask) {
  // In a thread, it ends that alone.
  if (task.key === "die") process.exit(1);
  return join(task);
}
