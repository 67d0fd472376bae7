// Renewal across processes, and what a process that dies in the middle of one leaves behind (T10).
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { buildProduct } from './product.ts';
import { aRenewingWorld, type Renewing } from './renewing.ts';

const refreshes = ({ as }: Renewing): number =>
  as.seen.token.filter(({ params }) => params['grant_type'] === 'refresh_token').length;

/** What the agent hears after the next start: its answer, or that the person has to sign in. */
async function nextStart(world: Renewing): Promise<'works' | 'asks'> {
  const agent = await world.agentAt(await world.start());
  const outcomes: ('works' | 'asks')[] = [];
  for (let n = 0; n < 3; n++) {
    const result = await agent.callTool('notes__whoami');
    if (textOf(result).startsWith('who=ada;')) outcomes.push('works');
    else {
      expect(result).toMatchObject({ isError: true, structuredContent: { error: 'sign_in_required' } });
      outcomes.push('asks');
    }
  }
  // It settles at once: no loop of trying, asking and trying.
  expect(new Set(outcomes).size).toBe(1);
  return outcomes[0] ?? 'asks';
}

describe('two processes', () => {
  beforeAll(() => buildProduct(), 120_000);

  it('with fifty calls each across the end of a token cost one renewal and lose nothing', async () => {
    await using world = await aRenewingWorld();
    const agents = await Promise.all([world.start(), world.start()].map(async (one) => world.agentAt(await one)));
    const answers = await Promise.all(
      agents.flatMap((agent) => Array.from({ length: 50 }, () => agent.callTool('notes__whoami'))),
    );
    expect(answers.filter((answer) => textOf(answer).startsWith('who=ada;'))).toHaveLength(100);
    expect([refreshes(world), world.as.revocations]).toEqual([1, 0]);
  }, 60_000);
});

describe.concurrent('a process killed in the middle of a renewal', () => {
  beforeAll(() => buildProduct(), 120_000);

  it('before it sent: the next start works', async ({ expect: local }) => {
    await using world = await aRenewingWorld();
    const doomed = await world.start();
    const agent = await world.agentAt(doomed);
    // It has the lease and waits for the client's row, which it needs for the request.
    const gate = await world.connect();
    await gate.query('BEGIN');
    await gate.query('LOCK TABLE oauth_clients IN ACCESS EXCLUSIVE MODE');
    const call = agent.callTool('notes__whoami').catch(() => 'dead');
    await eventually(
      'the lease',
      async () => (await world.sql('SELECT 1 FROM renewals WHERE holder IS NOT NULL'))[0],
      15_000,
    );
    await doomed.end('SIGKILL');
    await call;
    await gate.query('ROLLBACK');
    await gate.end();
    local(refreshes(world)).toBe(0);
    local(await nextStart(world)).toBe('works');
    local([refreshes(world), world.as.revocations]).toEqual([1, 0]);
  }, 120_000);

  it('after it sent, before the server did anything: the next start works', async ({ expect: local }) => {
    await using world = await aRenewingWorld();
    const doomed = await world.start();
    const agent = await world.agentAt(doomed);
    let died: () => void = () => undefined;
    const dead = new Promise<void>((resolve) => (died = resolve));
    world.as.once('token', async () => {
      await dead;
      return 'drop';
    });
    const call = agent.callTool('notes__whoami').catch(() => 'dead');
    await world.as.until(() => refreshes(world) === 1);
    await doomed.end('SIGKILL');
    died();
    await call;
    local(await nextStart(world)).toBe('works');
    local([refreshes(world), world.as.revocations]).toEqual([2, 0]);
  }, 120_000);

  it('after it sent and the server renewed: the person is asked, once', async ({ expect: local }) => {
    await using world = await aRenewingWorld();
    const doomed = await world.start();
    const agent = await world.agentAt(doomed);
    let died: () => void = () => undefined;
    const dead = new Promise<void>((resolve) => (died = resolve));
    world.as.once('token', async (_request, work) => {
      const answer = await work();
      await dead;
      return answer;
    });
    const call = agent.callTool('notes__whoami').catch(() => 'dead');
    await world.as.until(() => refreshes(world) === 1);
    await doomed.end('SIGKILL');
    died();
    await call;
    // The only refresh token it can show was replaced; the server takes that for theft.
    local(await nextStart(world)).toBe('asks');
    local(refreshes(world)).toBe(2);
  }, 120_000);

  it('after the answer, before it was written: the person is asked, once', async ({ expect: local }) => {
    await using world = await aRenewingWorld();
    const doomed = await world.start();
    const agent = await world.agentAt(doomed);
    const gate = await world.connect();
    await gate.query('BEGIN');
    // Reading goes on, writing waits.
    await gate.query('LOCK TABLE credentials IN SHARE MODE');
    const call = agent.callTool('notes__whoami').catch(() => 'dead');
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock' AND query LIKE 'UPDATE credentials%'`;
    const writer = await eventually('the write', async () => (await world.sql(waiting))[0], 15_000);
    await doomed.end('SIGKILL');
    // The database would go on with it otherwise, not knowing that nobody waits any more.
    await world.sql(`SELECT pg_terminate_backend(${String(writer['pid'])})`);
    await call;
    await gate.query('ROLLBACK');
    await gate.end();
    local(await nextStart(world)).toBe('asks');
    local(refreshes(world)).toBe(2);
  }, 120_000);

  it('after it was written: the next start works without another renewal', async ({ expect: local }) => {
    await using world = await aRenewingWorld();
    const doomed = await world.start();
    const agent = await world.agentAt(doomed);
    const before = await world.sql('SELECT version FROM credentials');
    // The lease is not given back, as it would not be by a process that died here.
    const gate = await world.connect();
    const call = agent.callTool('notes__whoami').catch(() => 'dead');
    await world.as.until(() => refreshes(world) === 1);
    await gate.query('BEGIN');
    await gate.query('LOCK TABLE renewals IN EXCLUSIVE MODE');
    await eventually(
      'the new version',
      async () => (await world.sql('SELECT version FROM credentials'))[0]?.['version'] !== before[0]?.['version'],
      15_000,
    );
    await doomed.end('SIGKILL');
    await call;
    await gate.query('ROLLBACK');
    await gate.end();
    local(await nextStart(world)).toBe('works');
    local([refreshes(world), world.as.revocations]).toEqual([1, 0]);
  }, 120_000);
});
