// What the browser pages may ask of an OAuth sign-in. Nothing of it lives in memory: each step may come
// to another node.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import type { Ticket } from './ticket-store.ts';

/** What the confirmation page tells the person before anything is sent anywhere (T1). */
export interface SignInPreview {
  readonly server: UpstreamServer;
  /** Origin of the page where the person will sign in. */
  readonly authorizationOrigin: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
}

/** One attempt, as far as the pages need it. */
export interface SignInAttempt {
  /** Names the attempt in addresses and cookie names; grants nothing, reveals nothing. */
  readonly id: string;
  readonly tenantId: TenantId;
  readonly principalId: PrincipalId;
  readonly server: UpstreamServer | undefined;
  /** SHA-256 of the secret that only the browser that began it has in its cookie. */
  readonly browserHash: Buffer;
  readonly state: 'open' | 'taken' | 'connected' | 'denied' | 'failed';
}

export type SignInEnd =
  | { readonly kind: 'connected' }
  /** The person said no at the authorization server. */
  | { readonly kind: 'denied' }
  /** `reason` is ours and safe to show. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Somebody else was first: this very callback is being, or was, dealt with. */
  | { readonly kind: 'taken' };

export interface SignInFlows {
  /** Finds out where this server's people sign in. Throws ProxyError with a message for the person. */
  preview(ticket: Ticket, server: UpstreamServer, signal: AbortSignal): Promise<SignInPreview>;
  /** Uses the ticket's data, not the ticket: overlapping attempts are fine. Throws ProxyError. */
  begin(
    ticket: Ticket,
    server: UpstreamServer,
    browserHash: Buffer,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly url: string }>;
  /** The attempt that a callback's `state` belongs to, if its redirect URI was this context's. Changes nothing. */
  findByState(contextId: string, state: string): Promise<SignInAttempt | undefined>;
  /** For the page that tells how it ended. */
  find(id: string): Promise<SignInAttempt | undefined>;
  /**
   * Takes the attempt (once, on whatever node), exchanges the code, keeps the grant, and has the tools
   * found before it resolves. The caller has compared browser and person with the attempt before.
   */
  finish(attempt: SignInAttempt, query: URLSearchParams): Promise<SignInEnd>;
}
