// Asks the server whether it takes a key, within a bound, and says why not in words that hold no key.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Owner } from '../credential/credential.ts';
import type { Clock } from '../shared/clock.ts';
import { createMask } from '../shared/mask.ts';
import type { Secret } from '../shared/secret.ts';
import { waitFor } from '../shared/single-flight.ts';

export type KeyTrial =
  | { readonly ok: true; readonly toolCount: number }
  | { readonly ok: false; readonly reason: string };

/** Port: connects with the key and lists the tools. Stops when the signal fires. */
export type TryKey = (server: UpstreamServer, owner: Owner, secret: Secret, signal: AbortSignal) => Promise<KeyTrial>;

const TRY_MS = 30_000;
const MAX_REASON = 200;
/** In a reason ordinary words may be lost. */
const SHORTEST_MASKED = 4;

/** Rejects only with what is no answer about the key. */
export async function tryKeyInTime(
  tryKey: TryKey,
  clock: Clock,
  server: UpstreamServer,
  owner: Owner,
  secret: Secret,
): Promise<KeyTrial> {
  const timeout = new AbortController();
  const cancel = clock.after(TRY_MS, () => timeout.abort(new Error('the key was not tried in time')));
  try {
    const trial = await waitFor(tryKey(server, owner, secret, timeout.signal), timeout.signal);
    return trial.ok ? trial : { ok: false, reason: shortReason(trial.reason, secret) };
  } catch (error) {
    if (timeout.signal.aborted) return { ok: false, reason: 'The server did not answer in time. Try again.' };
    throw error;
  } finally {
    cancel();
  }
}

/** Servers repeat what they refuse, sometimes with the key in it. */
function shortReason(reason: string, secret: Secret): string {
  const clean = createMask([secret], SHORTEST_MASKED)(reason);
  return clean.length > MAX_REASON ? `${clean.slice(0, MAX_REASON)}…` : clean;
}
