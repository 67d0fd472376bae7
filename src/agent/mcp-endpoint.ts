// POST, GET and DELETE on the MCP routes: who asks, in which era and session, then the operation. Nothing
// is processed before its sender is known.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../identity/caller.ts';
import { ProxyError, toProxyError } from '../shared/errors.ts';
import { LightAbort } from '../shared/light-abort.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { META_SUBSCRIPTION, MODERN_VERSION } from '../wire/era.ts';
import { asciiJson, isJsonObject } from '../wire/reply.ts';
import { eventOf } from '../wire/sse.ts';
import { toRpcError } from './errors.ts';
import type { Listeners } from './listeners.ts';
import { BadMessage, checkLegacyVersion, type Incoming, readMessage } from './message.ts';
import { type Methods, statedCapabilities } from './methods.ts';
import { type Accepted, isJsonType, readAccept } from './negotiate.ts';
import { type Body, MAX_REQUEST_BYTES, readBody } from './read-body.ts';
import { Responder } from './responder.ts';
import type { McpRoute } from './route.ts';
import { notAllowed, sendError } from './send-error.ts';
import type { Session, Sessions } from './sessions.ts';

export interface McpEndpointDeps {
  readonly authenticate: (request: IncomingMessage, route: McpRoute) => Caller | Promise<Caller>;
  /** WWW-Authenticate for a request without a good credential. */
  readonly challenge: (request: IncomingMessage, route: McpRoute, error: ProxyError) => string;
  readonly methods: Methods;
  readonly sessions: Sessions;
  readonly listeners: Listeners;
  readonly logger: Logger;
  readonly isStopping: () => boolean;
}

export type McpEndpoint = (request: IncomingMessage, response: ServerResponse, route: McpRoute) => void;

const TOOLS_CHANGED = eventOf('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');

