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
  /** Lanes in use stay by whoever uses them; what nobody uses any more is not kept for the sake of its tenant. */
  readonly #lanes = new Map<TenantId, WeakRef<Lane>>();
  /** Those with a door, also where they were set aside. */
  readonly #withDoor = new Set<Lane>();
  readonly #stopSweep: Cancel;
  #isClosed = false;

  constructor(open: () => Door, clock: Clock) {
    this.#open = open;
    this.#stopSweep = clock.every(SWEEP_MS, () => this.#sweep());
  }

  /** May be kept: it opens the tenant's door again where it was closed meanwhile. */
  of(tenantId: TenantId): Dispatcher {
    const known = this.#lanes.get(tenantId)?.deref();
    if (known !== undefined) return known;
    const lane = new Lane((opening) => this.#opened(opening));
    this.#lanes.set(tenantId, new WeakRef(lane));
    return lane;
  }

  /**
   * The tenant may be another one under the same id: whoever asks for a way out from now on gets another door, and
   * whoever has one already stays with the old, also with what is said last. That is closed when its sockets have gone.
   */
  setAside(tenantId: TenantId): void {
    this.#lanes.delete(tenantId);
  }

  /** Doors that are open, those that were set aside included. */
  get size(): number {
    return this.#withDoor.size;
  }

  /** Ends everything under way. Nothing goes out any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweep();
    await Promise.all([...this.#withDoor].map(async ({ door }) => door?.destroy()));
  }

  #opened(lane: Lane): Door {
    const door = this.#open();
    // Then requests are refused as by any closed door, and no socket is opened that nobody would close.
    if (this.#isClosed) void door.destroy();
    else this.#withDoor.add(lane);
    return door;
  }

  #sweep(): void {
    for (const lane of this.#withDoor) {
      if (lane.door?.isEmpty !== true) continue;
      this.#withDoor.delete(lane);
      lane.shut();
    }
    for (const [tenantId, lane] of this.#lanes) if (lane.deref() === undefined) this.#lanes.delete(tenantId);
  }
}

/** One tenant's way out, with or without a door at the moment. */
class Lane extends Dispatcher {
  readonly #opened: (lane: Lane) => Door;
  #door: Door | undefined;

  constructor(opened: (lane: Lane) => Door) {
    super();
    this.#opened = opened;
  }

  get door(): Door | undefined {
    return this.#door;
  }

  /** Throws EgressDeniedError. */
  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#door ??= this.#opened(this);
    return this.#door.dispatch(request, handler);
  }

  /** The next request opens another. */
  shut(): void {
    void this.#door?.destroy();
    this.#door = undefined;
  }
}
