// Whether a request may go on, and if not, how it is told so (RFC 6750 §3.1, RFC 9728 §5.1).
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Message } from '../upstreams/message.ts';
import type { GuardSettings, McpPlace } from './guard-options.ts';
import type { Access, TokenSource } from './token-source.ts';

export type Verdict =
  | { readonly kind: 'go'; readonly subject: string }
  | { readonly kind: 'refuse'; readonly status: number; readonly headers: OutgoingHttpHeaders };

export interface GuardDeps {
  readonly settings: GuardSettings;
  readonly tokens: TokenSource;
  readonly resource: string;
  readonly metadataUrl: string;
}

export function placeOf(req: IncomingMessage, message: Message | undefined): McpPlace {
  const method = message?.method ?? '';
  if (req.method === 'GET' || method === 'subscriptions/listen') return 'stream';
  if (['initialize', 'notifications/initialized', 'server/discover'].includes(method)) return 'greet';
  if (method === 'tools/call') return 'call';
  return method.endsWith('/list') ? 'list' : 'other';
}

export const bearerOf = (req: IncomingMessage): string | undefined =>
  /^Bearer (.+)$/i.exec(req.headers.authorization ?? '')?.[1];

export async function judge(
  deps: GuardDeps,
  place: McpPlace,
  message: Message | undefined,
  token: string | undefined,
): Promise<Verdict> {
  const { settings, tokens, resource } = deps;
  if (token === undefined && !settings.tokenNeededAt.includes(place)) return { kind: 'go', subject: 'anonymous' };
  const access = token === undefined ? undefined : await tokens.check(token);
  const isMeant = access?.resource === undefined || access.resource === resource || !settings.checksAudience;
  if (access === undefined || !isMeant || settings.refusedAt.includes(place)) {
    const error = token === undefined ? {} : { error: 'invalid_token' };
    return refuse(deps, settings.refusalStatus, { ...error, ...scopeOf(settings.scopes) });
  }
  const needed = scopesFor(settings, place, message);
  return holdsAll(access, needed)
    ? { kind: 'go', subject: access.subject }
    : refuse(deps, 403, { error: 'insufficient_scope', ...scopeOf(needed) });
}

const scopeOf = (scopes: readonly string[]): Readonly<Record<string, string>> =>
  scopes.length === 0 ? {} : { scope: scopes.join(' ') };

const holdsAll = ({ scopes }: Access, needed: readonly string[]): boolean =>
  needed.every((scope) => scopes.includes(scope));

function scopesFor(settings: GuardSettings, place: McpPlace, message: Message | undefined): readonly string[] {
  const tool = String(message?.params['name']);
  const more = place === 'call' && Object.hasOwn(settings.toolScopes, tool) ? settings.toolScopes[tool] : undefined;
  return [...settings.scopes, ...(more ?? [])];
}

function refuse(
  { settings, metadataUrl }: GuardDeps,
  status: number,
  params: Readonly<Record<string, string>>,
): Verdict {
  const { challenge } = settings;
  if (typeof challenge === 'object')
    return { kind: 'refuse', status, headers: challenge.text === '' ? {} : { 'www-authenticate': challenge.text } };
  const all = challenge === 'bare' ? params : { resource_metadata: metadataUrl, ...params };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { kind: 'refuse', status, headers: { 'www-authenticate': `Bearer ${text.join(', ')}`.trim() } };
}
