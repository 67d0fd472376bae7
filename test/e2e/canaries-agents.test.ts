// T23: what an agent proves itself with, and what it carries for us to its next try, is in no log, no row and no answer.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { connectRaw } from '../support/agents/raw-agent.ts';
import { askable, inputIn, withAnswer } from '../support/asking.ts';
import { RAW_KINDS, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { postKey } from '../support/sign-in.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { foundIn, writtenForms } from '../support/written-forms.ts';
import { expectNowhere } from './canary-places.ts';

const scene = useScene();

type Sign = (claims?: JsonObject) => Promise<string>;

/** Tokens of an issuer that the tenant trusts. */
async function signerOf(tenant: TenantSide): Promise<Sign> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const issuer = `https://id.example/${tenant.id}`;
  await scene.app.adminOk('POST', `/tenants/${tenant.id}/issuers`, {
    issuer,
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }] },
    audience: `${scene.app.url}/mcp`,
  });
  return (claims = {}) => {
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ iss: issuer, sub: 'ada', aud: `${scene.app.url}/mcp`, iat: now, exp: now + 300, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })
      .sign(privateKey);
  };
}

/** Everything that comes back, head and body. */
async function answerTo(path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<string> {
  const response = await fetch(`${scene.app.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
    redirect: 'manual',
    signal: AbortSignal.timeout(5_000),
  });
  return [response.status, JSON.stringify([...response.headers]), await response.text()].join(' ');
}

describe.each(RAW_KINDS)('the signed token of %s', (kind) => {
  it('is nowhere, whether it is good, late, for somebody else, in the wrong place, or said back by a sign-in server', async () => {
    const as = await scene.keep(startScriptedAs());
    as.addClient({ clientId: 'us', secret: 'secret-of-ours-3f' });
    const mcp = await scene.keep(startGuardedMcp({ era: 'legacy', tokens: as }));
    const exchanging = { kind: 'token_exchange', oauth: { clientId: 'us', clientSecret: 'secret-of-ours-3f' } };
    const tenant = await scene.tenant({
      pasted: withKeys(await scene.keyed('modern')),
      exchanged: { url: mcp.url, credential: exchanging },
    });
    await tenant.setSecret('pasted', 'bob', 'key-bob');
    const other = await scene.tenant();
    const sign = await signerOf(tenant);
    const now = Math.floor(Date.now() / 1_000);
    const good = await sign();
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const agent = await scene.keep(within(connectRaw(kind, `${scene.app.url}/mcp`, bearer(good)), 'the agent'));
    const seen = [JSON.stringify(await agent.listTools()), JSON.stringify(await agent.callTool('pasted__whoami'))];
    expect(textOf(await agent.callTool('exchanged__whoami'))).toMatch(/^who=/);
    const used = as.accessTokens.at(-1);

    const repeated: string[] = [];
    as.always('token', async ({ params }) => {
      const token = String(params['subject_token']);
      repeated.push(token);
      const said = [`${token} is no good`, ...writtenForms(token)].join(' ');
      return { status: 400, body: { error: 'invalid_request', error_description: said, error_uri: said } };
    });
    as.expireAll();
    await scene.app.sql('UPDATE renewals SET renewed_at = NULL');
    seen.push(JSON.stringify(await agent.callTool('exchanged__whoami').catch(String)));
    expect(repeated, 'the sign-in server had something to say back').toContain(good);

    const late = await sign({ iat: now - 7_200, exp: now - 3_600 });
    const tokens = { good, late, elsewhere: await sign({ aud: 'https://other.example' }), cut: good.slice(0, -3) };
    const refusals: string[] = [];
    for (const token of Object.values(tokens).slice(1)) refusals.push(await answerTo('/mcp', bearer(token), '{}'));
    for (const text of refusals) expect(text).toMatch(/^401 /);
    seen.push(
      ...refusals,
      await answerTo(`/t/${other.id}/mcp`, bearer(good), '{}'),
      await answerTo(`/mcp?access_token=${good}`, {}, '{}'),
      await answerTo('/mcp/pasted', { 'keybearer-principal': good, ...bearer('kb_none') }, '{}'),
      await answerTo('/admin/v1/tenants', bearer(good)),
      await answerTo(`/admin/v1/tenants?cursor=${good}`, bearer(scene.app.adminKey)),
      await answerTo(`/connect?token=${good}`, bearer(good)),
      await answerTo('/connections', { cookie: `__Host-kb=${good}; kb=${good}` }),
      await answerTo('/mcp', bearer(good), `{"jsonrpc":"2.0","id":1,"method":"${good}`),
    );
    const signatures = Object.fromEntries(
      Object.entries(tokens).map(([name, token]) => [`${name}, its end`, token.split('.')[2] ?? '']),
    );
    const secrets = { ...tokens, ...signatures, exchanged: String(used), admin: scene.app.adminKey };
    await expectNowhere(scene.app, secrets, { tenant: tenant.id, servers: ['pasted', 'exchanged'], seen });
  });
});

describe('a requestState', () => {
  it('shows nothing of what it holds, and neither it nor that is kept or logged', async () => {
    const [theirs, word] = ['state-of-the-server-7c4e', 'what-the-person-said-19d3'];
    let refuses = false;
    const upstream = await scene.keep(
      startScripted({
        era: 'modern',
        onCall: ({ res, params, result }) => {
          if (refuses) return void res.writeHead(401).end();
          if (params['requestState'] === theirs) {
            expect(JSON.stringify(params['inputResponses'])).toContain(word);
            return result(JSON.stringify({ resultType: 'complete', content: [{ type: 'text', text: 'went on' }] }));
          }
          const asked = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
          const inputRequests = { who: { method: 'elicitation/create', params: asked } };
          result(JSON.stringify({ resultType: 'input_required', inputRequests, requestState: theirs }));
        },
      }),
    );
    const tenant = await scene.tenant({ notes: withKeys(upstream) });
    const [key, newer] = ['pasted-key-canary-1', 'pasted-key-canary-2'];
    await tenant.setSecret('notes', 'bob', key);
    const bob = await askable(scene, tenant, 'rawModern', { capabilities: { elicitation: { url: {}, form: {} } } });
    await bob.listTools();
    const call = { name: 'notes__act', arguments: { n: 1 } };
    expect(await bob.request('tools/call', call)).toMatchObject({ requestState: theirs });
    refuses = true;
    const inputResponses = { who: { action: 'accept', content: { name: word } } };
    const input = inputIn(await bob.request('tools/call', { ...call, requestState: theirs, inputResponses }));
    const inside = Buffer.from(input.requestState.slice('kb1.'.length), 'base64url');
    const ticket = String(new URL(input.url).pathname.split('/').at(-1));
    const held = { theirs, word, ticket, key };
    expect(foundIn(inside.toString('latin1') + input.requestState, held)).toEqual([]);

    const bent = `${input.requestState.slice(0, -4)}AAAA`;
    const refused = JSON.stringify(
      await (await bob.send('tools/call', withAnswer(call, { requestState: bent }, 'accept'))).answer(),
    );
    expect(refused).toContain('invalid_request_state');
    refuses = false;
    const pages = [(await postKey(input.url, newer)).text];
    const last = await within(bob.request('tools/call', withAnswer(call, input, 'accept')), 'the call', 5_000);
    expect(textOf(last)).toBe('went on');
    const secrets = { ...held, newer, state: input.requestState, bent };
    await expectNowhere(scene.app, secrets, {
      tenant: tenant.id,
      servers: ['notes'],
      seen: [refused, ...pages, JSON.stringify(last)],
    });
  });
});
