// Who hears of list changes: open GET streams of legacy sessions and listen streams of modern agents,
// by tenant. A change in one principal's own list is told to that principal alone.
import type { ServerResponse } from 'node:http';
import type { Registry, TenantServers } from '../catalog/registry.ts';
import type { Caller } from '../identity/caller.ts';
import type { LimitsOf } from '../limits/limits-of.ts';
import { Tally } from '../limits/tally.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { Cancel, Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import { STREAM_HEADERS } from './answer-headers.ts';

export interface Listener {
  readonly caller: Caller;
  readonly response: ServerResponse;
  /** The event to write when a list changed, as text of one event. */
  readonly toolsChanged: string;
  /** Written before the stream ends by our doing. */
  readonly goodbye: string;
  /** Whether its sender is still known: keys are removed and tokens expire while a stream is open. */
  readonly mayStay: () => Promise<boolean>;
}

export interface OpenStream {
  /** One event, as text. */
  say(event: string): void;
  /** Ends it from our side. */
  end(): void;
}

export interface ListenersDeps {
  readonly registry: Pick<Registry, 'onChange'>;
  readonly changes: ChangeFeed;
  readonly ownerKeyOf: (principalId: PrincipalId) => string;
  readonly limitsOf: LimitsOf;
  readonly clock: Clock;
  /** Told when the first listener of a tenant comes and when the last has gone. */
  readonly onInterest: (tenantId: TenantId, isListening: boolean) => void;
}

const KEEP_ALIVE_MS = 25_000;
/** An agent that reads so slowly that this much waits for it is let go; it may listen again. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Of one caller, within what the tenant may have. */
const PER_CALLER = 1_000;
/** A stream stays long, so a place is not free again in a moment. */
const TRY_AGAIN_MS = 30_000;

export class Listeners {
  readonly #deps: ListenersDeps;
  readonly #byTenant = new Map<TenantId, Set<Listener>>();
  readonly #ofCaller = new Tally();
  readonly #stop: (() => void)[];

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
    const stopTimer: Cancel = deps.clock.every(KEEP_ALIVE_MS, () => {
      this.#all((listener) => write(listener, ': keep-alive\n\n'));
      this.#all(endUnlessWelcome);
    });
    const stopHearing = deps.changes.subscribe((change) => {
      if (change.kind !== 'agent_keys' && change.kind !== 'issuers' && change.kind !== 'tenants') return;
      for (const listener of this.#byTenant.get(change.tenantId) ?? []) endUnlessWelcome(listener);
    });
    this.#stop = [
      stopTimer,
      stopHearing,
      deps.registry.onChange((tenantId, now, before) => this.#changed(tenantId, now, before)),
    ];
  }

  get size(): number {
    let size = 0;
    for (const listeners of this.#byTenant.values()) size += listeners.size;
    return size;
  }

  /** Opens the stream. Throws `rate_limited` when the caller or its tenant has too many. */
  add(listener: Listener, greeting: string): OpenStream {
    const { tenantId, key } = listener.caller;
    const { maxStreams } = this.#deps.limitsOf(tenantId);
    if ((this.#byTenant.get(tenantId)?.size ?? 0) >= maxStreams) throw tooMany('tenant');
    const leave = this.#ofCaller.enter(key, PER_CALLER);
    if (leave === undefined) throw tooMany('person');
    listener.response.writeHead(200, [...STREAM_HEADERS]);
    listener.response.write(greeting);
    const mine = this.#byTenant.get(tenantId) ?? new Set();
    this.#byTenant.set(tenantId, mine.add(listener));
    if (mine.size === 1) this.#deps.onInterest(tenantId, true);
    const remove = (): void => {
      leave();
      if (!mine.delete(listener) || mine.size > 0) return;
      this.#byTenant.delete(tenantId);
      this.#deps.onInterest(tenantId, false);
    };
    listener.response.on('close', remove);
    return {
      say: (event) => write(listener, event),
      end() {
        remove();
        end(listener);
      },
    };
  }

  isListening(tenantId: TenantId): boolean {
    return this.#byTenant.has(tenantId);
  }

  /** Ends every stream by the protocol. */
  close(): void {
    for (const stop of this.#stop) stop();
    this.#all(end);
  }

  #all(job: (listener: Listener) => void): void {
    for (const listeners of this.#byTenant.values()) for (const listener of listeners) job(listener);
  }

  #changed(tenantId: TenantId, now: TenantServers, before: TenantServers | undefined): void {
    const listeners = this.#byTenant.get(tenantId);
    if (listeners === undefined || before === undefined) return;
    const owners = changedOwners(now, before);
    for (const listener of listeners) {
      if (owners.has('') || owners.has(this.#deps.ownerKeyOf(listener.caller.principalId)))
        write(listener, listener.toolsChanged);
    }
  }
}

const tooMany = (whose: 'tenant' | 'person'): ProxyError =>
  new ProxyError('rate_limited', `This ${whose} listens on too many streams; close some, or try again later.`, {
    data: { retryAfterMs: TRY_AGAIN_MS },
  });

function endUnlessWelcome(listener: Listener): void {
  void listener.mayStay().then((isWelcome) => {
    if (!isWelcome) end(listener);
  });
}

// A stream that was ended stays until its agent has read to the end. Writing to it in the meantime, or
// ending it again, would be an error that nobody catches.
function end({ response, goodbye }: Listener): void {
  if (!response.writableEnded) response.end(goodbye);
}

function write({ response }: Listener, text: string): void {
  if (response.writableEnded) return;
  if (response.writableLength > MAX_WAITING_BYTES) response.destroy();
  else response.write(text);
}

/** Owners whose view differs; '' stands for everybody of the tenant. */
function changedOwners(now: TenantServers, before: TenantServers): ReadonlySet<string> {
  const owners = new Set<string>();
  for (const name of new Set([...now.byName.keys(), ...before.byName.keys()])) {
    const a = now.byName.get(name);
    const b = before.byName.get(name);
    if (a === undefined || b === undefined || a.server.revision !== b.server.revision || a.server.id !== b.server.id) {
      owners.add('');
      continue;
    }
    for (const owner of new Set([...a.lists.keys(), ...b.lists.keys()])) {
      if (a.lists.get(owner)?.toolsJson !== b.lists.get(owner)?.toolsJson) owners.add(owner);
    }
  }
  return owners;
}
