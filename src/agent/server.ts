// The node:http server. MCP routes go straight to our endpoint, the rest to express, which alone would
// cost more than a whole proxied call.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Cancel, Clock } from '../shared/clock.ts';
import type { Gatekeeper } from './gatekeeper.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import { parseMcpRoute } from './route.ts';
import { sendError } from './send-error.ts';

export interface AgentServerDeps {
  readonly gatekeeper: Gatekeeper;
  readonly mcp: McpEndpoint;
  readonly app: RequestListener;
  readonly clock: Clock;
}

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
  400: 'The request has no Host header.',
  403: 'This Host or Origin is not allowed here; see KEYBEARER_ALLOWED_HOSTS and KEYBEARER_ALLOWED_ORIGINS.',
} as const;

/** Listens; port 0 takes any free one. */
export async function listenForAgents(
  { gatekeeper, mcp, app, clock }: AgentServerDeps,
  host: string,
  port: number,
): Promise<AgentServer> {
  /** Connections that have not asked for anything yet; Node does not count them as idle. */
  const silent = new Set<Duplex>();
  const server = createServer(
    {
      keepAliveTimeout: 75_000,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      noDelay: true,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
    },
    (request, response) => {
      silent.delete(request.socket);
      const route = parseMcpRoute(request.url ?? '/');
      const refused = gatekeeper.check(request, SIGN_IN_PAGES.test(request.url ?? '') ? 'pages' : 'api');
      if (refused !== undefined) {
        request.resume();
        sendError(response, refused, { code: refused, message: REFUSALS[refused] });
        return;
      }
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
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 4096, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('connection', (socket) => {
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

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
