// The connections of one tenant, and which of them have been idle for long. Room is made inside the
// tenant only, and never by ending a connection with a call in flight.
import { LRUCache } from 'lru-cache';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Lease } from './lease.ts';

const runsCommand = ({ server }: Lease): boolean => server.transport.kind === 'stdio';

export class TenantConnections {
  readonly #all = new Map<string, Lease>();
  /**
   * When each is to be looked at next. A call does not touch it, as that would cost more than finding
   * the connection does; one that was used meanwhile is simply looked at later.
   */
  readonly #due: LRUCache<string, Lease>;
  #expired: Lease[] = [];
  #turn = 0;
  /** Retired ones whose last call has not ended yet; a newer one may already stand under the same key. */
  readonly #leaving = new Set<Lease>();
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Being opened: they count, or many at once would go past the limit. */
  #opening = 0;
  #openingCommands = 0;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
    this.#due = new LRUCache<string, Lease>({
      // Not preallocated, unlike `max`: most tenants hold few.
      maxSize: 1_000_000,
      sizeCalculation: () => 1,
      ttl: 1,
      ttlResolution: 0,
      perf: clock,
      dispose: (lease, _key, reason) => {
        if (reason === 'expire') this.#expired.push(lease);
      },
    });
  }

  get size(): number {
    return this.#all.size + this.#leaving.size;
  }

  list(): readonly Lease[] {
    return [...this.#all.values(), ...this.#leaving];
  }

  find(key: string): Lease | undefined {
    const lease = this.#all.get(key);
    return lease === undefined || lease.connection.isClosed ? undefined : lease;
  }

  /** Counts a call in; undefined when there is no live connection under the key. */
  take(key: string): Lease | undefined {
    const lease = this.find(key);
    if (lease === undefined) return undefined;
    lease.inFlight++;
    return lease;
  }

  giveBack(lease: Lease): void {
    lease.inFlight--;
    if (lease.inFlight > 0) return;
    lease.usedAt = this.#clock.now();
    lease.usedTurn = ++this.#turn;
    if (lease.isRetired) this.#close(lease, 'retired');
  }

  add(lease: Lease): void {
    this.#all.set(lease.key, lease);
    lease.usedTurn = ++this.#turn;
    this.#due.set(lease.key, lease, { ttl: lease.server.idleTimeoutMs });
  }

  /** Forgets a connection that closed by itself. */
  drop(lease: Lease): void {
    this.#leaving.delete(lease);
    if (this.#all.get(lease.key) !== lease) return;
    this.#all.delete(lease.key);
    this.#due.delete(lease.key);
  }

  retire(matches: (server: UpstreamServer, credential: Credential) => boolean): void {
    for (const lease of [...this.#all.values()]) if (matches(lease.server, lease.credential)) this.retireOne(lease);
  }

  retireOne(lease: Lease): void {
    if (lease.isRetired || this.#all.get(lease.key) !== lease) return;
    lease.isRetired = true;
    this.#all.delete(lease.key);
    this.#due.delete(lease.key);
    if (lease.inFlight > 0) this.#leaving.add(lease);
    else this.#close(lease, 'retired');
  }

  /**
   * Keeps a place for a connection about to be opened, ending the least recently used idle ones when the
   * tenant holds `max`, or more since that was lowered. Gives the way to say that it is open or will not be.
   * Throws `overloaded` when all are busy.
   * @param maxCommands for a connection to a command: of these so many, and one of them makes room
   */
  makeRoom(max: number, maxCommands?: number): () => void {
    while (this.size + this.#opening >= max) this.#endLongestIdle(() => true, 'connections');
    const isCommand = maxCommands !== undefined;
    while (isCommand && this.#commands() + this.#openingCommands >= maxCommands)
      this.#endLongestIdle(runsCommand, 'commands');
    this.#opening++;
    if (isCommand) this.#openingCommands++;
    return () => {
      this.#opening--;
      if (isCommand) this.#openingCommands--;
    };
  }

  #commands(): number {
    return this.list().filter(runsCommand).length;
  }

  sweep(): void {
    this.#due.purgeStale();
    const expired = this.#expired;
    this.#expired = [];
    for (const lease of expired) {
      if (this.#all.get(lease.key) !== lease) continue;
      const { idleTimeoutMs } = lease.server;
      const leftMs = lease.inFlight > 0 ? idleTimeoutMs : lease.usedAt + idleTimeoutMs - this.#clock.now();
      if (leftMs > 0) this.#due.set(lease.key, lease, { ttl: leftMs });
      else this.#close(lease, 'idle');
    }
  }

  async closeAll(): Promise<void> {
    const leases = this.list();
    this.#all.clear();
    this.#leaving.clear();
    await Promise.all(leases.map((lease) => this.#end(lease)));
  }

  #endLongestIdle(mayEnd: (lease: Lease) => boolean, what: string): void {
    let longest: Lease | undefined;
    for (const lease of this.#all.values()) {
      if (!mayEnd(lease)) continue;
      if (lease.inFlight === 0 && (longest === undefined || lease.usedTurn < longest.usedTurn)) longest = lease;
    }
    if (longest === undefined) {
      throw new ProxyError('overloaded', `This tenant has all its ${what} in use; try again shortly.`, {
        data: { retryAfterMs: 1_000 },
      });
    }
    this.#due.delete(longest.key);
    this.#close(longest, 'makes room');
  }

  #close(lease: Lease, why: string): void {
    if (this.#all.get(lease.key) === lease) this.#all.delete(lease.key);
    this.#leaving.delete(lease);
    this.#logger.debug({ server: lease.server.name, tenantId: lease.server.tenantId, why }, 'connection closed');
    void this.#end(lease);
  }

  async #end(lease: Lease): Promise<void> {
    try {
      await lease.connection.close();
    } catch (error) {
      this.#logger.debug(
        { server: lease.server.name, error: describeError(error) },
        'connection did not close cleanly',
      );
    }
  }
}
