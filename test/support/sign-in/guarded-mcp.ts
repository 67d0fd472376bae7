// An MCP server over HTTP that takes only tokens of an authorization server: a guard in front of a keyed
// server, for which the token's subject is the key.
import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { KeyedServer } from '../upstreams/keyed-server.ts';
import { listen, readBody } from '../upstreams/listener.ts';
import { type JsonObject, parseMessage } from '../upstreams/message.ts';
import { startOffering } from '../upstreams/offering-server.ts';
import { sendText } from '../upstreams/responses.ts';
import { Watched } from '../upstreams/watched.ts';
import { defaultGuardSettings, type GuardedMcpOptions, type GuardSettings, type McpPlace } from './guard-options.ts';
import { bearerOf, type GuardDeps, judge, placeOf } from './guard-verdict.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

export interface GuardedRequest {
  readonly place: McpPlace;
  /** JSON-RPC method, where the body had one. */
  readonly method: string | undefined;
  readonly tool: string | undefined;
  readonly token: string | undefined;
  /** Whose token it was; undefined when it was refused. */
  readonly subject: string | undefined;
  /** Of a refusal; 200 when it went on. */
  readonly status: number;
}

export interface GuardedMcp {
  /** Also what tokens have to be meant for. */
  readonly url: string;
  readonly settings: GuardSettings;
  /** The server behind the guard; it sees subjects as its keys. */
  readonly inner: KeyedServer;
  /** Requests for MCP, in order of arrival. */
  readonly seen: readonly GuardedRequest[];
  /** How often the RFC 9728 document was asked for, found or not. */
  readonly metadataReads: number;
  /** Every token it was shown, each once. */
  readonly tokens: readonly string[];
  /** How often the server's own tool ran. */
  ran(tool: string): number;
  until(holds: () => boolean, what?: string): Promise<void>;
  close(): Promise<void>;
}

/** Without what belongs to the hop (RFC 9110 §7.6.1). */
function endToEnd(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { host: _host, connection: _connection, 'keep-alive': _alive, 'transfer-encoding': _coding, ...rest } = headers;
  return rest;
}

/** Streams both ways; who hangs up on one side is hung up on at the other. */
function passOn(inner: URL, req: IncomingMessage, res: ServerResponse, key: string, body: string): void {
  const bytes = Buffer.from(body);
  const headers = { ...endToEnd(req.headers), authorization: `Bearer ${key}`, 'content-length': bytes.length };
  const onward = http.request(inner, { method: req.method, headers, agent: false }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    res.flushHeaders();
    answer.pipe(res);
    answer.once('error', () => res.destroy());
  });
  onward.once('error', () => res.destroy());
  res.once('close', () => onward.destroy());
  onward.end(bytes);
}

export async function startGuardedMcp({ era, tokens, ...wishes }: GuardedMcpOptions): Promise<GuardedMcp> {
  const inner = await startOffering({ era, name: 'guarded' });
  for (const tool of Object.keys(wishes.toolScopes ?? defaultGuardSettings.toolScopes)) inner.addTool(tool);
  const settings: GuardSettings = { ...defaultGuardSettings, authorizationServers: [tokens.issuer], ...wishes };
  const watched = new Watched();
  const seen: GuardedRequest[] = [];
  let metadataReads = 0;

  const describe = (): JsonObject => ({
    resource: deps.resource,
    authorization_servers: settings.authorizationServers,
    bearer_methods_supported: ['header'],
    scopes_supported: [...new Set([...settings.scopes, ...Object.values(settings.toolScopes).flat()])],
    ...settings.metadata,
  });

  const serveMetadata = (path: string, res: ServerResponse): void => {
    metadataReads++;
    const places = { path: `${WELL_KNOWN}/mcp`, root: WELL_KNOWN };
    const isFound = settings.metadataAt.some((place) => places[place] === path);
    sendText(res, isFound ? 200 : 404, isFound ? JSON.stringify(describe()) : '{"error":"not_found"}');
    watched.changed();
  };

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = new URL(req.url ?? '/', deps.resource).pathname;
    const body = await readBody(req);
    if (path.startsWith(WELL_KNOWN)) return serveMetadata(path, res);
    if (path !== '/mcp') return sendText(res, 404, '{"error":"not_found"}');
    const message = parseMessage(body);
    const place = placeOf(req, message);
    const token = bearerOf(req);
    const verdict = await judge(deps, place, message, token);
    const subject = verdict.kind === 'go' ? verdict.subject : undefined;
    const tool = place === 'call' ? String(message?.params['name']) : undefined;
    seen.push({
      place,
      method: message?.method,
      tool,
      token,
      subject,
      status: verdict.kind === 'go' ? 200 : verdict.status,
    });
    watched.changed();
    if (verdict.kind === 'refuse') return sendText(res, verdict.status, '{"error":"refused"}', verdict.headers);
    // A name may have letters that no header carries.
    const key = encodeURIComponent(verdict.subject);
    inner.keys.set(key, verdict.subject);
    passOn(new URL(inner.url), req, res, key, body);
  };

  const listener = await listen((req, res) => {
    serve(req, res).catch(() => res.destroy());
  });
  const metadataUrl = new URL(`${WELL_KNOWN}/mcp`, listener.url).href;
  const deps: GuardDeps = { settings, tokens, resource: listener.url, metadataUrl };
  return {
    url: listener.url,
    settings,
    inner,
    seen,
    get metadataReads() {
      return metadataReads;
    },
    get tokens() {
      return [...new Set(seen.flatMap(({ token }) => token ?? []))];
    },
    ran: (tool) => inner.executed.get(tool) ?? 0,
    until: (holds, what = 'the guarded server to see it') => watched.until(holds, what),
    async close() {
      await listener.close();
      await inner.close();
    },
  };
}
