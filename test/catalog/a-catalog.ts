// A catalog over servers that say what the test says.
import { type CallTroubles, createCallTroubles } from '../../src/catalog/call-troubles.ts';
import { type Catalog, createCatalog, type Scope } from '../../src/catalog/catalog.ts';
import { createDiscovery, type Discovery } from '../../src/catalog/discovery.ts';
import type { View } from '../../src/catalog/view.ts';
import type { Caller } from '../../src/identity/caller.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import type { PrincipalId } from '../../src/shared/id.ts';
import { ATenant, aCaller, ownerKeyOf, texts } from './a-tenant.ts';
import { parsedPage, SELF, toolsIn } from './a-view.ts';

export const ALL: Scope = { only: undefined };
export const NEVER = new AbortController().signal;
export const PERSONAL = { credential: { kind: 'secret' } };
export const DOWN = new ProxyError('upstream_unavailable', 'The server cannot be reached.');

export type Reply = readonly object[] | Error | 'silence';

export class Bench extends ATenant {
  readonly catalog: Catalog;
  readonly discovery: Discovery;
  readonly troubles: CallTroubles;
  readonly doubted: string[] = [];
  /** What a server says when it is asked for its tools. */
  readonly replies = new Map<string, Reply>();
  readonly signedIn = new Set<string>();
  asked: (readonly [string, PrincipalId | undefined])[] = [];
  credentialsFail = false;

  constructor() {
    super();
    this.discovery = createDiscovery({
      source: (server, principalId) => {
        this.asked.push([server.name, principalId]);
        const reply = this.replies.get(server.name) ?? [];
        if (reply === 'silence') return new Promise(() => undefined);
        return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(texts(reply));
      },
      registry: this.registry,
      clock: this.clock,
      logger: this.logger,
      random: () => 0,
    });
    this.troubles = createCallTroubles({
      registry: this.registry,
      clock: this.clock,
      logger: this.logger,
      doubt: ({ name }) => void this.doubted.push(name),
    });
    this.catalog = createCatalog({
      registry: this.registry,
      discovery: this.discovery,
      troubles: this.troubles,
      hasCredential: (server, principalId) => {
        if (this.credentialsFail) throw new Error('no database');
        return this.signedIn.has(`${server.name} ${principalId}`);
      },
      ownerKeyOf,
      self: SELF,
      listDeadlineMs: 5_000,
      clock: this.clock,
    });
  }

  serve(name: string, reply: Reply, definition: object = {}): void {
    this.define(name, definition);
    this.replies.set(name, reply);
  }

  async view(caller: Caller = aCaller(), scope = ALL): Promise<View> {
    const view = await this.catalog.view(caller, scope, NEVER);
    if (view === undefined) throw new Error('the scope names nothing');
    return view;
  }

  async tools(caller?: Caller, scope?: Scope): Promise<readonly string[]> {
    return toolsIn(await this.view(caller, scope));
  }

  async states(caller?: Caller): Promise<Readonly<Record<string, string>>> {
    const meta = parsedPage((await this.view(caller)).page(undefined))['_meta'] as {
      'keybearer/servers': Record<string, { state: string }>;
    };
    return Object.fromEntries(Object.entries(meta['keybearer/servers']).map(([name, { state }]) => [name, state]));
  }
}
