// Whether a command may be started now: so many of one tenant, counted until all that came of them is
// gone; so many of them starting at a time; and none that failed just now.
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { StartBackoff } from './stdio-backoff.ts';
import { Places } from './stdio-places.ts';

/** Starting takes far more of a machine than running. */
const STARTING_AT_ONCE = 8;
/** As long as one takes to end that made room; after that nobody is on the way out. */
const ROOM_MS = 4_000;

export interface StartPlace {
  /** It is ready, or will never be; another may start. */
  started(): void;
  /** It did not become ready, or ended by itself too soon to be of use. `why` is a sentence that may be shown. */
  failed(why: string): void;
  worked(): void;
  /** Nothing of it is left. */
  leave(): void;
}

interface Tenant {
  readonly running: Places;
  readonly starting: Places;
}

export class Starts {
  readonly #clock: Clock;
  readonly #maxOf: (tenantId: TenantId) => number;
  readonly #tenants = new Map<TenantId, Tenant>();
  readonly #backoff: StartBackoff;

  constructor(clock: Clock, maxOf: (tenantId: TenantId) => number) {
    this.#clock = clock;
    this.#maxOf = maxOf;
    this.#backoff = new StartBackoff(clock);
  }

  /**
   * @param key one command for one owner
   * Errors: `overloaded`; NotRunError while it has to wait after failures; the signal's reason.
   */
  async admit(tenantId: TenantId, key: string, signal: AbortSignal): Promise<StartPlace> {
    this.#backoff.check(key);
    const tenant = this.#tenant(tenantId);
    await this.#room(tenant, signal);
    try {
      await tenant.starting.enter(signal);
    } catch (error) {
      this.#leave(tenantId, tenant);
      throw error;
    }
    return {
      started: once(() => tenant.starting.leave()),
      failed: (why) => this.#backoff.failed(key, why),
      worked: () => this.#backoff.worked(key),
      leave: once(() => this.#leave(tenantId, tenant)),
    };
  }

  async #room({ running }: Tenant, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const cancel = this.#clock.after(ROOM_MS, () => late.abort(full()));
    try {
      await running.enter(AbortSignal.any([signal, late.signal]));
    } finally {
      cancel();
    }
  }

  #leave(tenantId: TenantId, tenant: Tenant): void {
    tenant.running.leave();
    if (tenant.running.isEmpty && this.#tenants.get(tenantId) === tenant) this.#tenants.delete(tenantId);
  }

  #tenant(id: TenantId): Tenant {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    const tenant = { running: new Places(() => this.#maxOf(id)), starting: new Places(() => STARTING_AT_ONCE) };
    this.#tenants.set(id, tenant);
    return tenant;
  }
}

function once(job: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    job();
  };
}

const full = (): ProxyError =>
  new ProxyError('overloaded', 'This tenant runs as many commands as it may; try again shortly.', {
    data: { retryAfterMs: 1_000 },
  });
