// The well-behaved rest of a bad server: enough of either era to list and call one tool, echo.
import { randomUUID } from 'node:crypto';
import type { BadState, Request } from './fault.ts';
import { errorText, isObject, type Message, resultText } from './message.ts';
import { sendNothing, sendText } from './responses.ts';
import { LEGACY, MODERN, SERVER_INFO_KEY } from './revisions.ts';

const serverInfo = { name: 'bad', version: '1.0.0' };

export const echoTool = JSON.stringify({ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } });

export const textResult = (state: BadState, text: string): string =>
  JSON.stringify({ ...(state.era === 'modern' ? { resultType: 'complete' } : {}), content: [{ type: 'text', text }] });

export function listResult(state: BadState, toolsJson: readonly string[], nextCursor?: string): string {
  const modern = state.era === 'modern' ? '"resultType":"complete","ttlMs":0,"cacheScope":"private",' : '';
  const cursor = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
  return `{${modern}"tools":[${toolsJson.join(',')}]${cursor}}`;
}

export function goodResult(state: BadState, message: Message): string {
  switch (message.method) {
    case 'initialize':
      return JSON.stringify({ protocolVersion: LEGACY[0], capabilities: { tools: {} }, serverInfo });
    case 'server/discover':
      return JSON.stringify({
        resultType: 'complete',
        supportedVersions: [MODERN],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [SERVER_INFO_KEY]: serverInfo },
      });
    case 'tools/list':
      return listResult(state, [echoTool]);
    case 'tools/call':
      return textResult(state, JSON.stringify(message.params['arguments'] ?? {}));
    default:
      return '{}';
  }
}

/** An answer to a request of ours, or a notification: nothing is to be said. */
function takeNote(state: BadState, { res, message }: Request): void {
  const id = message.id;
  if (message.method === undefined && id !== undefined) {
    state.answers.push(message.all);
    state.asked.get(id)?.(message.all);
    state.changed();
  }
  sendNothing(res, 202);
}

export function plainAnswer(state: BadState, request: Request): void {
  const { req, res, message } = request;
  const { id, method } = message;
  if (id === undefined || method === undefined) return takeNote(state, request);
  if (method === 'initialize' && state.era === 'legacy') {
    const session = randomUUID();
    state.sessions.add(session);
    return sendText(res, 200, resultText(id, goodResult(state, message)), { 'mcp-session-id': session });
  }
  if (state.era === 'legacy') {
    const session = req.headers['mcp-session-id'];
    if (session === undefined) return sendText(res, 400, errorText(id, -32000, 'Bad Request: Server not initialized'));
    if (!state.sessions.has(String(session))) return sendText(res, 404, errorText(id, -32001, 'Session not found'));
  } else if (!isObject(message.params['_meta'])) {
    return sendText(res, 400, errorText(id, -32602, 'Missing _meta'));
  }
  sendText(res, 200, resultText(id, goodResult(state, message)));
}
