// A tenant whose keys were deleted, and a keeper of the master keys that is away or holds other keys (T22).
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { startTestApp } from '../support/app.ts';
import { useScene, withKeys } from '../support/scene.ts';
import { signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { newMasterKey, turningKeys } from '../support/turning-keys.ts';

const MASTER_KEY = newMasterKey();
const scene = useScene({ masterKeys: turningKeys(MASTER_KEY) });

describe('a tenant whose data keys were deleted', () => {
  it('has people sign in again, says which definitions lost their secrets, and goes on; other tenants notice nothing', async () => {
    const world = await signInWorld(scene, 'modern', { as: { registeredMethod: 'client_secret_basic' } });
    const { tenant } = world;
    const keyed = await scene.keyed('legacy');
    const definition = withKeys(keyed, { headers: { 'x-team': 'core' } });
    await tenant.put('keys', definition);
    await tenant.setSecret('keys', 'ada', 'key-ada');
    const other = await scene.tenant({ keys: definition });
    await other.setSecret('keys', 'ada', 'key-ada');
    const agent = await tenant.raw('rawModern', 'ada');
    await signIn(world, agent, 'ada');
    expect(textOf(await agent.callTool('keys__whoami'))).toContain('who=ada');

    await scene.app.adminOk('DELETE', `/tenants/${tenant.id}/data-keys`);
    expect(await scene.app.sql('SELECT * FROM credentials WHERE tenant_id = $1', [tenant.id])).toEqual([]);
    const status = await eventually('the definition says so', async () => {
      const shown = await tenant.status('keys');
      return shown['status'] === 'invalid' && shown;
    });
    expect(JSON.stringify(status['problems'])).toContain('The key that sealed its secrets was deleted');
    expect(textOf(await agent.callTool('notes__whoami'))).toContain('/connect/');
    await signIn(world, agent, 'ada');
    expect(textOf(await agent.callTool('notes__whoami'))).toContain('ada');
    const kept = await scene.app.admin('PUT', `/tenants/${tenant.id}/servers/keys`, {
      ...definition,
      headers: { 'x-team': { sealed: true } },
    });
    expect([kept.status, JSON.stringify(kept.body)]).toEqual([422, expect.stringContaining('lost with its key')]);
    await tenant.put('keys', definition);
    await tenant.setSecret('keys', 'ada', 'key-ada');
    expect(textOf(await agent.callTool('keys__whoami'))).toContain('who=ada');
    expect(textOf(await (await other.raw('rawModern', 'ada')).callTool('keys__whoami'))).toContain('who=ada');
  }, 60_000);
});

describe('a keeper of the master keys', () => {
  it('that is away refuses calls with a clear code and loses nothing; they work when it is back', async () => {
    const keyed = await scene.keyed('legacy');
    const tenant = await scene.tenant({ keys: withKeys(keyed) });
    await tenant.setSecret('keys', 'ada', 'key-ada');
    await (await tenant.raw('rawModern', 'ada')).listTools();
    const keys = turningKeys(MASTER_KEY);
    const node = await scene.node({ masterKeys: keys });
    keys.isAway = true;
    const agent = await scene.side(tenant.id, tenant.key, node).raw('rawModern', 'ada');
    const refused = await agent.send('tools/call', { name: 'keys__whoami', arguments: {} });
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('master_keys_away')]);
    const seen = keyed.seen.filter(({ headers }) => headers.authorization === undefined).length;
    const put = await node.admin('PUT', `/tenants/${tenant.id}/servers/keys/credentials/bob`, { secret: 'key-bob' });
    expect(put.status).toBe(503);
    keys.isAway = false;
    expect(textOf(await agent.callTool('keys__whoami'))).toContain('who=ada');
    expect(keyed.seen.filter(({ headers }) => headers.authorization === undefined)).toHaveLength(seen);
  }, 60_000);

  it('that opens nothing of what is stored stops the start and says what to do, without a key', async () => {
    const tenant = await scene.tenant();
    await tenant.put('keys', { url: 'https://mcp.example/mcp', headers: { 'x-team': 'core' } });
    const other = newMasterKey();
    const error = await startTestApp({ beside: scene.app, masterKeys: turningKeys(other) }).catch(
      (reason: unknown) => reason,
    );
    expect(String(error)).toContain('no stored key can be opened with the master keys that are given');
    expect(String(error)).toContain('KEYBEARER_MASTER_KEY=new,old');
    expect(String(error)).not.toContain(other);
  }, 60_000);
});
