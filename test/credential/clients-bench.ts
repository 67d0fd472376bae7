// We as a client: nodes over one store, and authorization servers that answer as the test says.
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { SignInPlace } from '../../src/credential/authorization-server.ts';
import { createClientKeys } from '../../src/credential/client-keys.ts';
import type { ClientStore } from '../../src/credential/client-store.ts';
import { type Clients, createClients } from '../../src/credential/clients.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import type { ServerId } from '../../src/shared/id.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { AS_PLACE, FakeAuthorizationServers } from './fake-authorization-servers.ts';
import { aServer, aTenantId, aVault } from './in-memory.ts';
import { InMemoryClients, InMemoryServiceKeys } from './in-memory-oauth.ts';

export const NEVER = new AbortController().signal;
export const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** By its definition's `credential.oauth`. */
export const oauthServer = (
  oauth: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
  place?: Parameters<typeof aServer>[1],
): UpstreamServer => aServer({ credential: { kind: 'oauth', oauth }, ...more }, place);

export function aClientsBench(storeOf: () => ClientStore = once(new InMemoryClients())) {
  const clock = new FakeClock();
  const vault = aVault();
  const as = new FakeAuthorizationServers();
  const serviceKeys = new InMemoryServiceKeys();
  const site = { url: 'https://px.test' };
  const node = (): Clients => {
    const keys = createClientKeys({ store: serviceKeys, masterKeys: createStaticKeyProvider([MASTER_KEY]), clock });
    const deps = { store: storeOf(), vault, keys, authorizationServersOf: () => as, publicUrl: () => site.url, clock };
    return createClients(deps);
  };
  const clients = node();
  const signIn = (server: UpstreamServer, place: Partial<SignInPlace> = {}, from: Clients = clients) =>
    from.forSignIn(server, { ...AS_PLACE, ...place }, new AbortController().signal);
  return { clock, vault, as, site, node, clients, signIn, serviceKeys };
}

const once =
  <T>(value: T) =>
  (): T =>
    value;

export const NOTES = { tenantId: aTenantId('acme'), serverId: 'id-of-notes' as ServerId, issuer: AS_PLACE.issuer };
