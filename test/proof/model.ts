// What has to hold: who holds which key at the proxy and where, and therefore how a call may end.
import type { Outcome } from './asking.ts';

export const TENANTS = ['alpha', 'beta', 'gamma'] as const;
/** The same names in each tenant, which are different people. */
export const PEOPLE = ['ann', 'bob', 'cyd'] as const;
/**
 * As registered over HTTP; `twin` is the legacy upstream registered once more, for which people have keys of
 * their own, and `old` speaks the transport of 2024-11-05.
 */
export const SERVERS = ['legacy', 'modern', 'twin', 'old'] as const;
/** A command of the operator's, which one tenant has. */
export const COMMAND = 'cmd';
export const COMMAND_TENANT = 'alpha';
/** Of these everybody's list is their own; of the others the first one's is everybody's. */
export const PRINCIPAL_CATALOGS: readonly string[] = ['modern', 'old'];
export type TenantName = (typeof TENANTS)[number];
export type HttpName = (typeof SERVERS)[number];
export type ServerName = HttpName | typeof COMMAND;

/** As upstreams call people: `alpha/ann`. */
export type Label = `${TenantName}/${(typeof PEOPLE)[number]}`;
export const LABELS: readonly Label[] = TENANTS.flatMap((tenant) => PEOPLE.map((name) => `${tenant}/${name}` as const));

export const tenantOf = (label: Label): TenantName => label.slice(0, label.indexOf('/')) as TenantName;
export const nameOf = (label: Label): string => label.slice(label.indexOf('/') + 1);

/** A change is known at once where it was made, and on every other node within a second. */
const SPREAD_MS = 1_000;

/** A value that changes, and what it was a moment ago. */
class Changing<T> {
  #now: T;
  /** Each with the node where it was replaced. */
  readonly #past: { readonly value: T; readonly until: number; readonly node: number }[] = [];

  constructor(value: T) {
    this.#now = value;
  }

  get now(): T {
    return this.#now;
  }

  /** Call it when the change has been answered. */
  change(value: T, node: number): void {
    this.#past.push({ value: this.#now, until: performance.now(), node });
    this.#now = value;
  }

  /** What held at some moment of a call that began at `since`. */
  during(since: number): readonly T[] {
    return [this.#now, ...this.#past.filter(({ until }) => until > since).map(({ value }) => value)];
  }

  /** That, and what a node may not have heard the end of. */
  possible(node: number, since: number): readonly T[] {
    const isPossible = (past: { readonly until: number; readonly node: number }): boolean =>
      past.until + (past.node === node ? 0 : SPREAD_MS) > since;
    return [this.#now, ...this.#past.filter(isPossible).map(({ value }) => value)];
  }
}

/** Everything about one key that was ever given to anyone. */
export interface Given {
  /** Several people may hold one and the same key. */
  readonly labels: readonly Label[];
  readonly server: ServerName;
}

export class Model {
  /** key → whose it is; nothing is ever taken out. */
  readonly ledger = new Map<string, Given>();
  readonly #held = new Map<string, Changing<string | undefined>>();
  readonly #enabled = new Map<string, Changing<boolean>>();
  readonly #definitions = new Map<string, Changing<object>>();
  /** Session at an upstream → whose it is, and for which server. */
  readonly sessions = new Map<string, string>();
  /** Keys that the upstream takes now. */
  readonly accepted = new Set<string>();
  #keys = 0;

  constructor() {
    for (const server of [...SERVERS, COMMAND] as const) {
      for (const label of LABELS) this.#held.set(`${label}@${server}`, new Changing<string | undefined>(undefined));
      for (const tenant of TENANTS) {
        const isThere = server !== COMMAND || tenant === COMMAND_TENANT;
        this.#enabled.set(`${tenant}@${server}`, new Changing(isThere));
        this.#definitions.set(`${tenant}@${server}`, new Changing({}));
      }
    }
  }

  newKey(labels: readonly Label[], server: ServerName): string {
    const key = `canary-${server}-${labels.join('+').replaceAll('/', '-')}-${++this.#keys}`;
    this.ledger.set(key, { labels, server });
    this.accepted.add(key);
    return key;
  }

  /** Whose tools this person may have been shown by `server`: of those with whom somebody shared a key there. */
  mayKnowOf(label: Label, server: ServerName): ReadonlySet<Label> {
    const isOwn = (one: Label): boolean =>
      PRINCIPAL_CATALOGS.includes(server) ? one === label : tenantOf(one) === tenantOf(label);
    const given = [...this.ledger.values()].filter((one) => one.server === server && one.labels.some(isOwn));
    return new Set(given.flatMap(({ labels }) => labels));
  }

  /** Nothing of the tenant is left, and all is as if it had never been. */
  emptied(tenant: TenantName, node: number): void {
    for (const label of LABELS.filter((one) => tenantOf(one) === tenant))
      for (const server of [...SERVERS, COMMAND] as const) this.held(label, server).change(undefined, node);
    for (const server of SERVERS) {
      this.edited(tenant, server, node);
      this.enabled(tenant, server).change(false, node);
      this.enabled(tenant, server).change(true, node);
    }
  }

  held(label: Label, server: ServerName): Changing<string | undefined> {
    return getOf(this.#held, `${label}@${server}`);
  }

  enabled(tenant: TenantName, server: ServerName): Changing<boolean> {
    return getOf(this.#enabled, `${tenant}@${server}`);
  }

  /** What is registered differs from before, in whatever way. */
  edited(tenant: TenantName, server: ServerName, node: number): void {
    getOf(this.#definitions, `${tenant}@${server}`).change({}, node);
  }

  /** The ways in which a call may end that begins at `since`. */
  allowed(label: Label, server: ServerName, node: number, since: number): ReadonlySet<Outcome['kind']> {
    const kinds = new Set<Outcome['kind']>();
    const isOn = this.enabled(tenantOf(label), server).possible(node, since);
    if (isOn.includes(false)) kinds.add('not_found');
    if (!isOn.includes(true)) return kinds;
    // Connecting by an old registration ends when the node hears of a new one.
    if (getOf(this.#definitions, `${tenantOf(label)}@${server}`).possible(node, since).length > 1)
      kinds.add('unavailable').add('not_found');
    const held = this.held(label, server);
    const isGood = (key: string | undefined): boolean => key !== undefined && this.accepted.has(key);
    if (held.possible(node, since).some(isGood)) kinds.add('named');
    // A node that has no key, or a refused one, looks for a newer one before it asks anybody to sign in.
    // Until somebody's good key has shown them, a server has no tools.
    if (!held.during(since).every(isGood)) kinds.add('sign_in_required').add('rate_limited').add('not_found');
    return kinds;
  }
}

function getOf<V>(map: ReadonlyMap<string, V>, key: string): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`The model has no ${key}`);
  return value;
}
