// The legacy era's door: initialize gives a session that belongs to one principal, and only that one may use it.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Exchange } from './keyed-exchange.ts';
import type { KeyedState, Session } from './keyed-state.ts';
import { errorText, type Id, resultText } from './message.ts';
import { eventText, sendNothing, sendText } from './responses.ts';
import { LEGACY } from './revisions.ts';

/** The session named by the request, or undefined after having refused it. */
export function admitSession(
  state: KeyedState,
  req: IncomingMessage,
  res: ServerResponse,
  principal: string,
  id: Id | null,
): Session | undefined {
  const refuse = (status: number, code: number, message: string): undefined =>
    sendText(res, status, errorText(id, code, message)) as undefined;
  const version = req.headers['mcp-protocol-version'];
  if (version !== undefined && !LEGACY.includes(String(version)))
    return refuse(400, -32000, 'Bad Request: Unsupported protocol version');
  const named = req.headers['mcp-session-id'];
  if (typeof named !== 'string') return refuse(400, -32000, 'Bad Request: Mcp-Session-Id header is required');
  const session = state.sessions.get(named);
  if (session === undefined) {
    state.count('unknownSessions');
    return refuse(404, -32001, 'Session not found');
  }
  if (session.principal === principal) return session;
  state.count('crossed');
  return refuse(403, -32003, 'Session belongs to another principal');
}

/** Answers by itself, because only this answer carries a session header. */
export function initialize(exchange: Exchange): void {
  const { state, principal, message, id, res } = exchange.asked;
  state.count('initializes');
  const session = { id: randomUUID(), principal };
  state.sessions.set(session.id, session);
  const wanted = message.params['protocolVersion'];
  const result = resultText(
    id,
    JSON.stringify({
      protocolVersion: LEGACY.find((version) => version === wanted) ?? LEGACY[0],
      capabilities: {
        tools: { listChanged: state.settings.listChanged },
        experimental: { 'x-unknown': {} },
        ...state.options.also?.capabilities,
      },
      serverInfo: { name: state.options.name ?? 'keyed', version: '1.0.0' },
      instructions: state.options.instructions,
    }),
    state.settings.idPosition,
  );
  const headers = { 'mcp-session-id': session.id };
  if (state.settings.reply === 'json') return sendText(res, 200, result, headers);
  sendText(res, 200, eventText(result), { ...headers, 'content-type': 'text/event-stream' });
}

export function endSession(state: KeyedState, session: Session, res: ServerResponse): void {
  state.count('deletes');
  state.sessions.delete(session.id);
  sendNothing(res, 204);
}
