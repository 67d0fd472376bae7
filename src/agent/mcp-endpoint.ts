// POST, GET and DELETE on the MCP routes: who asks, in which era and session, then the operation. Nothing
// is processed before its sender is known.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../identity/caller.ts';
import type { Shares } from '../limits/shares.ts';
import type { SignInDone } from '../proxy/operations.ts';
import { ProxyError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import { MODERN_VERSION } from '../wire/era.ts';
import { asciiJson } from '../wire/reply.ts';
import { EMPTY_HEADERS, JSON_HEADERS } from './answer-headers.ts';
import { countIn, isReadThough } from './count-in.ts';
import type { Listeners } from './listeners.ts';
import { BadMessage, checkLegacyVersion, type Incoming, readMessage } from './message.ts';
import type { Methods } from './methods.ts';
import { type Accepted, isJsonType, readAccept } from './negotiate.ts';
import { type Body, MAX_REQUEST_BYTES, readBody } from './read-body.ts';
import { type Challenge, createRefuse } from './refuse.ts';
import { Responder } from './responder.ts';
import type { McpRoute } from './route.ts';
import { createRunMethod } from './run-method.ts';
import { notAllowed, sendError } from './send-error.ts';
import type { Session, Sessions } from './sessions.ts';
import { type Authenticate, createStreams } from './streams.ts';
import { createElicitUrl } from './url-elicitation.ts';

export interface McpEndpointDeps {
  readonly authenticate: Authenticate;
  readonly challenge: Challenge;
  /** Told of each request whose sender is known. */
  readonly onKnown: (request: IncomingMessage) => void;
  readonly shares: Shares;
  readonly methods: Methods;
  readonly signInDone: SignInDone;
  readonly sessions: Sessions;
  readonly listeners: Listeners;
  readonly logger: Logger;
  readonly isStopping: () => boolean;
}

export type McpEndpoint = (request: IncomingMessage, response: ServerResponse, route: McpRoute) => void;

export function createMcpEndpoint(deps: McpEndpointDeps): McpEndpoint {
  const { authenticate, onKnown, shares, methods, sessions, listeners, logger, isStopping } = deps;
  const refuse = createRefuse(deps.challenge, logger);
  const streams = createStreams(listeners, authenticate);
  const elicitUrl = createElicitUrl(deps.signInDone, logger);
  const run = createRunMethod({ methods, refuse, elicitUrl, logger });

  const withCaller = (
    request: IncomingMessage,
    response: ServerResponse,
    route: McpRoute,
    then: (caller: Caller) => void,
  ): void => {
    const failed = (error: unknown): void => {
      request.resume();
      refuse.atTheDoor(response, route, error);
    };
    // Whoever left meanwhile is not heard leaving any more, so nothing may be begun for them.
    const goOn = (caller: Caller): void => {
      onKnown(request);
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
      const tooMany = countIn(shares, caller);
      if (tooMany !== undefined && !isReadThough(request)) throw tooMany;
      const accepted = readAccept(request.headers.accept);
      if (!isJsonType(request.headers['content-type']))
        throw new BadMessage(415, -32600, 'Send the message as application/json.');
      if (!accepted.json && !accepted.events)
        throw new BadMessage(406, -32600, 'Accept application/json, text/event-stream, or both.');
      readBody(request, (body) => {
        try {
          onBody(caller, body, tooMany, accepted, request, response, route);
        } catch (error) {
          if (tooMany === undefined) refuse(response, route, error);
          else refuse.atTheDoor(response, route, tooMany);
        }
      });
    });
  };

  const onBody = (
    caller: Caller,
    body: Body,
    tooMany: ProxyError | undefined,
    accepted: Accepted,
    request: IncomingMessage,
    response: ServerResponse,
    route: McpRoute,
  ): void => {
    if (body.kind === 'broken') return;
    if (body.kind === 'too_large') throw new BadMessage(413, -32600, `A message may have ${MAX_REQUEST_BYTES} bytes.`);
    if (body.kind === 'out_of_bounds') throw new BadMessage(400, -32600, body.problem);
    const incoming = readMessage(body.text, request.headers);
    try {
      onMessage(caller, incoming, tooMany, accepted, response, route);
    } catch (error) {
      refuse(response, route, error, incoming.idText);
    }
  };

  const onMessage = (
    caller: Caller,
    incoming: Incoming,
    tooMany: ProxyError | undefined,
    accepted: Accepted,
    response: ServerResponse,
    route: McpRoute,
  ): void => {
    if (incoming.era === 'legacy' && incoming.method === 'initialize' && incoming.kind === 'request') {
      if (tooMany !== undefined) throw tooMany;
      initialize(caller, incoming, response, route);
      return;
    }
    const session = incoming.era === 'legacy' ? sessionOf(caller, response.req, route, incoming.idText) : undefined;
    if (incoming.kind !== 'request') {
      // Also when there are too many: to heed it costs no more than to refuse it, and often ends work.
      if (incoming.kind === 'answer') session?.questions?.answer(incoming.idText, incoming.params);
      else if (incoming.method === 'notifications/cancelled') cancel(session, incoming);
      response.writeHead(202, [...EMPTY_HEADERS]).end();
      return;
    }
    if (incoming.era === 'modern' && incoming.method === 'subscriptions/listen') {
      if (tooMany !== undefined) throw tooMany;
      streams.listen({ caller, response, route }, incoming);
    } else run({ caller, incoming, tooMany, session, responder: new Responder(response, accepted), response, route });
  };

  const initialize = (caller: Caller, incoming: Incoming, response: ServerResponse, route: McpRoute): void => {
    const { resultText, version, capabilities } = methods.initialize(incoming.params);
    const session = sessions.open(caller, route, version, capabilities);
    const text = Buffer.from(`{"jsonrpc":"2.0","id":${incoming.idText},"result":${resultText}}`);
    response.writeHead(200, [...JSON_HEADERS, 'content-length', String(text.length), 'mcp-session-id', session.id]);
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
      shares.take(caller);
      streams.open({ caller, response, route }, sessionOf(caller, request, route, 'null'));
    });
  };

  const remove: McpEndpoint = (request, response, route) => {
    if (request.headers['mcp-protocol-version'] === MODERN_VERSION) {
      notAllowed(response, 'POST');
      return;
    }
    withCaller(request, response, route, (caller) => {
      // Never refused: a session that is kept takes more than to end it.
      countIn(shares, caller);
      sessions.end(sessionOf(caller, request, route, 'null'));
      response.writeHead(204, [...EMPTY_HEADERS]).end();
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
