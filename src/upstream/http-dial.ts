// Opens a connection to a Streamable HTTP server of whichever era it speaks.
import type { HttpTransport, UpstreamServer } from '../catalog/upstream-server.ts';
import type { Connection, Dial } from '../connection/connection.ts';
import type { Clock } from '../shared/clock.ts';
import { NotRunError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import type { Implementation } from '../wire/envelope.ts';
import { type EraMemory, probeEra } from './era-probe.ts';
import type { Door } from './http-exchange.ts';
import { initializeHttp } from './http-legacy.ts';
import { ModernHttpConnection } from './http-modern.ts';
import { type HttpTarget, targetOf } from './http-target.ts';

export interface HttpDialDeps {
  /** Each tenant's sockets are its own. */
  readonly doorOf: (tenantId: TenantId) => Door;
  readonly clock: Clock;
  readonly eras: EraMemory;
  readonly client: Implementation;
}

/** A server that swallows the modern probe is asked to initialize after this long. */
const PROBE_MS = 5_000;

export function createHttpDial(deps: HttpDialDeps): Dial {
  return async (server, credential, signal) => {
    const target = targetOf(server.transport as HttpTransport, server.credential, credential);
    const door = deps.doorOf(server.tenantId);
    for (;;) {
      try {
        return await open(deps, door, server, target, signal);
      } catch (error) {
        // A short limit at the start must not leave the server without tools: wait as asked, once the
        // wait fits; `signal` bounds all tries together.
        if (!(error instanceof NotRunError) || error.mayRetryNow || signal.aborted) throw error;
        await deps.clock.sleep(Number(error.data?.['retryAfterMs'] ?? 1_000), signal);
      }
    }
  };
}

async function open(
  { eras, client }: HttpDialDeps,
  door: Door,
  server: UpstreamServer,
  target: HttpTarget,
  signal: AbortSignal,
): Promise<Connection> {
  const key = `${server.tenantId}\u0000${server.id}\u0000${server.revision}`;
  const modern = (discovered: unknown): Connection =>
    new ModernHttpConnection(door, target, client, discovered, () => eras.forget(key));
  const known = eras.find(key);
  if (known?.era === 'modern') return modern(known.discovered);
  if (known === undefined) {
    const probe = await probeWithin(door, target, client, Math.min(PROBE_MS, server.connectTimeoutMs / 2), signal);
    if (probe.era === 'modern') {
      eras.remember(key, probe);
      return modern(probe.discovered);
    }
    if (probe.isCertain) eras.remember(key, { era: 'legacy' });
  }
  try {
    return await initializeHttp(door, target, client, signal);
  } catch (error) {
    eras.forget(key);
    throw error;
  }
}

/** The probe with a limit of its own; when that passes the server counts as legacy for this try. */
async function probeWithin(
  door: Door,
  target: HttpTarget,
  client: Implementation,
  ms: number,
  signal: AbortSignal,
): ReturnType<typeof probeEra> {
  const own = new AbortController();
  const tooLate = new Error('no answer to the probe');
  const cancel = door.clock.after(ms, () => own.abort(tooLate));
  const forward = (): void => own.abort(signal.reason);
  signal.addEventListener('abort', forward, { once: true });
  try {
    return await probeEra(door, target, client, own.signal);
  } catch (error) {
    if (error === tooLate) return { era: 'legacy', isCertain: false };
    throw error;
  } finally {
    cancel();
    signal.removeEventListener('abort', forward);
  }
}
