const nameOf = (id: string) => `rcpt upload ${id}`;
/** Absent where a page is not served by TLS. */
const locks = () => (navigator as { locks?: LockManager }).locks;

/** Sends while other tabs of the browser can see that this one does. */
export async function whileSeen(id: string, send: () => Promise<void>): Promise<void> {
  const known = locks();
  await (known === undefined ? send() : known.request(nameOf(id), { ifAvailable: true }, send));
}

/** Whether a tab of this browser is sending the upload now. */
export async function isBeingSent(id: string): Promise<boolean> {
  const { held = [] } = (await locks()?.query()) ?? {};
  return held.some(({ name }) => name === nameOf(id));
}
