import { expect, it } from 'vitest';
import { connectedOf } from '../../src/credential/connected.ts';
import type { StoredCredential } from '../../src/credential/credential-store.ts';
import { FRESH } from '../../src/credential/renewal-failure.ts';
import { aTenantId, InMemoryCredentials, InMemoryRenewals } from './in-memory.ts';

const NOW = 1_700_000_000_000;
const acme = aTenantId('acme');

function aShelf() {
  const [credentials, renewals] = [new InMemoryCredentials(), new InMemoryRenewals()];
  const key = (server: string) => ({
    tenantId: acme,
    serverId: server as StoredCredential['serverId'],
    owner: 'p:anna',
  });
  return {
    keep: (server: string, details: StoredCredential['details'], kind: StoredCredential['kind'] = 'grant') =>
      credentials.put({ ...key(server), kind, binding: 'b', sealed: Buffer.of(), details }, NOW),
    async spend(server: string, version: string) {
      await renewals.acquire(key(server), 'h', 1);
      await renewals.release(key(server), 'h', { ...FRESH, version, spent: true, renewedAt: undefined });
    },
    async over(now = NOW) {
      const all = await connectedOf({ credentials, renewals, now: () => now }, acme, 'p:anna');
      return all.filter(({ isOver }) => isOver).map(({ serverId }) => serverId);
    },
    since: async () =>
      (await connectedOf({ credentials, renewals, now: () => NOW }, acme, 'p:anna')).map(({ since }) => since),
  };
}

it('what is kept is connected until its sign-in server said that this very version is over', async () => {
  const shelf = aShelf();
  const first = await shelf.keep('notes', { renewable: true });
  await shelf.keep('tracker', { renewable: true });
  expect(await shelf.over()).toEqual([]);
  await shelf.spend('notes', first);
  expect(await shelf.over()).toEqual(['notes']);
  await shelf.keep('notes', { renewable: true });
  expect(await shelf.over(), 'signed in anew').toEqual([]);
});

it('a grant that nothing can renew is over when it ends, and one that can be renewed is not', async () => {
  const shelf = aShelf();
  const expiresAt = new Date(NOW + 1).toISOString();
  await shelf.keep('without', { expiresAt, renewable: false });
  await shelf.keep('with', { expiresAt, renewable: true });
  await shelf.keep('endless', { expiresAt: null, renewable: false });
  await shelf.keep('pasted', { expiresAt, renewable: false }, 'secret');
  expect(await shelf.over(NOW)).toEqual([]);
  expect(await shelf.over(NOW + 1)).toEqual(['without']);
});

it('somebody is connected since they signed in, and not since the last renewal', async () => {
  const shelf = aShelf();
  await shelf.keep('notes', { signedInAt: new Date(NOW - 5_000).toISOString() });
  await shelf.keep('pasted', {}, 'secret');
  await shelf.keep('odd', { signedInAt: 'soon' });
  expect(await shelf.since()).toEqual([NOW - 5_000, NOW, NOW]);
});
