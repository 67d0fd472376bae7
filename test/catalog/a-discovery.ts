// Discovery over servers that answer when the test says so.
import { createDiscovery, type Discovery } from '../../src/catalog/discovery.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import type { PrincipalId } from '../../src/shared/id.ts';
import { ACME, ATenant, settled, texts } from './a-tenant.ts';

export interface Asked {
  readonly server: UpstreamServer;
  readonly principalId: PrincipalId | undefined;
  readonly signal: AbortSignal;
  answer(...tools: object[]): Promise<void>;
  fail(error?: Error): Promise<void>;
}

export const DOWN = new ProxyError('upstream_unavailable', 'The server cannot be reached.');

export class Bench extends ATenant {
  readonly asked: Asked[] = [];
  readonly discovery: Discovery;
  random = 0.999_999;

  constructor() {
    super();
    this.discovery = createDiscovery({
      source: (server, principalId, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          this.asked.push({
            server,
            principalId,
            signal,
            answer: (...tools) => (resolve(texts(tools)), settled()),
            fail: (error = DOWN) => (reject(error), settled()),
          });
        }),
      registry: this.registry,
      clock: this.clock,
      logger: this.logger,
      random: () => this.random,
    });
  }

  get last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error('nobody was asked');
    return last;
  }

  /** Registers, lets everyone hear of it, and gives the server. */
  async registered(name: string, definition: object = {}): Promise<UpstreamServer> {
    this.define(name, definition);
    await this.refresh();
    await settled();
    return this.server(name);
  }

  tools(name: string): readonly string[] | undefined {
    return this.registry
      .known(ACME)
      ?.byName.get(name)
      ?.lists.get('')
      ?.tools.map((tool) => tool.name);
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settled();
  }
}

export const PERSONAL = { credential: { kind: 'secret' } };
