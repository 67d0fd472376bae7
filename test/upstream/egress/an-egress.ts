// A door to a made-up internet, with all that a test wants to turn.
import type { Dispatcher } from 'undici';
import type { ConnectorDeps, Denial } from '../../../src/upstream/egress/connector.ts';
import { createDoorFetch } from '../../../src/upstream/egress/door-fetch.ts';
import { createPolicy, type EgressPolicy, type EgressSettings } from '../../../src/upstream/egress/policy.ts';
import type { Door, HttpAnswer, HttpRequest } from '../../../src/upstream/http-exchange.ts';
import { exchange } from '../../../src/upstream/http-follow.ts';
import { openTestDoor } from '../../support/a-door.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { within } from '../../support/within.ts';
import { CA, Network } from './a-network.ts';

export const STRICT: EgressSettings = { allow: [], allowHttp: false, ports: [443, 8443], nat64: false };
export const PUBLIC = '93.184.216.34';

export interface EgressOptions {
  readonly settings?: EgressSettings;
  readonly selfHosts?: readonly string[];
  readonly ownAddresses?: readonly string[];
  readonly ownPort?: number;
  readonly deps?: Partial<ConnectorDeps>;
}

export class Egress {
  readonly network: Network;
  readonly clock = new FakeClock();
  readonly policy: EgressPolicy;
  readonly denials: Denial[] = [];
  readonly #dispatcher: Dispatcher;
  readonly #elsewhere: Dispatcher;

  private constructor(network: Network, options: EgressOptions) {
    const { settings = STRICT, selfHosts = [], ownAddresses = [], ownPort, deps } = options;
    this.network = network;
    this.policy = createPolicy(settings, { selfHosts: () => selfHosts, ownPort: () => ownPort });
    const rules = {
      policy: this.policy,
      resolve: network.resolve,
      dial: network.dial,
      ca: CA,
      ownAddresses: () => ownAddresses,
      onDenied: (denial: Denial) => this.denials.push(denial),
      clock: this.clock,
      ...deps,
    };
    this.#dispatcher = openTestDoor(rules);
    this.#elsewhere = openTestDoor({ ...rules, policy: this.policy.withoutExceptions });
  }

  static async open(options: EgressOptions = {}): Promise<Egress> {
    return new Egress(await Network.open(), options);
  }

  get door(): Door {
    return { dispatcher: this.#dispatcher, elsewhere: this.#elsewhere, policy: this.policy, clock: this.clock };
  }

  /** One request, redirects and all. */
  get(url: string, rest: Partial<HttpRequest> = {}): Promise<HttpAnswer> {
    return within(exchange(this.door, requestFor(url, rest)), 'the answer');
  }

  /** One request by the text of its address, no redirect followed. */
  async once(url: string): Promise<unknown> {
    const response = await within(createDoorFetch(this.#dispatcher, this.policy)(url), 'the answer');
    return response.text();
  }

  async close(): Promise<void> {
    await Promise.all([this.#dispatcher.destroy(), this.#elsewhere.destroy()]);
    await this.network.close();
  }
}

function requestFor(text: string, rest: Partial<HttpRequest> = {}): HttpRequest {
  const { origin, pathname, search } = new URL(text);
  return { origin, path: pathname + search, method: 'GET', headers: [], ...rest };
}

export const denied = (reason: unknown): unknown => ({ code: 'egress_denied', data: { reason } });
