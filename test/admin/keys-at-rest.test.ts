import { describe, expect, it } from 'vitest';
import { openAdminApi } from './an-admin-api.ts';

describe('the keys that seal what is stored', () => {
  it('are shown to the operator alone: which master keys there are, and what hangs on each', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    const reply = await api.send('GET', '/vault');
    expect([reply.status, reply.json]).toEqual([
      200,
      { masterKeys: [{ id: 'm1', isCurrent: true, isKnown: true, wraps: 2 }] },
    ]);
    expect((await api.send('GET', '/vault', undefined, { key })).status).toBe(403);
    expect((await api.send('GET', '/vault', undefined, { key: undefined })).status).toBe(401);
  });

  it('are rotated by the operator and by admins of the tenant, with or without a body, and by nobody else', async () => {
    await using api = await openAdminApi();
    const [acme, beta] = [await api.tenant('acme'), await api.tenant('beta')];
    const items = [{ id: 'k-acme', isCurrent: true, createdAt: '1970-01-01T00:00:00.000Z', seals: 3 }];
    for (const options of [{}, { key: acme }]) {
      const reply = await api.send('POST', '/tenants/acme/rotate-key', undefined, options);
      expect([reply.status, reply.json]).toEqual([200, { items }]);
    }
    expect((await api.send('POST', '/tenants/acme/rotate-key', {})).status).toBe(200);
    expect(api.rotated).toEqual(['rotate acme', 'rotate acme', 'rotate acme']);
    expect((await api.send('POST', '/tenants/acme/rotate-key', undefined, { key: beta })).status).toBe(404);
    expect((await api.send('POST', '/tenants/none/rotate-key')).status).toBe(404);
    expect(api.rotated).toHaveLength(3);
    expect((await api.send('GET', '/tenants/acme/data-keys', undefined, { key: acme })).json).toEqual({ items });
  });

  it('are deleted by the operator alone', async () => {
    await using api = await openAdminApi();
    const key = await api.tenant('acme');
    expect((await api.send('DELETE', '/tenants/acme/data-keys', undefined, { key })).status).toBe(403);
    expect((await api.send('DELETE', '/tenants/none/data-keys')).status).toBe(404);
    expect(api.rotated).toEqual([]);
    expect((await api.send('DELETE', '/tenants/acme/data-keys')).status).toBe(204);
    expect(api.rotated).toEqual(['shred acme']);
  });
});
