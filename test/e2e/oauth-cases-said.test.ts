// What a server says in its answers: a refusal in words is no refusal, and a key that it repeats goes no further than
// it has to.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { useScene } from '../support/scene.ts';
import { type ScriptedCall, type ScriptedUpstream, startScripted } from '../support/scripted-upstream.ts';
import { type ScriptedAs, startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { withOauth } from '../support/sign-in/sign-in-scene.ts';

const scene = useScene();

interface Said {
  readonly as: ScriptedAs;
  readonly upstream: ScriptedUpstream;
  readonly agent: RawAgent;
}

/** Ada is connected to a server that looks at no token and answers each call as the test says. */
async function aServerThatSays(onCall: (call: ScriptedCall) => void): Promise<Said> {
  const as = await scene.keep(startScriptedAs());
  const upstream = await scene.keep(startScripted({ era: 'modern', tools: ['look'], onCall }));
  const [authorizationEndpoint, tokenEndpoint] = [`${as.issuer}/authorize`, `${as.issuer}/token`];
  const oauth = { clientId: 'by-hand', authorizationEndpoint, tokenEndpoint };
  const tenant = await scene.tenant({ notes: withOauth(upstream, oauth) });
  const { accessToken, refreshToken } = as.issue({ subject: 'ada', resource: upstream.url });
  await scene.app.adminOk('PUT', `/tenants/${tenant.id}/servers/notes/credentials/ada`, {
    oauth: { accessToken, refreshToken, expiresIn: 3_600 },
  });
  const agent = await tenant.raw('rawModern', 'ada');
  await agent.listTools();
  return { as, upstream, agent };
}

describe('a refusal that is told in a result with status 200 (B179)', () => {
  it.each([
    ['as an error of the tool', { isError: true, content: [{ type: 'text', text: 'Token expired, sign in again.' }] }],
    ['as a good result', { content: [{ type: 'text', text: 'Token expired, sign in again.' }] }],
    ['as data', { content: [], structuredContent: { status: 401, error: 'unauthorized' } }],
  ])('%s is passed on as it is: nothing is renewed, and nobody is asked', async (_, result) => {
    const { as, upstream, agent } = await aServerThatSays((call) => call.result(JSON.stringify(result)));
    expect(await agent.callTool('notes__look')).toMatchObject(result);
    expect(upstream.calls).toBe(1);
    expect(as.seen.token).toEqual([]);
  });
});

describe('a server that repeats the key it was sent (B247)', () => {
  it.each<[string, (call: ScriptedCall) => void]>([
    [
      'in the page of a 500',
      ({ req, res }) =>
        void res.writeHead(500, { 'content-type': 'text/html' }).end(`<pre>${JSON.stringify(req.headers)}</pre>`),
    ],
    [
      'in the page of a 403',
      ({ req, res }) =>
        void res.writeHead(403, { 'content-type': 'text/html' }).end(`<pre>${JSON.stringify(req.headers)}</pre>`),
    ],
    [
      'in its challenge',
      ({ req, res }) =>
        void res.writeHead(401, { 'www-authenticate': `Bearer error="${req.headers.authorization ?? ''}"` }).end(),
    ],
    [
      'in the address of a redirect',
      ({ req, res }) =>
        void res.writeHead(307, { location: `https://x.example/?t=${req.headers.authorization ?? ''}` }).end(),
    ],
    [
      'in an answer that is no JSON',
      ({ req, res }) =>
        void res.writeHead(200, { 'content-type': 'application/json' }).end(`{${req.headers.authorization ?? ''}`),
    ],
  ])('%s tells it neither to the agent nor to the log', async (_, onCall) => {
    const { as, upstream, agent } = await aServerThatSays(onCall);
    const answer = await agent.send('tools/call', { name: 'notes__look', arguments: {} });
    const text = await answer.text();
    expect(upstream.requests.at(-1)?.headers.authorization).toMatch(/^Bearer at-/);
    for (const token of as.accessTokens) expect(text + scene.app.lines.join('')).not.toContain(token);
  });
});
