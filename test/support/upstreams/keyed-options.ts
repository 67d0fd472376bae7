// What a test may choose about a keyed server, at the start and while it runs.
import type { Exchange } from './keyed-exchange.ts';
import type { IdPosition, JsonObject } from './message.ts';

export type Paging =
  | { readonly kind: 'none' }
  | { readonly kind: 'size'; readonly size: number }
  /** Two pages; the cursor between them is the empty string (B083). */
  | { readonly kind: 'empty-cursor' }
  /** One page that names itself as the next (B086). */
  | { readonly kind: 'repeated-cursor' }
  /** Each page has one new tool of `pageBytes` and another cursor (B085). */
  | { readonly kind: 'endless'; readonly pageBytes: number };

/** May be changed while the server runs. */
export interface KeyedSettings {
  requireKey: boolean;
  reply: 'json' | 'sse';
  idPosition: IdPosition;
  paging: Paging;
  /** Whether legacy GET streams and modern listen streams are offered. */
  listChanged: boolean;
  /** For the modern era's list results. */
  ttlMs: number;
  cacheScope: 'public' | 'private';
  /** `WWW-Authenticate` of a 401. */
  challenge: string;
}

export interface KeyedServerOptions extends Partial<KeyedSettings> {
  readonly era: 'legacy' | 'modern' | 'both';
  /** key → principal. The server's own copy is `server.keys`. */
  readonly keys?: Iterable<readonly [string, string]>;
  readonly header?: string;
  /** Empty for a bare value. */
  readonly scheme?: string;
  /** Tools that only this principal is shown. */
  readonly ownTools?: (principal: string) => readonly string[];
  readonly name?: string;
  readonly instructions?: string;
  /** What it can do beside its tools. */
  readonly also?: {
    readonly capabilities: JsonObject;
    /** False for a method that it does not know. */
    readonly answer: (exchange: Exchange) => boolean;
  };
}

export const defaultSettings: KeyedSettings = {
  requireKey: true,
  reply: 'json',
  idPosition: 'first',
  paging: { kind: 'none' },
  listChanged: true,
  ttlMs: 60_000,
  cacheScope: 'private',
  challenge: 'Bearer error="invalid_token"',
};
