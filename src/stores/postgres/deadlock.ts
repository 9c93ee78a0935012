import postgres from "postgres";

const DEADLOCK_DETECTED = "40P01";

/**
 * Runs a transaction again when the database ended it because of a deadlock: it has left nothing behind. `attempts` in all;
 * the last failure is thrown.
 */
export async function retryDeadlocks<T>(attempts: number, transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      const isDeadlock = error instanceof postgres.PostgresError && error.code === DEADLOCK_DETECTED;
      if (!isDeadlock || attempt >= attempts) throw error;
    }
  }
}
