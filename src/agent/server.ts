// The node:http server. MCP routes go straight to our endpoint, the rest to express, which alone would
// cost more than a whole proxied call.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Cancel, Clock } from '../shared/clock.ts';
import type { Gatekeeper } from './gatekeeper.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import { parseMcpRoute } from './route.ts';
import { sendError } from './send-error.ts';
import type { UnprovenSockets } from './unproven-sockets.ts';

export interface AgentServerDeps {
  readonly gatekeeper: Gatekeeper;
  readonly sockets: Pick<UnprovenSockets, 'add'>;
  readonly mcp: McpEndpoint;
  readonly app: RequestListener;
  readonly clock: Clock;
  readonly limits?: AgentServerLimits;
}

/** What one connection may take of us, and how many there may be. Times in ms. */
export interface AgentServerLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly connectionsCheckingInterval: number;
  readonly maxConnections: number;
}

const LIMITS: AgentServerLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Node's own is 30 s, by which the two above would be late.
  connectionsCheckingInterval: 1_000,
  // The last resort: of those who have not shown a key the oldest ends long before.
  maxConnections: 32_768,
};

export interface AgentServer {
  readonly url: string;
  /** No new connections; idle sockets are closed at once, the others when their answer is out. */
  stopAccepting(): void;
  /** Resolves when the last request has been answered, or after `graceMs`. */
  drained(graceMs: number): Promise<void>;
  /** Ends what is left. */
  close(): Promise<void>;
}

const SIGN_IN_PAGES = /^\/(?:connect|connections)(?:[/?]|$)/;
/** How soon a connection that was busy at the stop is closed behind its last answer. */
const SWEEP_MS = 50;

const REFUSALS = {
  400: 'The request has no Host header, or more than one.',
  403: 'This Host or Origin is not allowed here; see KEYBEARER_ALLOWED_HOSTS and KEYBEARER_ALLOWED_ORIGINS.',
} as const;

/** Listens; port 0 takes any free one. */
export async function listenForAgents(
  { gatekeeper, sockets, mcp, app, clock, limits = LIMITS }: AgentServerDeps,
  host: string,
  port: number,
): Promise<AgentServer> {
  /** Connections that have not asked for anything yet; Node does not count them as idle. */
  const silent = new Set<Duplex>();
  const serve = (request: IncomingMessage, response: ServerResponse, isHeldBack = false): void => {
    silent.delete(request.socket);
    const refused = gatekeeper.check(request, SIGN_IN_PAGES.test(request.url ?? '') ? 'pages' : 'api');
    if (refused !== undefined) {
      // What they wanted to say is not read.
      sendError(response, refused, { code: refused, message: REFUSALS[refused] }, 'null', ['connection', 'close']);
      return;
    }
    if (isHeldBack) response.writeContinue();
    if (request.url?.startsWith('/') === false) request.url = pathOf(request.url);
    const route = parseMcpRoute(request.url ?? '/');
    if (route === undefined) {
      app(request, response);
      return;
    }
    if (request.headers.origin !== undefined) {
      gatekeeper.allowReading(request, response);
      if (request.method === 'OPTIONS') {
        response
          .writeHead(204, {
            'access-control-allow-methods': 'POST, GET, DELETE',
            'access-control-allow-headers':
              'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, keybearer-principal, last-event-id',
            'access-control-max-age': '600',
          })
          .end();
        return;
      }
    }
    mcp(request, response, route);
  };
  const server = createServer(
    {
      keepAliveTimeout: 75_000,
      headersTimeout: limits.headersTimeout,
      requestTimeout: limits.requestTimeout,
      connectionsCheckingInterval: limits.connectionsCheckingInterval,
      noDelay: true,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
    },
    (request, response) => serve(request, response),
  );
  // Of itself Node asks for the body before anybody has looked at the head.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => serve(request, response, true));
  server.maxConnections = limits.maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 4096, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  const allGone = new Promise<void>((resolve) => server.once('close', resolve));
  return {
    url: urlOf(server, host),
    stopAccepting() {
      server.close();
      server.closeIdleConnections();
      // Browsers and agents open them ahead of need; whoever comes now is too late.
      for (const socket of silent) socket.destroy();
    },
    drained(graceMs) {
      let cancel: Cancel | undefined;
      const late = new Promise<void>((resolve) => {
        cancel = clock.after(graceMs, resolve);
      });
      // Node keeps a connection open behind its answer, and would so until the agent closes it.
      const stopSweep = clock.every(SWEEP_MS, () => server.closeIdleConnections());
      return Promise.race([allGone, late]).finally(() => {
        cancel?.();
        stopSweep();
      });
    },
    close: () =>
      new Promise((resolve) => {
        if (!server.listening) server.closeAllConnections();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Of a target in absolute form, whose host was looked at (RFC 9112 §3.2.2). */
function pathOf(target: string): string {
  if (!URL.canParse(target)) return target;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
