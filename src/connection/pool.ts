// Connections opened once however many ask, shared by one owner, closed when idle, and never with a
// call in flight. Waiters share the dial, not its fate: each has its own deadline.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import type { LimitsOf } from '../limits/limits-of.ts';
import { Tally } from '../limits/tally.ts';
import type { Cancel, Clock } from '../shared/clock.ts';
import { NotRunError, ProxyError } from '../shared/errors.ts';
import { randomId, type TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import type { Dial } from './connection.ts';
import { connectionKey } from './connection-key.ts';
import { Lease } from './lease.ts';
import { TenantConnections } from './tenant-connections.ts';

export interface PoolDeps {
  readonly dial: Dial;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limitsOf: LimitsOf;
}

const SWEEP_MS = 1_000;
const LONGEST_LINE = 1_000;

export class Pool {
  readonly #deps: PoolDeps;
  readonly #tenants = new Map<TenantId, TenantConnections>();
  readonly #dials = new SingleFlight<Lease>();
  /** By tenant, and by tenant and server: calls that wait for a connection or for a place on one. */
  readonly #waiting = new Tally();
  readonly #dialing = new Map<AbortController, UpstreamServer>();
  readonly #openListeners: ((lease: Lease) => void)[] = [];
  readonly #stopSweep: Cancel;
  #isClosed = false;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
    this.#stopSweep = deps.clock.every(SWEEP_MS, () => this.#sweep());
  }

  /**
   * Takes a place on the connection for this server and credential, opening it when needed. Each
   * acquire needs one release. Errors: those of dialling; `overloaded`; `stopping`; the signal's reason.
   */
  acquire(server: UpstreamServer, credential: Credential, signal: AbortSignal): Lease | Promise<Lease> {
    const tenant = this.#tenants.get(server.tenantId);
    const lease = tenant?.take(connectionKey(server, credential));
    if (lease === undefined) return this.#openAndEnter(server, credential, signal);
    if (lease.inFlight <= server.maxConcurrentCalls) return lease;
    return this.#queue(lease, signal);
  }

  release(lease: Lease): void {
    if (lease.passPlace()) return;
    this.#tenants.get(lease.server.tenantId)?.giveBack(lease);
  }

  /** No new call takes these; each closes when its last call has ended. */
  retire(tenantId: TenantId, matches: (server: UpstreamServer, credential: Credential) => boolean): void {
    this.#tenants.get(tenantId)?.retire(matches);
  }

  /** Dials under way to these end; whoever waits for one is told so. */
  endDials(tenantId: TenantId, matches: (server: UpstreamServer) => boolean): void {
    for (const [controller, server] of this.#dialing) {
      if (server.tenantId === tenantId && matches(server)) controller.abort(changed(server));
    }
  }

  /** This one takes no new call and closes when its last has ended. */
  discard(lease: Lease): void {
    this.#tenants.get(lease.server.tenantId)?.retireOne(lease);
  }

  /** Hears of each connection as it is opened. */
  onOpen(listener: (lease: Lease) => void): void {
    this.#openListeners.push(listener);
  }

  list(tenantId: TenantId): readonly Lease[] {
    return this.#tenants.get(tenantId)?.list() ?? [];
  }

  /** A live connection for this very server and credential, without opening one. */
  find(server: UpstreamServer, credential: Credential): Lease | undefined {
    return this.#tenants.get(server.tenantId)?.find(connectionKey(server, credential));
  }

  get size(): number {
    let size = 0;
    for (const tenant of this.#tenants.values()) size += tenant.size;
    return size;
  }

  /** Ends dials under way and closes everything; waits at most as long as a polite close takes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweep();
    for (const controller of this.#dialing.keys()) controller.abort(stopping());
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.closeAll()));
    this.#tenants.clear();
  }

  async #openAndEnter(server: UpstreamServer, credential: Credential, signal: AbortSignal): Promise<Lease> {
    const key = connectionKey(server, credential);
    await this.#whileCounted(server, () => this.#dials.run(key, () => this.#open(key, server, credential), signal));
    const lease = this.#tenants.get(server.tenantId)?.take(key);
    // It can only be missing when it closed, or made room for another, between opening and now.
    if (lease === undefined) throw new NotRunError('The connection closed as soon as it was opened.');
    return lease.inFlight <= server.maxConcurrentCalls ? lease : this.#queue(lease, signal);
  }

  async #queue(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const tenant = this.#tenants.get(lease.server.tenantId);
    lease.inFlight--;
    await this.#whileCounted(lease.server, () => lease.waitForPlace(signal));
    if (tenant === undefined) throw stopping();
    return lease;
  }

  /** One slow server fills no more than its line, and one tenant's slow servers no more than its share. */
  async #whileCounted<T>({ tenantId, id }: UpstreamServer, wait: () => Promise<T>): Promise<T> {
    const leaveTenant = this.#waiting.enter(tenantId, this.#deps.limitsOf(tenantId).maxWaitingCalls);
    if (leaveTenant === undefined) throw tooManyWait('tenant');
    const leaveLine = this.#waiting.enter(`${tenantId}\u0000${id}`, LONGEST_LINE);
    try {
      if (leaveLine === undefined) throw tooManyWait('server');
      return await wait();
    } finally {
      leaveLine?.();
      leaveTenant();
    }
  }

  async #open(key: string, server: UpstreamServer, credential: Credential): Promise<Lease> {
    if (this.#isClosed) throw stopping();
    const { clock, dial, logger, limitsOf } = this.#deps;
    const tenant = this.#tenant(server.tenantId);
    const { maxConnections, maxChildren } = limitsOf(server.tenantId);
    const opened = tenant.makeRoom(maxConnections, server.transport.kind === 'stdio' ? maxChildren : undefined);
    const controller = new AbortController();
    const late = (): void =>
      controller.abort(
        new ProxyError(
          'upstream_timeout',
          `The server did not answer within ${server.connectTimeoutMs} ms while connecting.`,
        ),
      );
    const cancel = clock.after(server.connectTimeoutMs, late);
    this.#dialing.set(controller, server);
    try {
      const connection = await dial(server, credential, controller.signal);
      if (controller.signal.aborted) {
        await connection.close();
        controller.signal.throwIfAborted();
      }
      const lease = new Lease(randomId(9), key, server, credential, connection, clock.now());
      connection.onClose(() => tenant.drop(lease));
      tenant.add(lease);
      for (const listener of this.#openListeners) listener(lease);
      return lease;
    } catch (error) {
      logger.debug(
        { tenantId: server.tenantId, server: server.name, error: describeError(error) },
        'connection not opened',
      );
      throw error;
    } finally {
      cancel();
      opened();
      this.#dialing.delete(controller);
    }
  }

  #tenant(id: TenantId): TenantConnections {
    let tenant = this.#tenants.get(id);
    if (tenant === undefined) {
      tenant = new TenantConnections(this.#deps.clock, this.#deps.logger);
      this.#tenants.set(id, tenant);
    }
    return tenant;
  }

  /** One timer for all: idle connections are found by their age, not each by a timer of its own. */
  #sweep(): void {
    for (const tenant of this.#tenants.values()) tenant.sweep();
  }
}

const tooManyWait = (whose: 'server' | 'tenant'): ProxyError =>
  new ProxyError('overloaded', `Too many calls wait for this ${whose}; try again shortly.`, {
    data: { retryAfterMs: 1_000 },
  });

const stopping = (): ProxyError =>
  new ProxyError('stopping', 'This node is stopping; try again.', { data: { retryAfterMs: 1_000 } });

const changed = ({ name }: UpstreamServer): ProxyError =>
  new NotRunError(`The registration of ${name} changed while it was being connected to; try again.`, {
    mayRetryNow: false,
  });
