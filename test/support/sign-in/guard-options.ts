// What a test may choose about an MCP server that wants tokens, at the start and while it runs.
import type { Era } from '../upstreams/revisions.ts';
import type { TokenSource } from './token-source.ts';

/** What a request is about: initialize or discover, a list, a call, a stream of the server's own, the rest. */
export type McpPlace = 'greet' | 'list' | 'call' | 'stream' | 'other';

export interface GuardSettings {
  /** Where a token is needed; elsewhere anybody may go on without one. */
  tokenNeededAt: readonly McpPlace[];
  /** Where every token is refused, good or not. */
  refusedAt: readonly McpPlace[];
  /** Scopes that each request needs. */
  scopes: readonly string[];
  /** Scopes that a tool needs besides. */
  toolScopes: Readonly<Record<string, readonly string[]>>;
  /** False: tokens meant for another resource are taken too. */
  checksAudience: boolean;
  /** Where the RFC 9728 document lies: below the well-known place with the server's path, without it, or both. */
  metadataAt: readonly ('path' | 'root')[];
  /** Put over the document; a member that is undefined is left out. */
  metadata: Readonly<Record<string, unknown>>;
  authorizationServers: readonly string[];
  /** `metadata`: the challenge names the document · `bare`: it does not · else the text of the header; '' for none. */
  challenge: 'metadata' | 'bare' | { readonly text: string };
  /** Status of an answer to a bad token or none. */
  refusalStatus: number;
}

export interface GuardedMcpOptions extends Partial<GuardSettings> {
  readonly era: Era;
  readonly tokens: TokenSource;
}

export const EVERYWHERE: readonly McpPlace[] = ['greet', 'list', 'call', 'stream', 'other'];

export const defaultGuardSettings: Omit<GuardSettings, 'authorizationServers'> = {
  tokenNeededAt: EVERYWHERE,
  refusedAt: [],
  scopes: [],
  toolScopes: { write_note: ['notes:write'] },
  checksAudience: true,
  metadataAt: ['path'],
  metadata: {},
  challenge: 'metadata',
  refusalStatus: 401,
};
