// Tokens that no person signs in for, as they are kept: edited servers, lost registrations, callers of all kinds.
import { describe, expect, it } from 'vitest';
import { OAuthRefusal } from '../../src/credential/authorization-server.ts';
import { createCredentialBroker } from '../../src/credential/broker.ts';
import { createGrantKeeper } from '../../src/credential/keep-grant.ts';
import { createKeptCredentials } from '../../src/credential/kept-credentials.ts';
import { createObtainTokens, createRequireSubject } from '../../src/credential/obtain-tokens.ts';
import { createRenewer } from '../../src/credential/renewer.ts';
import { createTickets } from '../../src/credential/tickets.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { aClientsBench } from './clients-bench.ts';
import { aTokenSet } from './fake-authorization-servers.ts';
import { anna, valueOf } from './grants-bench.ts';
import { aServer, aVault, InMemoryCredentials, InMemoryRenewals, InMemoryTickets } from './in-memory.ts';

const serverOf = (kind: string, oauth: Readonly<Record<string, unknown>> = { clientId: 'us', clientSecret: 's' }) =>
  aServer({ credential: { kind, oauth } });

function aBench() {
  const bench = aClientsBench();
  const { clock } = bench;
  const [vault, credentials, renewals] = [aVault(), new InMemoryCredentials(), new InMemoryRenewals(clock)];
  const tickets = createTickets({ store: new InMemoryTickets(), clock, publicUrl: () => 'https://px.test' });
  const logger = createLogger('silent');
  /** `subject`: what its callers come with. */
  const node = (subject?: { token: string }) => {
    const changes = new AChangeFeed();
    const kept = createKeptCredentials({ credentials, vault, changes, logger });
    const requireSubject = createRequireSubject(() => (subject === undefined ? undefined : new Secret(subject.token)));
    const renewer = createRenewer({
      kept,
      renewals,
      keeper: createGrantKeeper({ vault, credentials }),
      obtain: createObtainTokens({
        authorizationServersOf: () => bench.as,
        clients: bench.clients,
        requireSubject,
        now: () => clock.now(),
      }),
      clients: bench.clients,
      requireSubject,
      discard: () => undefined,
      announce: changes.say.bind(changes),
      changes,
      clock,
      logger,
    });
    return createCredentialBroker({ kept, renewer, tickets, clock });
  };
  return { ...bench, node };
}

describe('client credentials', () => {
  it('are asked for anew where a server was edited while no node ran, over what is left of before', async () => {
    const { node } = aBench();
    const [before, after] = ['old', 'new'].map((clientId) =>
      serverOf('client_credentials', { clientId, clientSecret: 's' }),
    );
    if (before === undefined || after === undefined) throw new Error('two servers');
    expect(valueOf(await node().find(before, undefined))).toBe('own-1');
    expect(valueOf(await node().find(after, undefined))).toBe('own-2');
    expect(valueOf(await node().find(after, undefined)), 'kept').toBe('own-2');
  });

  it('are asked for as a new registration where the old one is gone before it was ever used', async () => {
    const { node, as, clock, signIn } = aBench();
    const server = serverOf('client_credentials', {});
    await signIn(server);
    as.onAsked = async (nth) => {
      if (as.asked[nth - 1]?.clientId === 'client-1') throw new OAuthRefusal('invalid_client');
      return aTokenSet('good');
    };
    await expect(Promise.resolve(node().find(server, undefined))).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
    clock.advance(60_000);
    expect(valueOf(await node().find(server, undefined))).toBe('good');
    expect(as.registrations).toHaveLength(2);
  });
});

describe('token exchange', () => {
  const server = serverOf('token_exchange');

  it("for one caller is not kept back by another of the same person's, who came with no token", async () => {
    const { node, as } = aBench();
    await expect(Promise.resolve(node().find(server, anna))).rejects.toMatchObject({ code: 'upstream_unavailable' });
    expect(valueOf(await node({ token: 'jwt' }).find(server, anna))).toBe('own-1');
    expect(as.asked).toHaveLength(1);
  });

  it('is tried again at once with another token after one was refused', async () => {
    const { node, as } = aBench();
    as.onAsked = async (nth) => {
      if (nth === 1) throw new OAuthRefusal('invalid_grant');
      return aTokenSet(`own-${nth}`);
    };
    const subject = { token: 'bad' };
    const broker = node(subject);
    await expect(Promise.resolve(broker.find(server, anna))).rejects.toMatchObject({ code: 'upstream_unavailable' });
    subject.token = 'good';
    expect(valueOf(await broker.find(server, anna))).toBe('own-2');
  });
});
