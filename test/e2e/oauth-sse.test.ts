// The old HTTP+SSE transport (2024-11-05): its stream and its posts are refused like any other request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { anOldSseServer, type OldMessage, type OldSession } from '../support/old-sse-server.ts';
import { useScene } from '../support/scene.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';

const scene = useScene();

const TOOL = { name: 'hello', inputSchema: { type: 'object' } };

function answerTo({ id, method }: OldMessage): unknown {
  if (method === 'initialize')
    return {
      protocolVersion: '2024-11-05',
      capabilities: { tools: {} },
      serverInfo: { name: 'old', version: '1' },
    };
  if (method === 'tools/list') return { tools: [TOOL] };
  return id === undefined ? undefined : { content: [{ type: 'text', text: 'hello' }] };
}

describe('a refusal on an SSE server', () => {
  it.each(['stream', 'post'] as const)('of its %s renews the grant once, and the call goes on', async (where) => {
    const as = await scene.keep(startScriptedAs({ rotation: 'strict' }));
    as.addClient({ clientId: 'by-hand' });
    const isGood = (req: IncomingMessage | undefined): boolean =>
      as.check(/^Bearer (.+)$/.exec(req?.headers.authorization ?? '')?.[1] ?? '') !== undefined;
    const refuse = (res: ServerResponse): true => {
      res.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return true;
    };
    const upstream = await scene.keep(
      anOldSseServer({
        onGet: (req, res) => where === 'stream' && !isGood(req) && refuse(res),
        onPost: (_message, res) => where === 'post' && !isGood(res.req) && refuse(res),
        onMessage: (message: OldMessage, session: OldSession) => {
          const result = answerTo(message);
          if (message.id !== undefined && result !== undefined)
            session.event(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
        },
      }),
    );
    const resource = upstream.url;
    const oauth = {
      clientId: 'by-hand',
      issuer: as.issuer,
      authorizationEndpoint: `${as.issuer}/authorize`,
      tokenEndpoint: `${as.issuer}/token`,
      resource,
    };
    const tenant = await scene.tenant({
      old: { type: 'sse', url: upstream.url, credential: { kind: 'oauth', oauth } },
    });
    const tokens = as.issue({ subject: 'ada', resource });
    const path = `/tenants/${tenant.id}/servers/old/credentials/ada`;
    await scene.app.adminOk('PUT', path, { oauth: tokens });
    const agent = await tenant.raw('rawLegacy', 'ada');
    expect(textOf(await agent.callTool('old__hello'))).toBe('hello');
    as.expireAll();
    // A node with no stream open yet has to open one with the old token.
    const node = where === 'stream' ? await scene.node() : scene.app;
    const late = where === 'stream' ? await scene.side(tenant.id, tenant.key, node).raw('rawLegacy', 'ada') : agent;
    expect(textOf(await late.callTool('old__hello'))).toBe('hello');
    expect(as.seen.token.map(({ params }) => params['grant_type'])).toEqual(['refresh_token']);
    expect(as.revocations).toBe(0);
  });
});
