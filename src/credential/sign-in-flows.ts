// What the browser pages may ask of an OAuth sign-in. Nothing of it lives in memory: each step may come
// to another node.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { PrincipalId, TenantId } from '../shared/id.ts';
import type { AttemptState } from './attempt-store.ts';
import type { Ticket } from './ticket-store.ts';

/** What the confirmation page tells the person before anything is sent anywhere (T1). */
export interface SignInPreview {
  /** Origin of the page where the person will sign in. */
  readonly authorizationOrigin: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** Of these three: what the page said, for `begin` to compare with what it finds. */
  readonly digest: string;
}

export type SignInBegun =
  | { readonly kind: 'begun'; readonly id: string; readonly url: string }
  /** What is found now is not what the person has read; nothing was begun. */
  | { readonly kind: 'changed' };

/** One attempt, as far as the pages need it. */
export interface SignInAttempt {
  /** Names the attempt in addresses and cookie names; grants nothing, reveals nothing. */
  readonly id: string;
  readonly tenantId: TenantId;
  readonly principalId: PrincipalId;
  readonly server: UpstreamServer | undefined;
  /** SHA-256 of the secret that only the browser that began it has in its cookie. */
  readonly browserHash: Buffer;
  readonly state: AttemptState;
}

export type SignInEnd =
  /** `problem`: its tools were not found, and why; safe to show. The grant is kept all the same. */
  | { readonly kind: 'connected'; readonly problem?: string | undefined }
  /** The person said no at the authorization server. */
  | { readonly kind: 'denied' }
  /** `reason` is ours and safe to show. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Somebody else was first: this very callback is being, or was, dealt with. */
  | { readonly kind: 'taken' };

export interface SignInFlows {
  /** Finds out where this server's people sign in. Throws ProxyError with a message for the person. */
  preview(ticket: Ticket, server: UpstreamServer, signal: AbortSignal): Promise<SignInPreview>;
  /**
   * Uses the ticket's data, not the ticket: overlapping attempts are fine. Throws ProxyError. `shown` is the
   * digest of the preview that was agreed to.
   */
  begin(
    ticket: Ticket,
    server: UpstreamServer,
    browserHash: Buffer,
    signal: AbortSignal,
    shown?: string,
  ): Promise<SignInBegun>;
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
