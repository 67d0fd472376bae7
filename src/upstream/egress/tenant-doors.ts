// A door for each tenant: one whose calls hang at a server that others use as well takes no socket from them, and
// no socket carries the keys of two tenants. A door is open for as long as it has sockets, and opens again by itself.
import { Dispatcher } from 'undici';
import type { Cancel, Clock } from '../../shared/clock.ts';
import type { TenantId } from '../../shared/id.ts';
import type { Door } from './dispatcher.ts';

/** Doors whose last socket has gone are closed this often; until then an empty one costs some memory and nothing else. */
const SWEEP_MS = 60_000;

export class TenantDoors {
  readonly #open: () => Door;
  readonly #doors = new Map<TenantId, Door>();
  readonly #stopSweep: Cancel;
  #isClosed = false;

  constructor(open: () => Door, clock: Clock) {
    this.#open = open;
    this.#stopSweep = clock.every(SWEEP_MS, () => this.#sweep());
  }

  /** May be kept: it goes through whichever door the tenant has at that moment, and opens one where there is none. */
  of(tenantId: TenantId): Dispatcher {
    return new WayOut(() => this.#doors.get(tenantId) ?? this.#opened(tenantId));
  }

  /** Tenants whose door is open. */
  get size(): number {
    return this.#doors.size;
  }

  /** Ends everything under way. Nothing goes out any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweep();
    await Promise.all([...this.#doors.values()].map((door) => door.destroy()));
  }

  #opened(tenantId: TenantId): Door {
    const door = this.#open();
    // Then requests are refused as by any closed door, and no socket is opened that nobody would close.
    if (this.#isClosed) void door.destroy();
    else this.#doors.set(tenantId, door);
    return door;
  }

  #sweep(): void {
    for (const [tenantId, door] of this.#doors) {
      if (!door.isEmpty) continue;
      this.#doors.delete(tenantId);
      void door.destroy();
    }
  }
}

class WayOut extends Dispatcher {
  readonly #door: () => Door;

  constructor(door: () => Door) {
    super();
    this.#door = door;
  }

  /** Throws EgressDeniedError. */
  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#door().dispatch(request, handler);
  }
}
