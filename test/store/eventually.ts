// Waits for something real (a socket, another process) to happen, with a bound; no promise is given how often it looks.
import { setTimeout as pause } from 'node:timers/promises';

export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 5_000,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`${what} did not happen within ${withinMs} ms`);
    await pause(10);
  }
}
