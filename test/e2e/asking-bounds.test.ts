// A call that waits for its person ends: by time, with its agent, its session, its node, or by their no.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import type { RawResponse } from '../support/agents/raw-http.ts';
import { resultOf } from '../support/agents/raw-result.ts';
import { askable, inputIn, questionIn, react, withAnswer } from '../support/asking.ts';
import { RAW_KINDS, type RawKind, type Scene, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { postKey } from '../support/sign-in.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { within } from '../support/within.ts';

const scene = useScene();
const WHOAMI = { name: 'notes__whoami', arguments: {} };
const withLink = (url: string) => ({
  isError: true,
  structuredContent: { error: 'sign_in_required', server: 'notes', url },
});

interface Waiting {
  readonly upstream: KeyedServer;
  readonly tenant: TenantSide;
  readonly bob: RawAgent;
  readonly url: string;
  /** The call that waits. */
  readonly response: Promise<RawResponse>;
  /** The request's id. */
  readonly id: unknown;
  leave(): void;
}

/** Bob's call, waiting for him to sign in. */
async function waiting(at: Scene, kind: RawKind, app = at.app): Promise<Waiting> {
  const upstream = await at.keyed('legacy');
  const tenant = await at.tenant({ notes: withKeys(upstream) });
  await tenant.setSecret('notes', 'ada', 'key-ada');
  const bob = await askable(at, tenant, kind, { app });
  // A node of its own hears of the tools by notice.
  await eventually('the tools', async () =>
    JSON.stringify(await bob.request('tools/list', {})).includes('notes__whoami'),
  );
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  const input = kind === 'rawModern' ? inputIn(await bob.request('tools/call', WHOAMI)) : undefined;
  const params = input === undefined ? WHOAMI : withAnswer(WHOAMI, input, 'accept');
  const { body, headers } = bob.compose('tools/call', { ...params, _meta: { progressToken: 'p' } });
  const response = bob.post(body, headers, leaving.signal);
  response.catch(() => undefined);
  const found = await response;
  await found.stream?.find(({ method }) => method === 'notifications/progress');
  if (input !== undefined) return { upstream, tenant, bob, url: input.url, response, id: body['id'], leave };
  const question = await questionIn(found);
  await react(bob, question, 'accept');
  return { upstream, tenant, bob, url: question.url, response, id: body['id'], leave };
}

describe.each(RAW_KINDS)('the waiting call of %s', (kind) => {
  it('ends with its agent, and the sign-in that comes later runs nothing', async () => {
    const { bob, url, leave, upstream } = await waiting(scene, kind);
    leave();
    await postKey(url, 'key-bob');
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
    expect(upstream.executed.get('whoami')).toBe(1);
  });

  it('does not hold up the end of its node, and is given the link', async () => {
    const node = await scene.node();
    const { response, url } = await waiting(scene, kind, node);
    const answer = resultOf(await response);
    const stopping = node.stop();
    expect(await within(answer, 'the answer', 1_000)).toMatchObject(withLink(url));
    await within(stopping, 'the stop', 3_000);
  });

  it('ends at once when the person says no at the server, on whatever node that is told (B165)', async () => {
    const { tenant, response, url } = await waiting(scene, kind);
    const [row] = await scene.app.sql('SELECT id FROM servers WHERE tenant_id = $1', [tenant.id]);
    const about = { tenantId: tenant.id, serverId: row?.['id'], owner: 'p:bob' };
    const say = (notice: object): Promise<unknown> =>
      scene.app.sql("SELECT pg_notify('keybearer', $1)", [JSON.stringify({ kind: 'sign_in_denied', ...notice })]);
    await say({ ...about, owner: 'p:ada' });
    await say(about);
    const result = await within(resultOf(await response), 'the answer', 1_000);
    expect(result).toMatchObject(withLink(url));
    expect(textOf(result)).toContain('declined');
  });
});

describe('the waiting call of a session', () => {
  it('ends when its agent cancels it', async () => {
    const { bob, response, id, url, upstream } = await waiting(scene, 'rawLegacy');
    expect(await bob.notify('notifications/cancelled', { requestId: id })).toBe(202);
    await within((await response).stream?.ended() ?? Promise.resolve(), 'the stream to end', 1_000);
    await postKey(url, 'key-bob');
    await bob.callTool('notes__whoami');
    expect(upstream.executed.get('whoami')).toBe(1);
  });

  it('ends with the session', async () => {
    const { bob, response } = await waiting(scene, 'rawLegacy');
    expect((await bob.delete()).status).toBe(204);
    bob.session = undefined;
    await within((await response).stream?.ended() ?? Promise.resolve(), 'the stream to end', 1_000);
  });
});

describe('the time of a waiting call', () => {
  const short = useScene({ limits: { signInWaitMs: 300 } });

  it.each(RAW_KINDS)('is bounded, and then %s is given the link', async (kind) => {
    const { response, url, bob } = await waiting(short, kind);
    expect(await within(resultOf(await response), 'the answer', 2_000)).toMatchObject(withLink(url));
    await postKey(url, 'key-bob');
    expect(textOf(await bob.callTool('notes__whoami'))).toMatch(/^who=bob;/);
  });
});