export function createMcpEndpoint(deps: McpEndpointDeps): McpEndpoint {
  const { authenticate, challenge, methods, sessions, listeners, logger, isStopping } = deps;

  const refuse = (response: ServerResponse, route: McpRoute, thrown: unknown, idText = 'null'): void => {
    if (thrown instanceof BadMessage) {
      // What is left of a body that is too large is not read.
      const headers = thrown.status === 413 ? ['connection', 'close'] : [];
      sendError(
        response,
        thrown.status,
        { code: thrown.code, message: thrown.message, ...(thrown.data === undefined ? {} : { data: thrown.data }) },
        thrown.idText === 'null' ? idText : thrown.idText,
        headers,
      );
      return;
    }
    const error = toProxyError(thrown);
    if (error.code === 'internal') logger.error({ error: describeError(error) }, 'request failed');
    const { error: told, carrier, retryAfterMs } = toRpcError(error);
    const headers: string[] = retryAfterMs === undefined ? [] : ['retry-after', String(Math.ceil(retryAfterMs / 1000))];
    if (carrier === 401 || error.code === 'insufficient_scope')
      headers.push('www-authenticate', challenge(response.req, route, error));
    sendError(response, carrier, told, idText, headers);
  };

  const withCaller = (
    request: IncomingMessage,
    response: ServerResponse,
    route: McpRoute,
    then: (caller: Caller) => void,
  ): void => {
    const failed = (error: unknown): void => {
      request.resume();
      refuse(response, route, error);
    };
    // Whoever left meanwhile is not heard leaving any more, so nothing may be begun for them.
    const goOn = (caller: Caller): void => {
      if (!response.destroyed) then(caller);
    };
    try {
      const caller = authenticate(request, route);
      if (caller instanceof Promise) caller.then(goOn).catch(failed);
      else goOn(caller);
    } catch (error) {
      failed(error);
    }
  };

  const post: McpEndpoint = (request, response, route) => {
    withCaller(request, response, route, (caller) => {
      const accepted = readAccept(request.headers.accept);
      if (!isJsonType(request.headers['content-type']))
        throw new BadMessage(415, -32600, 'Send the message as application/json.');
      if (!accepted.json && !accepted.events)
        throw new BadMessage(406, -32600, 'Accept application/json, text/event-stream, or both.');
      readBody(request, (body) => {
        try {
          onBody(caller, body, accepted, request, response, route);
        } catch (error) {
          refuse(response, route, error);
        }
      });
    });
  };

  const onBody = (
    caller: Caller,
    body: Body,
    accepted: Accepted,
    request: IncomingMessage,
    response: ServerResponse,
    route: McpRoute,
  ): void => {
    if (body.kind === 'broken') return;
    if (body.kind === 'too_large') throw new BadMessage(413, -32600, `A message may have ${MAX_REQUEST_BYTES} bytes.`);
    const incoming = readMessage(body.text, request.headers);
    if (incoming.era === 'legacy' && incoming.method === 'initialize' && incoming.kind === 'request') {
      initialize(caller, incoming, response, route);
      return;
    }
    const session = incoming.era === 'legacy' ? sessionOf(caller, request, route, incoming.idText) : undefined;
    if (incoming.kind !== 'request') {
      if (incoming.method === 'notifications/cancelled') cancel(session, incoming);
      response.writeHead(202).end();
      return;
    }
    if (incoming.era === 'modern' && incoming.method === 'subscriptions/listen')
      listen(caller, incoming, response, route);
    else run(caller, incoming, session, new Responder(response, accepted), response, route);
  };

  const initialize = (caller: Caller, incoming: Incoming, response: ServerResponse, route: McpRoute): void => {
    const { resultText, version, capabilities } = methods.initialize(incoming.params);
    const session = sessions.open(caller, route, version, capabilities);
    const text = Buffer.from(`{"jsonrpc":"2.0","id":${incoming.idText},"result":${resultText}}`);
    response.writeHead(200, [
      'content-type',
      'application/json',
      'content-length',
      String(text.length),
      'mcp-session-id',
      session.id,
    ]);
    response.end(text);
  };

  const sessionOf = (caller: Caller, request: IncomingMessage, route: McpRoute, idText: string): Session => {
    const id = request.headers['mcp-session-id'];
    if (typeof id !== 'string')
      throw new BadMessage(400, -32600, 'Initialize first, then send the Mcp-Session-Id with every request.', idText);
    const session = sessions.find(id, caller, route);
    if (session === undefined) throw new BadMessage(404, -32001, 'The session is not known; initialize again.', idText);
    checkLegacyVersion(request.headers['mcp-protocol-version'], session.version, idText);
    return session;
  };

  /** Only what this very session asked can be cancelled by it: ids are per session and direction. */
  const cancel = (session: Session | undefined, { params }: Incoming): void => {
    const { requestId } = params as { requestId?: unknown };
    session?.inFlight
      ?.get(asciiJson(requestId))
      ?.abort(new ProxyError('cancelled', 'The agent cancelled the request.'));
  };

  const run = (
    caller: Caller,
    incoming: Incoming,
    session: Session | undefined,
    responder: Responder,
    response: ServerResponse,
    route: McpRoute,
  ): void => {
    const method = methods.find(incoming);
    if (method === undefined) {
      const status = incoming.era === 'modern' ? 404 : 200;
      throw new BadMessage(
        status,
        -32601,
        `There is no method ${JSON.stringify(incoming.method.slice(0, 128))} here.`,
        incoming.idText,
      );
    }
    const controller = new LightAbort();
    const { idText } = incoming;
    (session === undefined ? undefined : (session.inFlight ??= new Map()))?.set(idText, controller);
    // Nobody can hear the answer any more, so the work for it ends as well.
    response.on('close', () => {
      if (!response.writableFinished) controller.abort(new ProxyError('cancelled', 'The agent went away.'));
    });
    const exchange = {
      caller,
      scope: { only: route.only },
      incoming,
      capabilities: session?.capabilities ?? statedCapabilities(incoming.params),
      responder,
      signal: controller.signal,
      abort: (reason: Error) => controller.abort(reason),
    };
    const answer = async (): Promise<void> => {
      try {
        responder.send(await method(exchange));
      } catch (error) {
        fail(error, responder, idText, response, route);
      } finally {
        if (session?.inFlight?.get(idText) === controller) session.inFlight.delete(idText);
      }
    };
    answer().catch((error: unknown) => logger.error({ error: describeError(error) }, 'request not answered'));
  };

  const fail = (
    error: unknown,
    responder: Responder,
    idText: string,
    response: ServerResponse,
    route: McpRoute,
  ): void => {
    if (responder.isGone) return;
    if (error instanceof ProxyError && error.code === 'cancelled') responder.endWithoutAnswer();
    else if (!response.headersSent) refuse(response, route, error, idText);
    else responder.send([`{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(toRpcError(error).error)}}`]);
  };

  /** Rejects never; a store that is down says nothing about a token. */
  const mayStay = async (request: IncomingMessage, route: McpRoute, caller: Caller): Promise<boolean> => {
    try {
      return (await authenticate(request, route)).key === caller.key;
    } catch (error) {
      const { code } = toProxyError(error);
      return code !== 'unauthenticated' && code !== 'insufficient_scope';
    }
  };

  /** 2026-07-28 §basic/patterns/subscriptions: first what is honoured, then what happens, an empty result at our end. */
  const listen = (caller: Caller, { idText, params }: Incoming, response: ServerResponse, route: McpRoute): void => {
    const asked = params['notifications'];
    if (!isJsonObject(asked))
      throw new BadMessage(400, -32602, 'params.notifications must say what to listen for.', idText);
    const honoured = asked['toolsListChanged'] === true ? '"toolsListChanged":true' : '';
    const meta = `"_meta":{"${META_SUBSCRIPTION}":${idText}}`;
    const greeting = eventOf(
      `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{${honoured}},${meta}}}`,
    );
    const toolsChanged =
      honoured === ''
        ? ''
        : eventOf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{${meta}}}`);
    const goodbye = eventOf(`{"jsonrpc":"2.0","id":${idText},"result":{"resultType":"complete",${meta}}}`);
    listeners.add(
      { caller, response, toolsChanged, goodbye, mayStay: () => mayStay(response.req, route, caller) },
      greeting,
    );
  };

  const get: McpEndpoint = (request, response, route) => {
    if (request.headers['mcp-protocol-version'] === MODERN_VERSION) {
      notAllowed(response, 'POST');
      return;
    }
    if (!readAccept(request.headers.accept).events) {
      sendError(response, 406, { code: -32600, message: 'Accept text/event-stream.' });
      return;
    }
    withCaller(request, response, route, (caller) => {
      const session = sessionOf(caller, request, route, 'null');
      session.closeStream?.();
      const end = listeners.add(
        { caller, response, toolsChanged: TOOLS_CHANGED, goodbye: '', mayStay: () => mayStay(request, route, caller) },
        ': listening\n\n',
      );
      session.closeStream = end;
      response.on('close', () => {
        if (session.closeStream === end) session.closeStream = undefined;
      });
    });
  };

  const remove: McpEndpoint = (request, response, route) => {
    if (request.headers['mcp-protocol-version'] === MODERN_VERSION) {
      notAllowed(response, 'POST');
      return;
    }
    withCaller(request, response, route, (caller) => {
      sessions.end(sessionOf(caller, request, route, 'null'));
      response.writeHead(204).end();
    });
  };

  return (request, response, route) => {
    if (isStopping()) {
      request.resume();
      refuse(
        response,
        route,
        new ProxyError('stopping', 'This node is stopping; try again.', { data: { retryAfterMs: 1_000 } }),
      );
    } else if (request.method === 'POST') post(request, response, route);
    else if (request.method === 'GET') get(request, response, route);
    else if (request.method === 'DELETE') remove(request, response, route);
    else notAllowed(response, 'POST, GET, DELETE');
  };
}
